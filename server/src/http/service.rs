//! The whole site as one function from a request to an answer: what surrounds every handler.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Request, Uri, header};
use axum::response::Response;
use futures_util::FutureExt;
use tower_service::Service;

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::error::format::Area;
use crate::http::error::limit_exceeded::LimitExceeded;
use crate::http::extract::client::Peer;
use crate::http::extract::page_format::{PageFormat, wants_json};
use crate::http::layer::cors;
use crate::http::layer::rate_limit::{self, RateLimitHeaders};
use crate::http::respond::page;
use crate::http::router::{metrics_router, router};

/// The routes, and what surrounds them.
#[derive(Clone)]
pub struct HttpService {
    router: Router,
    state: Arc<AppState>,
    limited: bool,
}

impl HttpService {
    /// The public site.
    #[must_use]
    pub fn new(state: Arc<AppState>) -> Self {
        Self { router: router(Arc::clone(&state)), state, limited: true }
    }

    /// The site that only has metrics.
    #[must_use]
    pub fn metrics_only(state: Arc<AppState>) -> Self {
        Self { router: metrics_router(Arc::clone(&state)), state, limited: false }
    }

    /// What all of it rests on.
    #[must_use]
    pub fn state(&self) -> &Arc<AppState> {
        &self.state
    }

    /// Answers a request. It always does: a handler that panics costs its own caller a 500.
    pub async fn respond(&self, peer: Peer, mut request: Request<Body>) -> Response {
        let began = Instant::now();
        drop_last_slash(request.uri_mut());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let area = Area::of(&path, &self.state.config.name_segments);
        let is_open = cors::is_open(&path, area);
        let shape = Shape::of(&request, area);
        let mut told = RateLimitHeaders::default();
        let preflight = cors::preflight(&method).filter(|_| is_open);
        let mut answer = if let Some(answer) = preflight {
            answer
        } else {
            let routed = AssertUnwindSafe(self.route(peer, request, &mut told)).catch_unwind();
            shape.answer(&self.state, routed.await)
        };
        told.write(&mut answer);
        if is_open {
            cors::open(&mut answer);
        }
        mark(answer.headers_mut(), area, &path);
        let took = began.elapsed();
        self.state.metrics.answered(answer.status(), took);
        // The path alone: a query may hold a token.
        tracing::debug!(%method, path, status = answer.status().as_u16(), ?took);
        answer
    }

    /// Asks the limits, then the routes. What the limits say is told whatever the routes answer.
    async fn route(
        &self,
        peer: Peer,
        mut request: Request<Body>,
        told: &mut RateLimitHeaders,
    ) -> Result<Response, LimitExceeded> {
        if self.limited {
            rate_limit::enter(&self.state, peer, &mut request, told).await?;
        }
        let mut answer = match self.router.clone().call(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        told.take_from(&mut answer);
        Ok(answer)
    }
}

/// How a caller is told of a problem.
struct Shape {
    area: Area,
    /// Who is shown a page.
    format: Option<PageFormat>,
}

impl Shape {
    fn of(request: &Request<Body>, area: Area) -> Self {
        let sees_pages = area == Area::Pages && !wants_json(request.headers());
        let format = sees_pages.then(|| PageFormat::of(request.uri(), request.headers()));
        Self { area, format }
    }

    /// What the caller gets: what the routes say, that the limits refuse the call, or that the
    /// handler panicked.
    fn answer(
        self,
        state: &AppState,
        routed: thread::Result<Result<Response, LimitExceeded>>,
    ) -> Response {
        match routed {
            Ok(Ok(answer)) => self.given(state, answer),
            Ok(Err(refused)) => self.problem(state, refused.into()),
            Err(_) => {
                state.metrics.panics.inc();
                tracing::error!(area = ?self.area, "a handler panicked");
                self.problem(state, CommonError::Internal)
            }
        }
    }

    /// Writes a problem, if the answer holds one; the headers that came with it stay.
    fn given(self, state: &AppState, mut answer: Response) -> Response {
        let Some(problem) = answer.extensions_mut().remove::<CommonError>() else { return answer };
        let mut written = self.problem(state, problem);
        // The router has told the length of the empty body that the problem came in.
        answer.headers_mut().remove(header::CONTENT_LENGTH);
        for (name, value) in answer.headers() {
            written.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
        written
    }

    fn problem(self, state: &AppState, problem: CommonError) -> Response {
        match self.format {
            Some(format) => page::of_problem(state, &format, problem),
            None => problem.answer(self.area),
        }
    }
}

/// What every answer says: not to guess its type, and not to keep what is one caller's.
fn mark(headers: &mut HeaderMap, area: Area, path: &str) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if headers.contains_key(header::CACHE_CONTROL) {
        return;
    }
    if matches!(area, Area::OAuth | Area::Pages) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    } else if area == Area::Rules || path.starts_with("/api/") {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    }
}

/// Clients write `/oauth/authorize/` and `/api/v1/instance/` and mean the same. Under the push rules
/// a last slash has a meaning, so there it stays.
fn drop_last_slash(uri: &mut Uri) {
    let path = uri.path();
    let may_have_one =
        ["/api/", "/oauth/", "/.well-known/"].iter().any(|area| path.starts_with(area));
    let Some(bare) = path.strip_suffix('/').filter(|_| may_have_one) else { return };
    let path_and_query = match uri.query() {
        Some(query) => format!("{bare}?{query}"),
        None => bare.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(path_and_query).ok();
    if let Ok(without) = Uri::from_parts(parts) {
        *uri = without;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::time::Duration;

    use axum::http::StatusCode;
    use axum::routing::{get, post};
    use http_body_util::BodyExt;
    use jiff::Timestamp;

    use super::*;
    use crate::clock::FakeClock;
    use crate::config::{Config, Database};
    use crate::http::Guard;
    use crate::store::Store;

    /// A site with routes that no user has: one that panics, one that takes its time, one that
    /// is guarded.
    pub(crate) async fn test_service(folder: &std::path::Path) -> HttpService {
        let config = Config::default();
        let database = Database::Sqlite(folder.join("belfry.db"));
        let options = config.store_options();
        let store = Store::open(&database, &options, Timestamp::UNIX_EPOCH).await.unwrap();
        let base_url = config.base_url(config.listen);
        let clock = Arc::new(FakeClock::at(0));
        let state = Arc::new(AppState::new(config, base_url, store, clock).await.unwrap());
        let slowly = async || {
            tokio::time::sleep(Duration::from_millis(300)).await;
            "done"
        };
        let panics = async || -> &'static str { panic!("this is what the test is about") };
        let registers = async |guard: Guard| -> Result<&'static str, CommonError> {
            guard.app_registration().await?;
            Ok("registered")
        };
        let router = Router::new()
            .route("/_matrix/panic", get(panics))
            .route("/_matrix/register", post(registers))
            .route("/slow", get(slowly))
            .route("/well", get(async || "well"))
            .with_state(Arc::clone(&state));
        HttpService { router, state, limited: true }
    }

    const PEER: Peer = Peer(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1));

    #[tokio::test]
    async fn a_handler_that_panics_costs_its_caller_a_500_and_nobody_else_anything() {
        let folder = tempfile::tempdir().unwrap();
        let site = test_service(folder.path()).await;
        let get = |path: &str| Request::get(path).body(Body::empty()).unwrap();

        let answer = site.respond(PEER, get("/_matrix/panic")).await;
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let limits = answer.headers().get("x-ratelimit-remaining").cloned();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["errcode"], "M_UNKNOWN");
        assert!(limits.is_some_and(|left| left == "299"), "told what is left of the limits");
        assert!(!body.to_string().contains("what the test is about"), "{body}");

        assert_eq!(site.respond(PEER, get("/well")).await.status(), StatusCode::OK);
        assert!(site.state.metrics.to_text().contains("belfry_panics_total 1"));
    }

    #[tokio::test]
    async fn a_guard_is_told_of_beside_the_limits_of_the_call() {
        let folder = tempfile::tempdir().unwrap();
        let site = test_service(folder.path()).await;
        let register = async || {
            let request = Request::post("/_matrix/register").body(Body::empty()).unwrap();
            let answer = site.respond(PEER, request).await;
            let told = ["x-ratelimit-limit", "x-ratelimit-remaining", "ratelimit", "retry-after"]
                .map(|name| answer.headers().get(name).map_or("", |value| value.to_str().unwrap()))
                .map(str::to_owned);
            let status = answer.status();
            (status, told, answer.into_body().collect().await.unwrap().to_bytes())
        };
        let (status, told, _) = register().await;
        let all = r#""ip";r=299;t=300, "app_registration";r=29;t=600"#;
        assert_eq!((status, told), (StatusCode::OK, ["30", "29", all, ""].map(str::to_owned)));
        for _ in 0..29 {
            assert_eq!(register().await.0, StatusCode::OK);
        }
        let (status, told, body) = register().await;
        let all = r#""ip";r=269;t=300, "app_registration";r=0;t=600"#;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(told, ["30", "0", all, "600"].map(str::to_owned));
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["errcode"], "M_LIMIT_EXCEEDED");
        assert_eq!(body["retry_after_ms"], 600_000);
    }

    #[test]
    fn a_last_slash_makes_no_difference_to_the_api_and_to_oauth() {
        for (sent, routed) in [
            ("/oauth/authorize/?a=/b/", "/oauth/authorize?a=/b/"),
            ("/api/v1/instance/", "/api/v1/instance"),
            ("/.well-known/nodeinfo/", "/.well-known/nodeinfo"),
            ("http://ring.example/oauth/token/", "http://ring.example/oauth/token"),
            ("/oauth/token//", "/oauth/token/"),
            ("/oauth/", "/oauth"),
            ("/_matrix/client/v3/pushrules/", "/_matrix/client/v3/pushrules/"),
            ("/healthz/", "/healthz/"),
            ("/", "/"),
            ("*", "*"),
        ] {
            let mut uri: Uri = sent.parse().unwrap();
            drop_last_slash(&mut uri);
            assert_eq!(uri.to_string(), routed);
        }
    }
}
