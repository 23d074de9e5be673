//! The call that another server will carry out, as its proxy names it.
//!
//! TrustedProxies have three ways. Whoever calls the proxy can send headers of the ways that it does not
//! use, and most proxies pass those on; so ways that contradict each other are not believed, and
//! half a name is none: the other half could come from the caller.

use std::borrow::Cow;

use thiserror::Error;

/// A method and a target, as a proxy names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalRequest<'a> {
    /// The method.
    pub method: Cow<'a, str>,
    /// The path, perhaps with a query.
    pub target: Cow<'a, str>,
}

/// The two headers in which a proxy names a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderPair<'a> {
    /// `X-Original-Method` or `X-Forwarded-Method`
    pub method: Option<Cow<'a, str>>,
    /// `X-Original-URI` or `X-Forwarded-Uri`
    pub target: Option<Cow<'a, str>>,
}

/// Why it is not known which call is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OriginalRequestError {
    /// No way names a call.
    #[error(
        "name the call: in X-Original-Method and X-Original-URI, in X-Forwarded-Method and \
         X-Forwarded-Uri, or by its path behind /gateway/check"
    )]
    Missing,
    /// Only one header of a pair is there.
    #[error("a method without a URI, or a URI without a method, names no call; send both")]
    Incomplete,
    /// Two ways name different calls.
    #[error(
        "different calls are named; the proxy must remove what its clients send as \
         X-Original-Method, X-Original-URI, X-Forwarded-Method and X-Forwarded-Uri"
    )]
    Conflicting,
}

/// The call that is meant: by the path of the check, by `X-Original-*`, or by `X-Forwarded-*`.
///
/// # Errors
/// When it is not named in full, or named in two ways that differ.
pub fn resolve<'a>(
    path: Option<OriginalRequest<'a>>,
    original: HeaderPair<'a>,
    forwarded: HeaderPair<'a>,
) -> Result<OriginalRequest<'a>, OriginalRequestError> {
    let mut named = None;
    for call in [path, original.whole()?, forwarded.whole()?].into_iter().flatten() {
        match &named {
            None => named = Some(call),
            Some(first) if first.is_same(&call) => {}
            Some(_) => return Err(OriginalRequestError::Conflicting),
        }
    }
    named.ok_or(OriginalRequestError::Missing)
}

impl<'a> HeaderPair<'a> {
    fn whole(self) -> Result<Option<OriginalRequest<'a>>, OriginalRequestError> {
        match (self.method, self.target) {
            (None, None) => Ok(None),
            (Some(method), Some(target)) => Ok(Some(OriginalRequest { method, target })),
            _ => Err(OriginalRequestError::Incomplete),
        }
    }
}

impl OriginalRequest<'_> {
    /// The query of the target.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.method.eq_ignore_ascii_case(&other.method) && self.target == other.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_in_one_of_three_ways_and_in_no_two_that_differ() {
        use OriginalRequestError::{Conflicting, Incomplete, Missing};
        let call = |text: &'static str| {
            let (method, target) = text.split_once(' ').unwrap();
            OriginalRequest { method: method.into(), target: target.into() }
        };
        let pair = |text: &'static str| match text.split_once(' ') {
            None => HeaderPair::default(),
            Some((method, target)) => {
                let half = |text: &'static str| (!text.is_empty()).then(|| text.into());
                HeaderPair { method: half(method), target: half(target) }
            }
        };
        for (path, original, forwarded, meant) in [
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
            let path = (!path.is_empty()).then(|| call(path));
            let found = resolve(path.clone(), pair(original), pair(forwarded));
            assert_eq!(found, meant.map(call), "{path:?} {original:?} {forwarded:?}");
        }
    }

    #[test]
    fn the_query_of_a_call_is_what_stands_behind_the_first_question_mark() {
        for (target, query) in [("/a", None), ("/a?", Some("")), ("/a?b=?&c", Some("b=?&c"))] {
            let call = OriginalRequest { method: "GET".into(), target: target.into() };
            assert_eq!(call.query(), query, "{target}");
        }
    }
}
