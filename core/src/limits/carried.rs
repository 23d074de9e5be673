//! The call that another server will carry out, as its proxy names it.
//!
//! Proxies have three ways. Whoever calls the proxy can send headers of the ways that it does not
//! use, and most proxies pass those on; so ways that contradict each other are not believed, and
//! half a name is none: the other half could come from the caller.

use std::borrow::Cow;

use thiserror::Error;

/// A method and a target, as a proxy names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried<'a> {
    /// The method.
    pub method: Cow<'a, str>,
    /// The path, perhaps with a query.
    pub target: Cow<'a, str>,
}

/// The two headers in which a proxy names a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pair<'a> {
    /// `X-Original-Method` or `X-Forwarded-Method`
    pub method: Option<Cow<'a, str>>,
    /// `X-Original-URI` or `X-Forwarded-Uri`
    pub target: Option<Cow<'a, str>>,
}

/// Why it is not known which call is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CarriedError {
    /// No way names a call.
    #[error(
        "name the call: in X-Original-Method and X-Original-URI, in X-Forwarded-Method and \
         X-Forwarded-Uri, or by its path behind /gateway/check"
    )]
    Unnamed,
    /// Only one header of a pair is there.
    #[error("a method without a URI, or a URI without a method, names no call; send both")]
    Half,
    /// Two ways name different calls.
    #[error(
        "different calls are named; the proxy must remove what its clients send as \
         X-Original-Method, X-Original-URI, X-Forwarded-Method and X-Forwarded-Uri"
    )]
    Contradiction,
}

/// The call that is meant: by the path of the check, by `X-Original-*`, or by `X-Forwarded-*`.
///
/// # Errors
/// When it is not named in full, or named in two ways that differ.
pub fn carried<'a>(
    path: Option<Carried<'a>>,
    original: Pair<'a>,
    forwarded: Pair<'a>,
) -> Result<Carried<'a>, CarriedError> {
    let mut named = None;
    for call in [path, original.whole()?, forwarded.whole()?].into_iter().flatten() {
        match &named {
            None => named = Some(call),
            Some(first) if first.is_same(&call) => {}
            Some(_) => return Err(CarriedError::Contradiction),
        }
    }
    named.ok_or(CarriedError::Unnamed)
}

impl<'a> Pair<'a> {
    fn whole(self) -> Result<Option<Carried<'a>>, CarriedError> {
        match (self.method, self.target) {
            (None, None) => Ok(None),
            (Some(method), Some(target)) => Ok(Some(Carried { method, target })),
            _ => Err(CarriedError::Half),
        }
    }
}

impl Carried<'_> {
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
        use CarriedError::{Contradiction, Half, Unnamed};
        let call = |text: &'static str| {
            let (method, target) = text.split_once(' ').unwrap();
            Carried { method: method.into(), target: target.into() }
        };
        let pair = |text: &'static str| match text.split_once(' ') {
            None => Pair::default(),
            Some((method, target)) => {
                let half = |text: &'static str| (!text.is_empty()).then(|| text.into());
                Pair { method: half(method), target: half(target) }
            }
        };
        for (path, original, forwarded, meant) in [
            ("", "", "", Err(Unnamed)),
            ("POST /a", "", "", Ok("POST /a")),
            ("", "POST /a?b", "", Ok("POST /a?b")),
            ("", "", "POST /a?b", Ok("POST /a?b")),
            ("", "POST /a", "post /a", Ok("POST /a")),
            ("POST /a", "POST /a", "POST /a", Ok("POST /a")),
            ("", "POST /a", "GET /a", Err(Contradiction)),
            ("", "POST /a", "POST /b", Err(Contradiction)),
            ("GET /", "POST /a", "", Err(Contradiction)),
            ("GET /", "", "POST /a", Err(Contradiction)),
            ("", "POST ", "", Err(Half)),
            ("", " /a", "", Err(Half)),
            ("", " /a", "GET ", Err(Half)),
            ("", "POST /a", " /b", Err(Half)),
            ("POST /a", "", "GET ", Err(Half)),
        ] {
            let path = (!path.is_empty()).then(|| call(path));
            let found = carried(path.clone(), pair(original), pair(forwarded));
            assert_eq!(found, meant.map(call), "{path:?} {original:?} {forwarded:?}");
        }
    }

    #[test]
    fn the_query_of_a_call_is_what_stands_behind_the_first_question_mark() {
        for (target, query) in [("/a", None), ("/a?", Some("")), ("/a?b=?&c", Some("b=?&c"))] {
            let call = Carried { method: "GET".into(), target: target.into() };
            assert_eq!(call.query(), query, "{target}");
        }
    }
}
