//! The original request of a gateway check: the request that the proxy received from its client.
//!
//! A proxy names this request in the path of the check, in `X-Original-*` or in `X-Forwarded-*`
//! headers. A client can forge the headers that its proxy does not set, and most proxies pass them
//! on. A check that names two different requests is therefore rejected. So is a method without a
//! URI, or a URI without a method, because a client could supply the missing half.

use std::borrow::Cow;

use thiserror::Error;

/// The method and target of the original request, as a proxy names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalRequest<'a> {
    pub method: Cow<'a, str>,
    /// The path, with the query if there is one.
    pub target: Cow<'a, str>,
}

/// The values of the two headers that identify the original request: the method and the target.
pub type HeaderPair<'a> = (Option<Cow<'a, str>>, Option<Cow<'a, str>>);

/// The reason the original request cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OriginalRequestError {
    #[error(
        "name the original request: in X-Original-Method and X-Original-URI, in X-Forwarded-Method \
         and X-Forwarded-Uri, or by its path after /gateway/check"
    )]
    Missing,
    #[error("send the method and the URI of the original request; only one of them is present")]
    Incomplete,
    /// Two sources identify different requests, or a header is repeated. The message is for the
    /// proxy's client, which may have sent the headers.
    #[error(
        "X-Original-Method, X-Original-URI, X-Forwarded-Method or X-Forwarded-Uri name a different \
         request; send the request without these headers"
    )]
    Conflicting,
}

/// Determines the original request from the path of the check, `X-Original-*` and `X-Forwarded-*`.
pub fn resolve_original_request<'a>(
    path: Option<OriginalRequest<'a>>,
    original: HeaderPair<'a>,
    forwarded: HeaderPair<'a>,
) -> Result<OriginalRequest<'a>, OriginalRequestError> {
    let mut original_request = None;
    let candidates = [path, from_headers(original)?, from_headers(forwarded)?];
    for request in candidates.into_iter().flatten() {
        match &original_request {
            None => original_request = Some(request),
            Some(first) if first.is_same(&request) => {}
            Some(_) => return Err(OriginalRequestError::Conflicting),
        }
    }
    original_request.ok_or(OriginalRequestError::Missing)
}

fn from_headers(
    headers: HeaderPair<'_>,
) -> Result<Option<OriginalRequest<'_>>, OriginalRequestError> {
    match headers {
        (None, None) => Ok(None),
        (Some(method), Some(target)) => Ok(Some(OriginalRequest { method, target })),
        _ => Err(OriginalRequestError::Incomplete),
    }
}

impl OriginalRequest<'_> {
    /// Returns the query of the target, without the `?`.
    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }

    /// Returns whether two headers name the same request. Proxies may change the case of a method.
    fn is_same(&self, other: &Self) -> bool {
        self.method.eq_ignore_ascii_case(&other.method) && self.target == other.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_and_both_header_pairs_must_name_the_same_request() {
        use OriginalRequestError::{Conflicting, Incomplete, Missing};
        let parse_request = |text: &'static str| {
            let (method, target) = text.split_once(' ').unwrap();
            OriginalRequest { method: method.into(), target: target.into() }
        };
        let parse_headers = |text: &'static str| match text.split_once(' ') {
            None => HeaderPair::default(),
            Some((method, target)) => {
                let header = |text: &'static str| (!text.is_empty()).then(|| text.into());
                (header(method), header(target))
            }
        };
        for (path, original, forwarded, expected) in [
            ("", "", "", Err(Missing)),
            ("POST /a", "", "", Ok("POST /a")),
            ("", "POST /a?b", "", Ok("POST /a?b")),
            ("", "", "POST /a?b", Ok("POST /a?b")),
            ("", "POST /a", "post /a", Ok("POST /a")),
            ("POST /a", "POST /a", "POST /a", Ok("POST /a")),
            ("", "POST /a", "GET /a", Err(Conflicting)),
            ("", "POST /a", "POST /b", Err(Conflicting)),
            ("GET /", "POST /a", "", Err(Conflicting)),
            ("GET /", "", "POST /a", Err(Conflicting)),
            ("", "POST ", "", Err(Incomplete)),
            ("", " /a", "", Err(Incomplete)),
            ("", " /a", "GET ", Err(Incomplete)),
            ("", "POST /a", " /b", Err(Incomplete)),
            ("POST /a", "", "GET ", Err(Incomplete)),
        ] {
            let path = (!path.is_empty()).then(|| parse_request(path));
            let resolved = resolve_original_request(
                path.clone(),
                parse_headers(original),
                parse_headers(forwarded),
            );
            assert_eq!(
                resolved,
                expected.map(parse_request),
                "{path:?} {original:?} {forwarded:?}"
            );
        }
    }

    #[test]
    fn the_query_starts_after_the_first_question_mark() {
        for (target, query) in [("/a", None), ("/a?", Some("")), ("/a?b=?&c", Some("b=?&c"))] {
            let request = OriginalRequest { method: "GET".into(), target: target.into() };
            assert_eq!(request.query(), query, "{target}");
        }
    }
}
