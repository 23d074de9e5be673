//! Real proxies with the configurations of docs/gateway.md, in front of a server without tokens and
//! limits of its own.

mod upstream;

use serde_json::Value;
use tempfile::TempDir;
use test_engines::{EngineError, Proxy, free_port};

use self::upstream::Upstream;
use crate::support::process::run_successfully;
use crate::support::{Process, report_skipped};

const GUIDE: &str = include_str!("../../../../docs/gateway.md");

/// Belfry, a protected server, the proxy in front of it, and an access token of Alice.
struct Gateway {
    belfry: Process,
    upstream: Upstream,
    port: u16,
    token: String,
    _proxy: Proxy,
    _folder: TempDir,
}

impl Gateway {
    /// Starts all of them. The proxy is configured with the code block of the guide in this
    /// language, and its checks have these options. `listen` is the text of the block with the
    /// proxy's address, and its replacement. `None` when the proxy is not installed.
    async fn start(
        language: &str,
        options: &str,
        listen: (&str, impl FnOnce(u16) -> String),
        start: impl FnOnce(u16, &str) -> Result<Proxy, EngineError>,
    ) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let settings = "trusted_proxies = ['127.0.0.1']\n[limits.rows]\nip = { requests = 1000 }\n";
        std::fs::write(folder.path().join("belfry.toml"), settings).unwrap();
        let belfry = Process::start(folder.path(), &[]);
        run_successfully(folder.path(), &["account", "add", "alice"]);
        let token =
            run_successfully(folder.path(), &["token", "issue", "alice", "--scopes", "read write"]);
        let upstream = Upstream::start().await;
        let port = free_port().unwrap();
        let (_, block) = GUIDE.split_once(&format!("```{language}\n")).unwrap();
        let (block, _) = block.split_once("```").unwrap();
        let block = block
            .replace("/gateway/check?", "/gateway/check")
            .replace("/gateway/check", &format!("/gateway/check?{options}"))
            .replace(listen.0, &(listen.1)(port))
            .replace("127.0.0.1:8080", belfry.url.strip_prefix("http://").unwrap())
            .replace("127.0.0.1:3000", &upstream.address);
        let proxy = match start(port, &block) {
            Ok(proxy) => proxy,
            Err(error @ EngineError::Missing(_)) => {
                report_skipped("a proxy", &error.to_string());
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let token = token.trim().to_owned();
        Some(Self { belfry, upstream, port, token, _proxy: proxy, _folder: folder })
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
        request.body("some bytes").send().await.unwrap()
    }

    /// An app token, which has no account.
    async fn app_token(&self) -> String {
        let post = async |path: &str, fields: &[(&str, &str)]| {
            let url = format!("{}{path}", self.belfry.url);
            let response = reqwest::Client::new().post(url).form(fields).send().await.unwrap();
            response.json::<Value>().await.unwrap()
        };
        let app = [("client_name", "a"), ("redirect_uris", "https://app.example/")];
        let app = post("/api/v1/apps", &app).await;
        let [id, secret] = ["client_id", "client_secret"].map(|name| app[name].as_str().unwrap());
        let grant = ("grant_type", "client_credentials");
        let fields = [grant, ("client_id", id), ("client_secret", secret)];
        post("/oauth/token", &fields).await["access_token"].as_str().unwrap().to_owned()
    }

    /// Asserts the behaviour that every proxy must have.
    async fn verify(self) {
        const UPLOAD: &str = "POST /api/v1/media";
        let token = Some(self.token.as_str());
        let forged = [("x-account-id", "1"), ("x-app-id", "1"), ("x-scopes", "admin")];
        let passed = self.send("POST /api/v1/media?a=b", token, &forged).await;
        assert_eq!(passed.status(), 200);
        let identity = passed.text().await.unwrap();
        let (account, rest) = identity.split_once('|').unwrap();
        assert!(account.len() > 1 && account.parse::<i64>().is_ok(), "{identity}");
        assert!(rest.ends_with("|read write"), "{identity}");

        self.upstream.reset();
        let app = self.app_token().await;
        for uri in ["/x", "/x?app=allow", "/x?scope=read&app=allow"] {
            assert_eq!(self.send(&format!("GET {uri}"), Some(&app), &[]).await.status(), 403);
        }
        assert_eq!(self.upstream.hits(), 0);
        for uri in ["/x?scope=x", "/x?scope=admin:write"] {
            assert_eq!(self.send(&format!("GET {uri}"), token, &[]).await.status(), 200, "{uri}");
        }
        self.upstream.reset();

        for invalid in [None, Some("made-up")] {
            assert_eq!(self.send(UPLOAD, invalid, &forged).await.status(), 401);
        }
        assert_eq!(self.upstream.hits(), 0);

        for _ in 1..30 {
            assert_eq!(self.send(UPLOAD, token, &[]).await.status(), 200);
        }
        let forged_forwarded = [("x-forwarded-method", "GET"), ("x-forwarded-uri", "/x")];
        let forged_original = [("x-original-method", "GET"), ("x-original-uri", "/x")];
        let forged_address = [("x-forwarded-for", "192.0.2.9"), ("forwarded", "for=192.0.2.9")];
        for headers in [&[][..], &forged_forwarded, &forged_original, &forged_address] {
            let rejected = self.send(UPLOAD, token, headers).await;
            assert_eq!(rejected.status(), 429, "{headers:?}");
            assert_eq!(rejected.headers()["x-ratelimit-remaining"], "0");
            let wait: u64 = rejected.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1700..=1800).contains(&wait), "{wait}");
            assert_eq!(rejected.text().await.unwrap(), r#"{"error":"Too many requests"}"#);
        }
        assert_eq!(self.upstream.hits(), 29, "the 31st upload never reached the server");
        assert_eq!(self.send("GET /api/v1/media/1", token, &[]).await.status(), 200);

        self.belfry.signal("KILL");
        let status = self.send("GET /x", token, &[]).await.status();
        assert!(status.is_server_error() || status == 403, "{status}");
        assert_eq!(self.upstream.hits(), 30, "no request passes without a check");
    }
}

/// nginx with the configuration of the guide.
async fn nginx(options: &str) -> Option<Gateway> {
    let listen = ("listen 80;", |port| format!("listen 127.0.0.1:{port};"));
    Gateway::start("nginx", options, listen, |port, block| {
        let directives = "access_log off; client_body_temp_path body;";
        Proxy::nginx(port, &format!("events {{}} http {{ {directives} {block} }}"))
    })
    .await
}

/// Caddy with the configuration of the guide.
async fn caddy(options: &str) -> Option<Gateway> {
    let listen = ("example.org {", |port| format!("http://127.0.0.1:{port} {{"));
    Gateway::start("caddyfile", options, listen, |port, block| {
        Proxy::caddy(port, &format!("{{\nadmin off\n}}\n{block}"))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxies_pass_app_tokens_only_with_that_option() {
    for gateway in [nginx("scope=read&app=allow").await, caddy("scope=read&app=allow").await] {
        let Some(gateway) = gateway else { continue };
        let app = gateway.app_token().await;
        let forged = [("x-account-id", "1"), ("x-app-id", "1"), ("x-scopes", "admin")];
        for (uri, status) in [("/x", 200), ("/x?a=b&scope=x", 200), ("/x?app=allow", 403)] {
            let response = gateway.send(&format!("GET {uri}"), Some(&app), &forged).await;
            assert_eq!(response.status(), status, "{uri}");
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
    let Some(gateway) = nginx("").await else { return };
    let passed = gateway.send("GET /x", Some(&gateway.token), &[]).await;
    assert_eq!(passed.headers()["x-ratelimit-limit"], "300", "nginx forwards the headers");
    gateway.upstream.reset();
    gateway.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caddy_checks_every_request() {
    if let Some(gateway) = caddy("").await {
        gateway.verify().await;
    }
}
