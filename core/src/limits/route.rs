//! Patterns of method and path that select the requests a limit counts, and the normalised paths
//! that they are compared with.

use std::str::FromStr;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// A normalised path. All spellings of a path have the same route, so none evades a limit.
///
/// Percent escapes are decoded, ASCII letters are lower case, empty and `.` segments are dropped,
/// `..` removes the segment before it, a segment ends at `;`, and the last one loses its extension.
/// Spellings that the server would not route are counted as well, which has no disadvantage. So
/// invalid escapes are left unchanged instead of being rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route(String);

impl Route {
    /// Normalises the target of a request: a path, with or without a query, or a whole URL.
    pub fn normalize(target: &str) -> Self {
        let mut route = String::with_capacity(target.len());
        let decoded_path: Vec<u8> = percent_decode_str(extract_path(target)).collect();
        for segment in decoded_path.split(|&byte| byte == b'/' || byte == b'\\') {
            match segment.split(|&byte| byte == b';').next().unwrap_or_default() {
                b"" | b"." => {}
                b".." => route.truncate(route.rfind('/').unwrap_or(0)),
                segment => {
                    route.push('/');
                    route.push_str(&String::from_utf8_lossy(segment));
                }
            }
        }
        let segment_start = route.rfind('/').map_or(0, |slash| slash + 1);
        if let Some((stem, _)) = route[segment_start..].rsplit_once('.')
            && stem.contains(|c| c != '.')
        {
            route.truncate(segment_start + stem.len());
        }
        route.make_ascii_lowercase();
        Self(route)
    }

    fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').skip(1)
    }
}

/// Returns a target's path, without the scheme, host, query and fragment.
fn extract_path(target: &str) -> &str {
    let target = target.split(['?', '#']).next().unwrap_or_default();
    match target.split_once("://") {
        Some((scheme, after_scheme)) if !scheme.contains('/') => {
            after_scheme.find('/').map_or("", |slash| &after_scheme[slash..])
        }
        _ => target,
    }
}

/// A pattern for requests: `POST /api/v1/media`, `DELETE /api/v1/statuses/:id`,
/// `GET /api/v1/admin/*` (everything below), `* /api/v1/apps` (any method), `*` (every request).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct RoutePattern {
    pub(super) text: String,
    method: Option<String>,
    path: Vec<PatternSegment>,
}

impl Serialize for RoutePattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternSegment {
    Literal(String),
    /// Exactly one segment: `:id`.
    Any,
    Rest,
}

/// The error for a string that is not a valid pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoutePatternError {
    #[error(
        "{0:?} is not a valid pattern: write a method and a path, as in \"POST /api/v1/media\" or \
         \"DELETE /api/v1/statuses/:id\"; `*` as method is any method, `*` as last segment is \
         everything below, and \"*\" alone is every request"
    )]
    Form(String),
    #[error("{0:?}: unknown method; known methods: {METHODS}")]
    Method(String),
}

/// The methods of HTTP and `WebDAV` that a pattern may have. Clients' methods are not restricted.
const METHODS: &str = "CONNECT COPY DELETE GET HEAD LOCK MKCOL MOVE OPTIONS PATCH POST PROPFIND \
    PROPPATCH PUT QUERY REPORT SEARCH UNLOCK";

impl FromStr for RoutePattern {
    type Err = RoutePatternError;

    fn from_str(text: &str) -> Result<Self, RoutePatternError> {
        let excerpt = || text.chars().take(200).collect();
        let error = || RoutePatternError::Form(excerpt());
        if text == "*" {
            return Ok(Self { text: text.into(), method: None, path: vec![PatternSegment::Rest] });
        }
        let (method, path) = text.split_once(' ').ok_or_else(error)?;
        let is_any_method = method == "*";
        if !path.starts_with('/')
            || !(is_any_method || method.bytes().all(|b| b.is_ascii_uppercase()))
        {
            return Err(error());
        }
        let parse_segment = |text: &str| match text {
            "*" => PatternSegment::Rest,
            name if name.starts_with(':') => PatternSegment::Any,
            literal => PatternSegment::Literal(literal.into()),
        };
        let path: Vec<PatternSegment> =
            Route::normalize(path).segments().map(parse_segment).collect();
        let has_early_rest =
            path.iter().rev().skip(1).any(|segment| *segment == PatternSegment::Rest);
        if method.is_empty() || has_early_rest || path.is_empty() {
            return Err(error());
        }
        if !is_any_method && !METHODS.split(' ').any(|known| known == method) {
            return Err(RoutePatternError::Method(excerpt()));
        }
        Ok(Self { text: text.into(), method: (!is_any_method).then(|| method.into()), path })
    }
}

impl TryFrom<String> for RoutePattern {
    type Error = RoutePatternError;

    fn try_from(text: String) -> Result<Self, RoutePatternError> {
        text.parse()
    }
}

impl RoutePattern {
    /// Returns whether a request matches. A pattern for GET matches HEAD too, like the server's
    /// routes. `route` caches the normalised target between patterns; it is computed when a pattern
    /// first needs it.
    pub(super) fn matches(&self, method: &str, target: &str, route: &mut Option<Route>) -> bool {
        let method = if method.eq_ignore_ascii_case("HEAD") { "GET" } else { method };
        if !self.method.as_ref().is_none_or(|expected| expected.eq_ignore_ascii_case(method)) {
            return false;
        }
        if matches!(*self.path, [PatternSegment::Rest]) {
            return true;
        }
        let mut segments = route.get_or_insert_with(|| Route::normalize(target)).segments();
        for pattern in &self.path {
            match (pattern, segments.next()) {
                (PatternSegment::Rest, _) => return true,
                (PatternSegment::Any, Some(_)) => {}
                (PatternSegment::Literal(literal), Some(segment)) if literal == segment => {}
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
    fn every_spelling_of_a_path_is_normalised_to_one_route() {
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
            assert_eq!(Route::normalize(spelling).0, "/api/v1/media", "{spelling}");
        }
    }

    #[test]
    fn different_paths_have_different_routes() {
        for (target, route) in [
            ("", ""),
            ("/", ""),
            ("*", "/*"),
            ("/x/...", "/x/..."),
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
            assert_eq!(Route::normalize(target).0, route, "{target}");
        }
    }

    #[test]
    fn a_pattern_matches_its_requests_and_no_others() {
        for (pattern, method, target, expected) in [
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
            let route_pattern: RoutePattern = pattern.parse().unwrap();
            let is_match = route_pattern.matches(method, target, &mut None);
            assert_eq!(is_match, expected, "{pattern} and {method} {target}");
        }
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        for pattern in [
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
            assert!(pattern.parse::<RoutePattern>().is_err(), "{pattern:?}");
        }
    }

    proptest! {
        #[test]
        fn any_target_is_normalised(target in "\\PC{0,60}") {
            let route = Route::normalize(&target);
            prop_assert!(route.segments().all(|s| !s.is_empty() && s != "..") || route.0.is_empty());
        }

        #[test]
        fn escaped_letters_do_not_change_the_route(mask in any::<u16>()) {
            let path = "/api/v1/media";
            let spelling: String = path.char_indices().map(|(i, c)| {
                if i > 0 && mask >> i & 1 == 1 { format!("%{:02x}", u32::from(c)) } else { c.into() }
            }).collect();
            prop_assert_eq!(Route::normalize(&spelling), Route::normalize(path));
        }
    }
}
