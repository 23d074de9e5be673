//! Real proxies, configured as in docs/gateway.md, in front of a server that checks neither tokens
//! nor limits itself.

mod configurations;
mod products;
mod upstream;

use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use test_engines::{EngineError, Proxy, free_port};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use self::configurations::{Addresses, Configuration, GUIDE, HOMESERVER, MASTODON};
use self::upstream::Upstream;
use crate::support::process::run_successfully;
use crate::support::{ServerProcess, report_skipped};

/// The request timeout, shorter than the default time that nginx waits for Belfry.
const TIMEOUT: Duration = Duration::from_secs(45);

/// Belfry, a protected server, the proxy in front of it, and two access tokens of Alice.
struct Gateway {
    configuration: Configuration,
    belfry: ServerProcess,
    upstream: Upstream,
    port: u16,
    token: String,
    /// A token with the scope `read` only.
    read_token: String,
    _proxy: Proxy,
    dir: TempDir,
}

impl Gateway {
    /// Starts Belfry, the protected server and the proxy, and issues the tokens. `options` is the
    /// query of checks for paths that require no scope. Returns `None` if the proxy is not
    /// installed.
    async fn start(configuration: Configuration, options: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let settings = "trusted_proxies = ['127.0.0.1']\n[limits.rows]\nip = { requests = 1000 }\n";
        std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
        let belfry = ServerProcess::start(dir.path(), &[]);
        run_successfully(dir.path(), &["account", "add", "alice"]);
        let [token, read_token] = ["read write", "read"].map(|scopes| {
            let issue_token = ["token", "issue", "alice", "--scopes", scopes];
            run_successfully(dir.path(), &issue_token).trim().to_owned()
        });
        let upstream = Upstream::start().await;
        let port = free_port().unwrap();
        let addresses = Addresses {
            port,
            belfry: belfry.url.strip_prefix("http://").unwrap(),
            upstream: &upstream.address,
        };
        let proxy = match configuration.start(&addresses, options, dir.path()) {
            Ok(proxy) => proxy,
            Err(error @ EngineError::Missing(_)) => {
                report_skipped("a proxy", &error.to_string());
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let gateway =
            Self { configuration, belfry, upstream, port, token, read_token, _proxy: proxy, dir };
        gateway.wait_for_routes().await;
        gateway.upstream.reset_request_count();
        Some(gateway)
    }

    /// Waits until the proxy forwards requests: Traefik listens before it has read its routers.
    async fn wait_for_routes(&self) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while self.send("GET /open/x", None, &[]).await.status() != 200 {
            assert!(Instant::now() < deadline, "the proxy forwards nothing");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn send(
        &self,
        target: &str,
        token: Option<&str>,
        headers: &[(&str, &str)],
    ) -> reqwest::Response {
        let (method, path) = target.split_once(' ').unwrap();
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let mut request = reqwest::Client::new().request(method.parse().unwrap(), url);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.timeout(TIMEOUT).body("some bytes").send().await.unwrap()
    }

    async fn send_body(&self, path: &str, bytes: usize) -> reqwest::StatusCode {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let request = reqwest::Client::new().post(url).bearer_auth(&self.token);
        request.timeout(TIMEOUT).body(vec![b'x'; bytes]).send().await.unwrap().status()
    }

    async fn obtain_app_token(&self) -> String {
        super::obtain_app_token(&self.belfry.url).await
    }

    /// Asserts that identity headers from a client never reach the server: neither all of them nor
    /// each alone, at any path in the guide.
    async fn verify_identity(&self) {
        const FORGED_HEADERS: [(&str, &str); 3] =
            [("x-account-id", "1"), ("x-app-id", "666"), ("x-scopes", "admin")];
        let token = Some(self.token.as_str());
        let identity = self.send("GET /x", token, &[]).await.text().await.unwrap();
        let account = identity.split('|').next().unwrap();
        let scopes = identity.split('|').nth(2);
        assert!(account.len() > 1 && account.parse::<i64>().is_ok(), "{identity}");
        assert_eq!(scopes, Some("read write"), "{identity}");
        let single_headers = FORGED_HEADERS.iter().map(std::slice::from_ref);
        for forged_headers in single_headers.chain([&FORGED_HEADERS[..]]) {
            for path in ["/x", "/", "/api/v1/media", "/api/v1/media/1", "/x?a=b"] {
                let response = self.send(&format!("GET {path}"), token, forged_headers).await;
                assert_eq!(response.text().await.unwrap(), identity, "{path} {forged_headers:?}");
            }
            // This path is not checked, with or without a token.
            for token in [token, None] {
                let body =
                    self.send("GET /open/x", token, forged_headers).await.text().await.unwrap();
                assert!(["-|-|-", "||"].contains(&&*body), "{body} {forged_headers:?}");
            }
        }
    }

    /// Asserts that uploads require their scope.
    async fn verify_scope(&self) {
        self.upstream.reset_request_count();
        for path in ["/api/v1/media", "/api/v1/media/1", "/api/v1/media?scope=read"] {
            let response = self.send(&format!("GET {path}"), Some(&self.read_token), &[]).await;
            assert_eq!(response.status(), 403, "{path}");
        }
        assert_eq!(self.upstream.request_count(), 0);
        assert_eq!(self.send("GET /x", Some(&self.read_token), &[]).await.status(), 200);
    }

    /// Asserts that clients get Belfry's errors unchanged.
    async fn verify_errors(&self) {
        let read_token = Some(self.read_token.as_str());
        let app_token = self.obtain_app_token().await;
        for (path, token, status, challenge, error) in [
            ("/x", None, 401, "Bearer", "No access token was sent"),
            ("/x", Some("x"), 401, "error=\"invalid_token\"", "The access token is invalid"),
            ("/api/v1/media", read_token, 403, "insufficient_scope", "outside the authorized"),
            ("/x", Some(&*app_token), 403, "insufficient_scope", "requires the token of a user"),
        ] {
            let response = self.send(&format!("GET {path}"), token, &[]).await;
            assert_eq!(response.status(), status, "{path} {token:?}");
            let challenges: Vec<_> =
                response.headers().get_all("www-authenticate").iter().collect();
            assert_eq!(challenges.len(), 1, "{challenges:?}");
            assert!(challenges[0].to_str().unwrap().contains(challenge), "{challenges:?}");
            assert_eq!(response.headers()["content-type"], "application/json");
            assert!(response.headers().contains_key("x-ratelimit-remaining"));
            let body: Value = response.json().await.unwrap();
            assert!(body["error"].as_str().unwrap().contains(error), "{body}");
        }
    }

    /// Asserts the behaviour that is required of every proxy. Kills Belfry at the end.
    async fn verify_all_checks(self) {
        const UPLOAD: &str = "POST /api/v1/media";
        let token = Some(self.token.as_str());
        let forged_identity = [("x-account-id", "1"), ("x-app-id", "1"), ("x-scopes", "admin")];
        self.verify_identity().await;
        assert_eq!(self.send("POST /api/v1/media?a=b", token, &[]).await.status(), 200);

        self.upstream.reset_request_count();
        let app_token = self.obtain_app_token().await;
        for uri in ["/x", "/x?app=allow", "/x?scope=read&app=allow"] {
            assert_eq!(self.send(&format!("GET {uri}"), Some(&app_token), &[]).await.status(), 403);
        }
        assert_eq!(self.upstream.request_count(), 0);
        for uri in ["/x?scope=x", "/x?scope=admin:write"] {
            assert_eq!(self.send(&format!("GET {uri}"), token, &[]).await.status(), 200, "{uri}");
        }
        self.upstream.reset_request_count();

        for invalid_token in [None, Some("made-up")] {
            assert_eq!(self.send(UPLOAD, invalid_token, &forged_identity).await.status(), 401);
        }
        assert_eq!(self.upstream.request_count(), 0);

        for _ in 1..30 {
            assert_eq!(self.send(UPLOAD, token, &[]).await.status(), 200);
        }
        let forged_forwarded = [("x-forwarded-method", "GET"), ("x-forwarded-uri", "/x")];
        let forged_original = [("x-original-method", "GET"), ("x-original-uri", "/x")];
        let forged_address = [("x-forwarded-for", "192.0.2.9"), ("forwarded", "for=192.0.2.9")];
        for headers in [&[][..], &forged_forwarded, &forged_original, &forged_address] {
            let response = self.send(UPLOAD, token, headers).await;
            assert_eq!(response.status(), 429, "{headers:?}");
            assert_eq!(response.headers()["x-ratelimit-remaining"], "0");
            let retry_after: u64 =
                response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1700..=1800).contains(&retry_after), "{retry_after}");
            let body: Value = response.json().await.unwrap();
            assert_eq!(body["errcode"], "M_LIMIT_EXCEEDED");
            assert_eq!(body["error"], "Too many requests");
            let retry_after_ms = body["retry_after_ms"].as_u64().unwrap();
            assert!((1_700_000..=1_800_000).contains(&retry_after_ms), "{retry_after_ms}");
        }
        assert_eq!(self.upstream.request_count(), 29, "the 31st upload never reached the server");
        assert_eq!(self.send("GET /api/v1/media/1", token, &[]).await.status(), 200);

        self.belfry.signal("KILL");
        let response = self.send("GET /x", token, &[]).await;
        match self.configuration {
            Configuration::Traefik => {
                assert_eq!(response.status(), 500);
                assert_eq!(response.text().await.unwrap(), "");
            }
            _ => assert_unavailable(response).await,
        }
        assert_eq!(self.upstream.request_count(), 30, "no request passes without a check");
    }
}

/// Asserts that the API client gets JSON, and not the proxy's error page.
async fn assert_unavailable(response: reqwest::Response) {
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["content-type"], "application/json");
    let expected = serde_json::json!(
        { "errcode": "M_UNKNOWN", "error": "The service is temporarily unavailable" }
    );
    assert_eq!(response.json::<Value>().await.unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxies_pass_app_tokens_only_if_configured() {
    for configuration in [Configuration::Nginx, Configuration::Caddy, Configuration::Traefik] {
        let Some(gateway) = Gateway::start(configuration, "scope=read&app=allow").await else {
            continue;
        };
        let app_token = gateway.obtain_app_token().await;
        let forged_identity = [("x-account-id", "1"), ("x-app-id", "1"), ("x-scopes", "admin")];
        for (uri, status) in [("/x", 200), ("/x?a=b&scope=x", 200), ("/x?app=allow", 403)] {
            let response =
                gateway.send(&format!("GET {uri}"), Some(&app_token), &forged_identity).await;
            assert_eq!(response.status(), status, "{configuration:?} {uri}");
            let identity = response.text().await.unwrap();
            if status == 200 {
                let lacks_account = ["|", "-|"].iter().any(|empty| identity.starts_with(empty));
                assert!(lacks_account && identity.ends_with("|read"), "{identity}");
            }
        }
        assert_eq!(gateway.send("GET /x", Some(&gateway.token), &[]).await.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_checks_every_request() {
    let Some(gateway) = Gateway::start(Configuration::Nginx, "").await else { return };
    let response = gateway.send("GET /x", Some(&gateway.token), &[]).await;
    assert_eq!(response.headers()["x-ratelimit-limit"], "300", "nginx forwards the headers");
    for path in ["/x", "/api/v1/media", "/open/x"] {
        let response = gateway.send(&format!("GET {path}"), Some(&gateway.token), &[]).await;
        assert_eq!(response.headers()["x-received-host"], "127.0.0.1", "{path}");
    }
    gateway.verify_errors().await;
    gateway.verify_scope().await;
    gateway.verify_all_checks().await;
}

/// The location of a check must not apply nginx's default limit of 1 MiB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_accepts_uploads_up_to_the_limit_of_their_location() {
    let Some(gateway) = Gateway::start(Configuration::Nginx, "").await else { return };
    assert_eq!(gateway.send_body("/api/v1/media", 5_000_000).await, 200);
    assert_eq!(gateway.send_body("/api/v1/media", 50_000_000).await, 413);
    assert_eq!(gateway.send_body("/x", 5_000_000).await, 413);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_can_require_a_scope_by_method() {
    let options = "scope=$belfry_scope";
    let Some(gateway) = Gateway::start(Configuration::Nginx, options).await else { return };
    for (method, status) in [("GET", 200), ("HEAD", 200), ("POST", 403), ("DELETE", 403)] {
        let target = format!("{method} /x");
        let response = gateway.send(&target, Some(&gateway.read_token), &[]).await;
        assert_eq!(response.status(), status, "{method}");
        let response = gateway.send(&target, Some(&gateway.token), &[]).await;
        assert_eq!(response.status(), 200, "{method}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_from_other_origins_can_read_nginx_rejections() {
    let Some(gateway) = Gateway::start(Configuration::Nginx, "").await else { return };
    let read_token = Some(gateway.read_token.as_str());
    let token = Some(gateway.token.as_str());
    let verify_rejection = async |target: &str, token: Option<&str>, status: u16| {
        let response = gateway.send(target, token, &[]).await;
        assert_eq!(response.status(), status, "{target}");
        let origins: Vec<_> =
            response.headers().get_all("access-control-allow-origin").iter().collect();
        assert_eq!(origins, ["*"], "{status}");
        let exposed_headers = &response.headers()["access-control-expose-headers"];
        let expected_headers = "Retry-After, WWW-Authenticate, X-RateLimit-Limit, \
                                X-RateLimit-Remaining, X-RateLimit-Reset";
        assert_eq!(exposed_headers, expected_headers, "{status}");
    };
    verify_rejection("GET /x", None, 401).await;
    verify_rejection("GET /api/v1/media", read_token, 403).await;
    for _ in 0..30 {
        let response = gateway.send("POST /api/v1/media", token, &[]).await;
        let origin = response.headers().get("access-control-allow-origin");
        assert_eq!(
            (response.status().as_u16(), origin),
            (200, None),
            "the proxied server sets CORS headers"
        );
    }
    verify_rejection("POST /api/v1/media", token, 429).await;
    gateway.belfry.signal("KILL");
    verify_rejection("GET /x", token, 503).await;
}

/// Servers that normalise these paths would serve `/api/v1/media` without its scope.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_rejects_paths_that_some_servers_normalise() {
    let Some(gateway) = Gateway::start(Configuration::Nginx, "").await else { return };
    // HTTP clients would change some of these paths.
    let get_status = async |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).await.unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            gateway.read_token
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response[9..12].to_owned()
    };
    for path in [
        "/x/..;/api/v1/media",
        "/x/..;a=b/api/v1/media?c",
        "/x/..%3B/api/v1/media",
        "/api;x/v1/media",
        "/api/v1\\media",
        "/api/v1%5cmedia",
        "/open/..;/api/v1/media",
        "/open/..\\api/v1/media",
    ] {
        assert_eq!(get_status(path).await, "400", "{path}");
    }
    assert_eq!(gateway.upstream.request_count(), 0);
    for path in ["/x", "/x?a=b;c", "/x?a=..%5c", "/open/x?;"] {
        assert_eq!(get_status(path).await, "200", "{path}");
    }
}

/// By default nginx would wait for a minute, and occupy a client connection for each request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_does_not_wait_for_an_unresponsive_belfry() {
    let Some(gateway) = Gateway::start(Configuration::Nginx, "").await else { return };
    gateway.belfry.signal("STOP");
    assert_unavailable(gateway.send("GET /x", Some(&gateway.token), &[]).await).await;
    gateway.belfry.signal("CONT");
    assert_eq!(gateway.upstream.request_count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caddy_checks_every_request() {
    let Some(gateway) = Gateway::start(Configuration::Caddy, "").await else { return };
    gateway.verify_errors().await;
    gateway.verify_scope().await;
    gateway.verify_all_checks().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traefik_checks_every_request() {
    let Some(gateway) = Gateway::start(Configuration::Traefik, "").await else { return };
    gateway.verify_errors().await;
    gateway.verify_scope().await;
    gateway.verify_all_checks().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_checks_every_request() {
    if let Some(gateway) = Gateway::start(Configuration::Envoy, "").await {
        gateway.verify_all_checks().await;
    }
}

/// Without a path in `proxy_pass`, nginx would forward `/secret/../open/x` unchanged.
#[test]
fn unchecked_nginx_locations_forward_a_normalised_path() {
    for guide in [GUIDE, HOMESERVER, MASTODON] {
        for location in guide.split("location ").skip(1) {
            let location = location.split('}').next().unwrap();
            let target = location.split("proxy_pass http://127.0.0.1:3000").nth(1);
            let has_path = target.is_none_or(|target| target.starts_with('/'));
            assert!(has_path || !location.contains("auth_request off;"), "{location}");
        }
    }
}

/// A location with `proxy_set_header` inherits no such directive from the server block, so without
/// the file in the guide it would forward the client's identity headers.
#[test]
fn every_nginx_location_that_sets_headers_includes_the_identity_file() {
    let blocks = configurations::guide_blocks("nginx");
    let (_, site) = blocks.iter().find(|(name, _)| name.ends_with("product.conf")).unwrap();
    let server = site.split("location").next().unwrap();
    assert!(server.contains("include belfry_identity.conf;"), "{server}");
    for location in
        site.split("location").skip(1).filter(|location| location.contains("proxy_pass"))
    {
        let sets_headers = location.contains("proxy_set_header") || location.contains("add_header");
        let is_safe = ["include belfry_identity.conf;", "include belfry_check.conf;"]
            .iter()
            .any(|include| location.contains(include));
        assert!(is_safe || !sets_headers, "{location}");
    }
}
