//! Which pages of other origins may call: all of them, where a token and not a cookie says who
//! calls; none, where people sign in.

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::http::error::format::Area;

/// What a page may send.
const METHODS: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
const HEADERS: HeaderValue = HeaderValue::from_static("Authorization, Content-Type");

/// What a page may read of an answer, beside its body.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, \
     Retry-After, WWW-Authenticate",
);

const ANYONE: HeaderValue = HeaderValue::from_static("*");
const DAY: HeaderValue = HeaderValue::from_static("86400");

/// Whether pages of any origin may call this path.
pub(crate) fn is_open(path: &str, area: Area) -> bool {
    let mut segments = path.trim_start_matches('/').split('/');
    match (area, segments.next()) {
        (Area::Rules, _) => true,
        (Area::Api, first) => matches!(first, Some("api" | ".well-known")),
        (Area::Pages, _) => false,
        (Area::OAuth, _) => {
            let [name, rest] = [segments.next(), segments.next()];
            matches!(name, Some("token" | "revoke" | "userinfo")) && matches!(rest, None | Some(""))
        }
    }
}

/// The answer to a browser that asks before it calls an open path. Nothing is carried out.
pub(crate) fn preflight(method: &Method) -> Option<Response> {
    (*method == Method::OPTIONS).then(|| {
        let asked = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
            (header::ACCESS_CONTROL_MAX_AGE, DAY),
        ];
        (StatusCode::NO_CONTENT, asked).into_response()
    })
}

/// Lets pages of any origin read this answer. Cookies are of no use to them: no credentials.
pub(crate) fn open(answer: &mut Response) {
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANYONE);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_token_opens_is_open_to_any_origin_and_what_a_cookie_opens_to_none() {
        let segments = ["_service".to_owned(), "_matrix".to_owned()];
        for (path, open) in [
            ("/_service/client/api/v1/pushrules/", true),
            ("/_matrix/client/versions", true),
            ("/api/v1/apps", true),
            ("/api", true),
            ("/apix", false),
            ("/.well-known/oauth-authorization-server", true),
            ("/oauth/token", true),
            ("/oauth/token/", true),
            ("/oauth/token/x", false),
            ("/oauth/revoke", true),
            ("/oauth/userinfo", true),
            ("/oauth/authorize", false),
            ("/oauth/authorize/native", false),
            ("/oauth/introspect", false),
            ("/oauth/tokens", false),
            ("/oauth", false),
            ("/healthz", false),
            ("/", false),
        ] {
            assert_eq!(is_open(path, Area::of(path, &segments)), open, "{path}");
        }
    }
}
