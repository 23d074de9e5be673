//! Tests of the route table: every route has the area listed here, and its responses follow that
//! area's policies.

mod openapi;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use futures_util::stream;
use http_body_util::BodyExt;
use serde_json::Value;

use super::*;
use crate::config::RESERVED_SEGMENTS;
use crate::http::extract::client::Peer;
use crate::http::layer::area::UNMATCHED;
use crate::http::service::HttpService;
use crate::http::service::tests::{test_state, test_state_parts};

/// The routes outside the Matrix area. A new route is added here with its area.
const ROUTES: [(&str, Area); 56] = [
    ("/healthz", EXEMPT),
    ("/readyz", EXEMPT),
    ("/metrics", EXEMPT),
    ("/oauth/static/{file}", EXEMPT),
    ("/oauth/static/{*path}", EXEMPT),
    ("/gateway/check", GATEWAY),
    ("/gateway/check/", GATEWAY),
    ("/gateway/check/{*request}", GATEWAY),
    ("/", FRONT_PAGE),
    ("/@{name}", DEFAULT_AREA),
    ("/nodeinfo/2.0", DEFAULT_AREA),
    ("/openapi.json", WELL_KNOWN),
    ("/.well-known/oauth-authorization-server", WELL_KNOWN),
    ("/.well-known/nodeinfo", WELL_KNOWN),
    ("/.well-known/change-password", WELL_KNOWN),
    ("/.well-known/{*path}", WELL_KNOWN),
    ("/api/v1/instance", API),
    ("/api/v2/instance", API),
    ("/api/v1/apps", API),
    ("/api/v1/apps/verify_credentials", API),
    ("/api/v1/accounts", API),
    ("/api/v1/accounts/verify_credentials", API),
    ("/api/v1/push/subscription", API),
    ("/api/v2/admin/accounts", API),
    ("/api/v1/admin/accounts/{id}", API),
    ("/api/v1/admin/accounts/{id}/action", API),
    ("/api/v1/admin/accounts/{id}/enable", API),
    ("/api/{*path}", API),
    ("/oauth/introspect", OAUTH),
    ("/oauth/{*path}", OAUTH),
    ("/oauth/token", OAUTH_CLIENT),
    ("/oauth/revoke", OAUTH_CLIENT),
    ("/oauth/userinfo", OAUTH_CLIENT),
    ("/id/authorize", PAGES),
    ("/id/token", ID),
    ("/id/revoke", ID),
    ("/id/introspect", ID),
    ("/id/register", ID),
    ("/id/{*path}", ID),
    ("/.well-known/oauth-authorization-server/id", ID_METADATA),
    ("/.well-known/openid-configuration/id", ID_METADATA),
    ("/id/.well-known/openid-configuration", ID_METADATA),
    ("/oauth/authorize/native", PAGES),
    ("/oauth/authorize/resume", PAGES),
    ("/oauth/account/remove_app", PAGES),
    ("/oauth/account/notifications", PAGES),
    ("/oauth/account/devices", PAGES),
    ("/oauth/account/revoke_token", PAGES),
    ("/oauth/account/security", PAGES),
    ("/oauth/account/security/password", PAGES),
    ("/oauth/account/security/email", PAGES),
    ("/oauth/account/security/end_session", PAGES),
    ("/oauth/account/security/end_other_sessions", PAGES),
    ("/oauth/account/security/download", PAGES),
    ("/oauth/account/security/delete", PAGES),
    ("/oauth/account/security/keep", PAGES),
];

/// Pages with a catch-all route for the paths below them.
const PAGE_ROUTES: [&str; 5] =
    ["/oauth/authorize", "/oauth/sign_in", "/oauth/sign_up", "/oauth/sign_out", "/oauth/account"];

/// The routes of the Matrix area below each version of the client API.
const CLIENT_ROUTES: [&str; 30] = [
    "/logout/all",
    "/devices",
    "/devices/{device}",
    "/pushrules/",
    "/pushrules/{*path}",
    "/pushrules/explain",
    "/pushrules/export",
    "/pushrules/import",
    "/pushrules/reset",
    "/pushrules/device/",
    "/pushrules/{scope}/",
    "/pushrules/{scope}/{kind}/",
    "/pushrules/{scope}/{kind}/{rule_id}",
    "/pushrules/{scope}/{kind}/{rule_id}/enabled",
    "/pushrules/{scope}/{kind}/{rule_id}/actions",
    "/pushrules/device/{profile_tag}/",
    "/pushrules/device/{profile_tag}/{kind}/",
    "/pushrules/device/{profile_tag}/{kind}/{rule_id}",
    "/pushrules/device/{profile_tag}/{kind}/{rule_id}/enabled",
    "/pushrules/device/{profile_tag}/{kind}/{rule_id}/actions",
    "/versions",
    "/login",
    "/register",
    "/logout",
    "/account/whoami",
    "/capabilities",
    "/pushers",
    "/pushers/set",
    "/pushers/ack",
    "/user/{user}/account_data/m.push_rules",
];

fn expected_areas() -> BTreeMap<String, Area> {
    let mut expected: BTreeMap<String, Area> =
        ROUTES.map(|(path, area)| (path.to_owned(), area)).into();
    for page in PAGE_ROUTES {
        expected.extend([page.to_owned(), format!("{page}/{{*path}}")].map(|path| (path, PAGES)));
    }
    for segment in ["_service", "_matrix"] {
        for api in ["api/v1", "r0", "v3"] {
            let paths = CLIENT_ROUTES.map(|path| format!("/{segment}/client/{api}{path}"));
            expected.extend(paths.map(|path| (path, MATRIX)));
        }
        for path in [
            "client/versions",
            "client/unstable/org.matrix.msc4174/pushers/ack",
            "app/v1/evaluate",
            "app/v1/notify",
            "app/v1/notifications",
            "app/v1/read",
            "{*path}",
        ] {
            expected.insert(format!("/{segment}/{path}"), MATRIX);
        }
        expected.insert(format!("//{segment}/{{*path}}"), MATRIX);
        for path in ["v1/auth_metadata", "unstable/org.matrix.msc2965/auth_metadata"] {
            expected.insert(format!("/{segment}/client/{path}"), MATRIX_METADATA);
        }
    }
    expected
}

/// Returns an area's paths, without those that the router adds for a trailing slash.
fn listed_paths(area_router: &AreaRouter) -> Vec<String> {
    let is_alias = |path: &&String| area_router.area.ignores_trailing_slash && path.ends_with('/');
    let routes = area_router.routes.paths.iter().filter(|path| !is_alias(path));
    let catch_all_routes =
        area_router.catch_all.paths.iter().filter(|path| path.ends_with("{*path}"));
    routes.chain(catch_all_routes).cloned().collect()
}

#[tokio::test]
async fn every_route_belongs_to_its_listed_area() {
    let dir = tempfile::tempdir().unwrap();
    let state = test_state(dir.path()).await;
    let mut actual_areas = BTreeMap::new();
    for area_router in area_routers(&state) {
        for path in listed_paths(&area_router) {
            let previous = actual_areas.insert(path.clone(), area_router.area);
            assert!(previous.is_none(), "{path} is registered twice");
        }
    }
    assert_eq!(actual_areas, expected_areas());
}

#[tokio::test]
async fn equivalent_paths_have_one_pattern_and_unknown_paths_have_none() {
    let dir = tempfile::tempdir().unwrap();
    let state = test_state(dir.path()).await;
    let routes = routes(&state);
    let rule = "/{segment}/client/{api}/pushrules/{scope}/{kind}/{rule_id}";
    for (path, pattern) in [
        ("/healthz", "/healthz"),
        ("/oauth/static/style.css", "/oauth/static/{file}"),
        ("/oauth/token", "/oauth/token"),
        ("/oauth/token/", "/oauth/token"),
        ("/api/v1/admin/accounts/7", "/api/v1/admin/accounts/{id}"),
        ("/gateway/check/a/b", "/gateway/check/{*request}"),
        ("/_service/client/api/v1/pushrules/global/room/a", rule),
        ("/_matrix/client/r0/pushrules/global/room/a", rule),
        ("/_matrix/client/v3/pushrules/", "/{segment}/client/{api}/pushrules/"),
        ("/_matrix/client/versions", "/{segment}/client/versions"),
        ("/_matrix/app/v1/evaluate", "/{segment}/app/v1/evaluate"),
        ("/_matrix/client/v3/pushrules/nothing", UNMATCHED),
        ("/_matrix", UNMATCHED),
        ("/oauth/nothing", UNMATCHED),
        ("/nothing", UNMATCHED),
        ("*", UNMATCHED),
    ] {
        let route = routes.find(path);
        assert_eq!(route.pattern, pattern, "{path}");
        assert_eq!(routes.metrics[route.index].pattern, pattern, "{path}");
    }
    let patterns: BTreeSet<&str> = routes.metrics.iter().map(|route| route.pattern).collect();
    assert_eq!(patterns.len(), routes.metrics.len());
    assert_eq!(routes.metrics[0].pattern, UNMATCHED);
}

#[tokio::test]
async fn every_route_follows_its_area_policies() {
    let dir = tempfile::tempdir().unwrap();
    let service = HttpService::new(test_state(dir.path()).await);
    for (route, area) in expected_areas() {
        let path: String = route.split('/').map(fill_segment).collect::<Vec<_>>().join("/");
        let response = send(&service, Method::PATCH, &path).await;
        assert!(response.status.is_client_error(), "{route}: {}", response.status);
        assert_eq!(response.error_format(), area.error_format, "{route}");
        assert_eq!(response.cors(), area.cors, "{route}");
        assert_eq!(response.cache_policy(), area.cache_policy, "{route}");
        assert_eq!(response.is_counted(), area.rate_limiting != RateLimiting::Exempt, "{route}");
        let preflight = send(&service, Method::OPTIONS, &path).await;
        assert_eq!(preflight.status == 204, area.cors == Cors::AnyOrigin, "{route}");
        assert_eq!(preflight.cors(), area.cors, "{route}");
        let is_counted =
            area.cors == Cors::SameOrigin && area.rate_limiting != RateLimiting::Exempt;
        assert_eq!(preflight.is_counted(), is_counted, "{route}");
    }
}

/// Replaces a parameter in a path segment with a value.
fn fill_segment(segment: &str) -> &str {
    match segment {
        "@{name}" => "@x",
        parameter if parameter.starts_with('{') => "x",
        literal => literal,
    }
}

#[tokio::test]
async fn the_first_segment_of_every_route_outside_the_matrix_area_is_reserved() {
    let dir = tempfile::tempdir().unwrap();
    let state = test_state(dir.path()).await;
    let routers = area_routers(&state)
        .into_iter()
        .filter(|router| ![MATRIX, MATRIX_METADATA].contains(&router.area));
    for path in routers.flat_map(|router| listed_paths(&router)) {
        let first_segment = path.split('/').nth(1).unwrap();
        // Segments that are empty or begin with `.` or `@` cannot be configured.
        let is_special = first_segment.is_empty() || first_segment.starts_with(['.', '@']);
        let is_reserved = is_special || RESERVED_SEGMENTS.contains(&first_segment);
        assert!(is_reserved, "{path}");
    }
}

#[tokio::test]
async fn an_unknown_path_belongs_to_the_area_of_its_first_segments() {
    let dir = tempfile::tempdir().unwrap();
    let service = HttpService::new(test_state(dir.path()).await);
    for (path, error_format, cors) in [
        ("/_service/client/api/v1/nothing", ErrorFormat::Matrix, Cors::AnyOrigin),
        ("/_matrix", ErrorFormat::Matrix, Cors::AnyOrigin),
        ("/_matrix/", ErrorFormat::Matrix, Cors::AnyOrigin),
        ("/_matrix/client/v3/user/x/nothing", ErrorFormat::Matrix, Cors::AnyOrigin),
        ("//_matrix/x", ErrorFormat::Matrix, Cors::AnyOrigin),
        ("/_matrixx", ErrorFormat::Api, Cors::SameOrigin),
        ("/oauth", ErrorFormat::OAuth, Cors::SameOrigin),
        ("/oauth/", ErrorFormat::OAuth, Cors::SameOrigin),
        ("/oauth/tokens", ErrorFormat::OAuth, Cors::SameOrigin),
        ("/oauth/token/x", ErrorFormat::OAuth, Cors::SameOrigin),
        ("/oauth/accounts", ErrorFormat::OAuth, Cors::SameOrigin),
        ("/oauth/sign_inx", ErrorFormat::OAuth, Cors::SameOrigin),
        ("/oauth/authorize/x", ErrorFormat::Page, Cors::SameOrigin),
        ("/oauth/account/x", ErrorFormat::Page, Cors::SameOrigin),
        ("/oauthx", ErrorFormat::Api, Cors::SameOrigin),
        ("/api", ErrorFormat::Api, Cors::AnyOrigin),
        ("/api/v1/nothing", ErrorFormat::Api, Cors::AnyOrigin),
        ("/apix", ErrorFormat::Api, Cors::SameOrigin),
        ("/.well-known/nothing", ErrorFormat::Api, Cors::AnyOrigin),
        ("/gateway", ErrorFormat::Api, Cors::SameOrigin),
        ("/gateway/checks", ErrorFormat::Api, Cors::SameOrigin),
        ("/", ErrorFormat::Api, Cors::SameOrigin),
        ("*", ErrorFormat::Api, Cors::SameOrigin),
    ] {
        let response = send(&service, Method::GET, path).await;
        assert_eq!(response.status, 404, "{path}");
        assert_eq!((response.error_format(), response.cors()), (error_format, cors), "{path}");
        assert!(response.is_counted(), "{path}");
    }
}

#[tokio::test]
async fn a_browser_gets_a_page_at_unknown_paths_outside_apis() {
    let dir = tempfile::tempdir().unwrap();
    let service = HttpService::new(test_state(dir.path()).await);
    for (path, format) in [
        ("/nothing", ErrorFormat::Page),
        ("/login", ErrorFormat::Page),
        ("/oauth", ErrorFormat::Page),
        ("/oauth/settings", ErrorFormat::Page),
        ("/oauth/account/x", ErrorFormat::Page),
        ("/api/v1/nothing", ErrorFormat::Api),
        ("/.well-known/nothing", ErrorFormat::Api),
        ("/_matrix/nothing", ErrorFormat::Matrix),
    ] {
        let peer = Peer((Ipv4Addr::LOCALHOST, 1).into());
        let request = Request::get(path).header("accept", "text/html,*/*;q=0.8");
        let response = service.respond(peer, request.body(Body::empty()).unwrap()).await;
        let response = FullResponse::read(response).await;
        assert_eq!((response.status.as_u16(), response.error_format()), (404, format), "{path}");
    }
}

/// Anyone can send a form, so a large one is rejected by its length, or as soon as it is too large.
#[tokio::test]
async fn a_page_form_is_read_up_to_64_kib() {
    let dir = tempfile::tempdir().unwrap();
    let mut parts = test_state_parts(dir.path()).await;
    parts.config.http.max_body_bytes = 1024 * 1024;
    let service = HttpService::new(AppState::new(parts));
    let mut form_count = 0;
    let pages = ROUTES.iter().filter(|(_, area)| *area == PAGES).map(|(path, _)| *path);
    for path in pages.chain(PAGE_ROUTES) {
        for length in [Some(100_000), None] {
            let counter = Arc::new(AtomicUsize::new(0));
            let stream_counter = Arc::clone(&counter);
            let body = stream::repeat_with(move || {
                stream_counter.fetch_add(8192, Ordering::Relaxed);
                Ok::<_, Infallible>(vec![b'a'; 8192])
            });
            let mut request = Request::post(path)
                .header("content-type", "application/x-www-form-urlencoded")
                .body(Body::from_stream(body))
                .unwrap();
            if let Some(length) = length {
                request.headers_mut().insert("content-length", length.into());
            }
            let peer = Peer((Ipv4Addr::LOCALHOST, 1).into());
            let response = FullResponse::read(service.respond(peer, request).await).await;
            let bytes_read = counter.load(Ordering::Relaxed);
            if response.status == 405 {
                assert_eq!(bytes_read, 0, "{path} {length:?}");
                continue;
            }
            assert_eq!(response.status, 413, "{path} {length:?}");
            let max_bytes = if length.is_some() { 0 } else { 64 * 1024 + 8192 };
            assert!(bytes_read <= max_bytes, "{path} {length:?}: {bytes_read}");
            form_count += 1;
        }
    }
    assert_eq!(form_count, 2 * 15, "every page with a form was checked");
}

/// Without a cache policy, shared caches may store a 200, a redirect, a 404 or a 405, and serve it
/// to other users or instead of a page.
#[tokio::test]
async fn every_response_has_a_cache_policy_and_negotiated_ones_have_vary() {
    let dir = tempfile::tempdir().unwrap();
    let service = HttpService::new(test_state(dir.path()).await);
    let negotiation_headers = Some("Accept, Accept-Language");
    let style_path = service.state().style.path().to_owned();
    for (method, path, status, cache, vary) in [
        (Method::GET, "/healthz", 200, "no-store", None),
        (Method::HEAD, "/healthz", 200, "no-store", None),
        (Method::POST, "/healthz", 405, "no-store", None),
        (Method::GET, "/readyz", 200, "no-store", None),
        (Method::GET, "/metrics", 200, "no-store", None),
        (Method::GET, style_path.as_str(), 200, "public, max-age=31536000, immutable", None),
        (Method::GET, "/oauth/static/x", 404, "no-store", None),
        (Method::GET, "/oauth/static/x/y", 404, "no-store", negotiation_headers),
        (Method::GET, "/gateway/check", 400, "private, no-store", None),
        (Method::GET, "/", 404, "no-store", negotiation_headers),
        (Method::POST, "/", 405, "no-store", negotiation_headers),
        (Method::GET, "/@alice", 303, "no-store", None),
        (Method::GET, "/nothing", 404, "no-store", negotiation_headers),
        (Method::GET, "/nodeinfo/2.0", 200, "max-age=0", None),
        (Method::GET, "/openapi.json", 200, "max-age=0", None),
        (Method::GET, "/.well-known/oauth-authorization-server", 200, "max-age=0", None),
        (Method::GET, "/.well-known/change-password", 303, "no-store", None),
        (Method::OPTIONS, "/.well-known/nodeinfo", 204, "no-store", None),
        (Method::GET, "/api/v1/nothing", 404, "private, no-store", None),
        (Method::GET, "/oauth/token", 405, "no-store", None),
        (Method::GET, "/oauth/nothing", 404, "no-store", negotiation_headers),
        (Method::GET, "/oauth/sign_in", 200, "no-store", negotiation_headers),
        (Method::GET, "/_matrix/nothing", 404, "private, no-store", None),
    ] {
        let response = send(&service, method.clone(), path).await;
        let actual = (response.status.as_u16(), response.header("cache-control"));
        assert_eq!(actual, (status, Some(cache)), "{method} {path}");
        assert_eq!(response.header("vary"), vary, "{method} {path}");
    }
    for accept in ["text/html", "application/json", "*/*"] {
        let peer = Peer((Ipv4Addr::LOCALHOST, 1).into());
        let request = Request::get("/").header("accept", accept).body(Body::empty()).unwrap();
        let response = FullResponse::read(service.respond(peer, request).await).await;
        assert_eq!(response.cache_policy(), CachePolicy::NoStore, "{accept}");
        assert_eq!(response.header("vary"), negotiation_headers, "{accept}");
    }
    let peer = Peer((Ipv4Addr::LOCALHOST, 1).into());
    let request = Request::get("/nothing").body(Body::empty()).unwrap();
    let response = service.respond_over_capacity(peer, request).await;
    assert_eq!(FullResponse::read(response).await.cache_policy(), CachePolicy::NoStore);
}

#[tokio::test]
async fn the_api_and_oauth_ignore_a_trailing_slash() {
    let dir = tempfile::tempdir().unwrap();
    let service = HttpService::new(test_state(dir.path()).await);
    for (path, status) in [
        ("/api/v1/instance/", 200),
        ("/.well-known/nodeinfo/", 200),
        ("/oauth/sign_in/?lang=en&a=/b/", 200),
        ("/oauth/token/", 405),
        ("/oauth/token//", 404),
        ("/healthz", 200),
        ("/healthz/", 404),
        ("/nodeinfo/2.0/", 404),
        ("/_matrix/client/versions", 200),
        ("/_matrix/client/versions/", 404),
    ] {
        assert_eq!(send(&service, Method::GET, path).await.status, status, "{path}");
    }
    let absolute_form = send(&service, Method::GET, "http://ring.example/api/v1/instance/").await;
    assert_eq!(absolute_form.status, 200);
}

struct FullResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

async fn send(service: &HttpService, method: Method, path: &str) -> FullResponse {
    let peer = Peer((Ipv4Addr::LOCALHOST, 1).into());
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    FullResponse::read(service.respond(peer, request).await).await
}

impl FullResponse {
    async fn read(response: Response) -> Self {
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().into();
        Self { status: head.status, headers: head.headers, body }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    fn error_format(&self) -> ErrorFormat {
        if self.header("content-type").is_some_and(|value| value.starts_with("text/html")) {
            return ErrorFormat::Page;
        }
        let body: Value = serde_json::from_slice(&self.body).unwrap();
        match (body.get("errcode"), body.get("error_description")) {
            (Some(_), None) => ErrorFormat::Matrix,
            (None, Some(_)) => ErrorFormat::OAuth,
            _ => ErrorFormat::Api,
        }
    }

    fn cors(&self) -> Cors {
        match self.header("access-control-allow-origin") {
            Some("*") => Cors::AnyOrigin,
            _ => Cors::SameOrigin,
        }
    }

    fn cache_policy(&self) -> CachePolicy {
        match self.header("cache-control") {
            Some("no-store") => CachePolicy::NoStore,
            Some("private, no-store") => CachePolicy::PrivateNoStore,
            other => panic!("{other:?}"),
        }
    }

    fn is_counted(&self) -> bool {
        self.headers.contains_key("x-ratelimit-limit")
    }
}
