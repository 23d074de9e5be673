//! Which calls a limit is about: patterns of a method and a path, and the one spelling of a path
//! that they are compared with.

use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;

/// A path in its one spelling, so that no other spelling of it dodges a limit.
///
/// Percent escapes are decoded, letters are lower case, empty and `.` segments are left out, `..`
/// takes the segment before it away, a segment ends at `;`, and the last one has no extension. A
/// spelling that the server behind would not answer may be counted too: that costs nobody anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route(String);

impl Route {
    /// Reads the target of a request: a path, with or without a query, or a whole URL.
    #[must_use]
    pub fn of(target: &str) -> Self {
        let mut route = String::with_capacity(target.len());
        for segment in decoded(path(target)).split(|&byte| byte == b'/' || byte == b'\\') {
            match segment.split(|&byte| byte == b';').next().unwrap_or_default() {
                b"" | b"." => {}
                b".." => route.truncate(route.rfind('/').unwrap_or(0)),
                segment => {
                    route.push('/');
                    route.push_str(&String::from_utf8_lossy(segment));
                }
            }
        }
        let last = route.rfind('/').map_or(0, |slash| slash + 1);
        if let Some(dot) = route[last..].rfind('.').filter(|&dot| dot > 0) {
            route.truncate(last + dot);
        }
        route.make_ascii_lowercase();
        Self(route)
    }

    fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').skip(1)
    }
}

fn path(target: &str) -> &str {
    let target = target.split(['?', '#']).next().unwrap_or_default();
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').map_or("", |slash| &rest[slash..])
        }
        _ => target,
    }
}

/// Decodes percent escapes, once, as the server that answers does; what is no escape stays.
fn decoded(path: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = escape(rest);
        decoded.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &rest[3..] } else { after };
    }
    decoded
}

fn escape(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
}

/// Calls that a limit is about: `POST /api/v1/media`, `DELETE /api/v1/statuses/:id`,
/// `GET /api/v1/admin/*` (everything below), `* /api/v1/apps` (any method), `*` (every call).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct RoutePattern {
    /// As it is written, for people who read the table.
    text: String,
    /// None for any method.
    method: Option<String>,
    path: Vec<Segment>,
}

/// A HEAD is answered by the route of the GET.
fn answered_as(method: &str) -> &str {
    if method.eq_ignore_ascii_case("HEAD") { "GET" } else { method }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Exactly(String),
    Any,
    Rest,
}

/// Why a pattern cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{0:?} names no calls: write a method and a path, as in \"POST /api/v1/media\" or \
     \"DELETE /api/v1/statuses/:id\"; `*` as method is any method, `*` as last segment is \
     everything below, and \"*\" alone is every call"
)]
pub struct RoutePatternError(String);

impl FromStr for RoutePattern {
    type Err = RoutePatternError;

    fn from_str(text: &str) -> Result<Self, RoutePatternError> {
        let wrong = || RoutePatternError(text.chars().take(200).collect());
        if text == "*" {
            return Ok(Self { text: text.into(), method: None, path: vec![Segment::Rest] });
        }
        let (method, path) = text.split_once(' ').ok_or_else(wrong)?;
        let any = method == "*";
        if !path.starts_with('/') || !(any || method.bytes().all(|b| b.is_ascii_uppercase())) {
            return Err(wrong());
        }
        let path: Vec<Segment> = Route::of(path).segments().map(Segment::of).collect();
        let early = path.iter().rev().skip(1).any(|segment| *segment == Segment::Rest);
        if method.is_empty() || early || path.is_empty() {
            return Err(wrong());
        }
        Ok(Self { text: text.into(), method: (!any).then(|| method.into()), path })
    }
}

impl TryFrom<String> for RoutePattern {
    type Error = RoutePatternError;

    fn try_from(text: String) -> Result<Self, RoutePatternError> {
        text.parse()
    }
}

impl Segment {
    fn of(text: &str) -> Self {
        match text {
            "*" => Self::Rest,
            name if name.starts_with(':') => Self::Any,
            exactly => Self::Exactly(exactly.into()),
        }
    }
}

impl RoutePattern {
    /// The pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this call is meant. Its path is read when it first matters.
    pub(super) fn matches(&self, method: &str, target: &str, route: &mut Option<Route>) -> bool {
        self.matches_method(method)
            && (self.matches_every_path()
                || self.matches_route(route.get_or_insert_with(|| Route::of(target))))
    }

    fn matches_method(&self, method: &str) -> bool {
        self.method.as_ref().is_none_or(|own| own.eq_ignore_ascii_case(answered_as(method)))
    }

    fn matches_every_path(&self) -> bool {
        matches!(*self.path, [Segment::Rest])
    }

    fn matches_route(&self, route: &Route) -> bool {
        let mut segments = route.segments();
        for own in &self.path {
            match (own, segments.next()) {
                (Segment::Rest, _) => return true,
                (Segment::Any, Some(_)) => {}
                (Segment::Exactly(own), Some(segment)) if own == segment => {}
                _ => return false,
            }
        }
        segments.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_spelling_of_a_path_is_one_route() {
        for spelling in [
            "/api/v1/media",
            "/api/v1/media/",
            "//api/v1/media",
            "/api//v1///media//",
            "/API/v1/Media",
            "/api/v1/%6dedia",
            "/api/v1/%6Dedi%61",
            "/api/v1/media;x",
            "/api/v1/media;x=1;y",
            "/api/v1;x/media",
            "/api/v1/media%3bx",
            "/api/v1/media.json",
            "/api/v1/media.JSON",
            "/api/v1/media.xml/",
            "/api/v1/media?x=/other",
            "/api/v1/media#x",
            "/api/./v1/media/.",
            "/api/v1/x/../media",
            "/api/v1/x/%2e%2E/media",
            "/../../api/v1/media",
            "/api%2Fv1%2fmedia",
            "\\api\\v1\\media",
            "/api/v1/%5Cmedia",
            "http://host/api/v1/media",
            "HTTPS://host:8080/api/v1/media?x",
        ] {
            assert_eq!(Route::of(spelling).0, "/api/v1/media", "{spelling}");
        }
    }

    #[test]
    fn what_is_another_path_stays_another_route() {
        for (target, route) in [
            ("", ""),
            ("/", ""),
            ("*", "/*"),
            ("http://host", ""),
            ("/x?u=http://host/api", "/x"),
            ("/x/http://host/y", "/x/http:/host/y"),
            ("/api/v1/medias", "/api/v1/medias"),
            ("/api/v1/media/1", "/api/v1/media/1"),
            ("/.well-known", "/.well-known"),
            ("/.well-known/nodeinfo", "/.well-known/nodeinfo"),
            ("/api/v1.1/x", "/api/v1.1/x"),
            ("/a%", "/a%"),
            ("/a%4", "/a%4"),
            ("/a%zz", "/a%zz"),
            ("/a%+1", "/a%+1"),
            ("/a%2541", "/a%41"),
            ("/a%ff", "/a\u{fffd}"),
            ("/\u{e4}%C3%A4", "/\u{e4}\u{e4}"),
        ] {
            assert_eq!(Route::of(target).0, route, "{target}");
        }
    }

    #[test]
    fn a_pattern_means_its_calls_and_no_others() {
        for (pattern, method, target, meant) in [
            ("POST /api/v1/media", "POST", "/api/v1/media", true),
            ("POST /api/v1/media", "post", "/api/v1/media", true),
            ("POST /api/v1/media", "GET", "/api/v1/media", false),
            ("POST /api/v1/media", "POST", "/api/v1/media/1", false),
            ("POST /api/v1/media", "POST", "/api/v1", false),
            ("POST /API/v1//Media/", "POST", "/api/v1/media", true),
            ("GET /x", "HEAD", "/x", true),
            ("HEAD /x", "GET", "/x", false),
            ("DELETE /api/v1/statuses/:id", "DELETE", "/api/v1/statuses/7.json", true),
            ("DELETE /api/v1/statuses/:id", "DELETE", "/api/v1/statuses/", false),
            ("DELETE /api/v1/statuses/:id", "DELETE", "/api/v1/statuses/7/x", false),
            ("POST /api/v1/statuses/:id/unreblog", "POST", "/api/v1/statuses/7/unreblog", true),
            ("* /admin/*", "PATCH", "/admin/a/b", true),
            ("* /admin/*", "PATCH", "/admin", true),
            ("* /admin/*", "PATCH", "/administer", false),
            ("*", "OPTIONS", "/", true),
            ("*", "BREW", "*", true),
        ] {
            let read: RoutePattern = pattern.parse().unwrap();
            let found = read.matches_method(method) && read.matches_route(&Route::of(target));
            assert_eq!(found, meant, "{pattern} and {method} {target}");
        }
    }

    #[test]
    fn what_names_no_calls_is_no_pattern() {
        for wrong in [
            "",
            "POST",
            "/api",
            "post /api",
            "POST api",
            " /api",
            "POST  /api",
            "* /",
            "* /*/x",
            "P*T /x",
        ] {
            assert!(wrong.parse::<RoutePattern>().is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_target_is_read(target in "\\PC{0,60}") {
            let route = Route::of(&target);
            prop_assert!(route.segments().all(|s| !s.is_empty() && s != "..") || route.0.is_empty());
        }

        #[test]
        fn escaping_any_letters_dodges_nothing(mask in any::<u16>()) {
            let path = "/api/v1/media";
            let spelled: String = path.char_indices().map(|(i, c)| {
                if i > 0 && mask >> i & 1 == 1 { format!("%{:02x}", u32::from(c)) } else { c.into() }
            }).collect();
            prop_assert_eq!(Route::of(&spelled), Route::of(path));
        }
    }
}
