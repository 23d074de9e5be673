//! A real nginx with the configuration that the documentation gives, before a server that knows
//! nothing of tokens and limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::HeaderMap;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use xtask::engines::{EngineError, Nginx, free_port};

use crate::support::Process;
use crate::support::process::run_well;

const GUIDE: &str = include_str!("../../../../docs/gateway.md");

/// A server that says whom it was told about, and counts who reaches it.
struct Upstream {
    address: String,
    hits: Arc<AtomicUsize>,
}

impl Upstream {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let hits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&hits);
        let app = Router::new().fallback(async move |headers: HeaderMap| {
            counted.fetch_add(1, Ordering::SeqCst);
            let told = |name: &str| headers.get(name).map_or("-", |value| value.to_str().unwrap());
            let told = ["x-account-id", "x-app-id", "x-scopes"].map(told);
            told.join("|")
        });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(app.clone());
                tokio::spawn(async move {
                    let connections = Builder::new(TokioExecutor::new());
                    drop(connections.serve_connection(TokioIo::new(stream), service).await);
                });
            }
        });
        Self { address, hits }
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

/// The part of the guide for nginx, with other ports.
fn configuration(port: u16, belfry: &Process, upstream: &Upstream) -> String {
    let (_, block) = GUIDE.split_once("```nginx\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let block = block
        .replace("listen 80;", &format!("listen 127.0.0.1:{port};"))
        .replace("127.0.0.1:8080", belfry.url.strip_prefix("http://").unwrap())
        .replace("127.0.0.1:3000", &upstream.address);
    format!("events {{}} http {{ access_log off; client_body_temp_path body; {block} }}")
}

fn nginx(port: u16, configuration: &str) -> Option<Nginx> {
    match Nginx::start(port, configuration) {
        Ok(nginx) => Some(nginx),
        Err(EngineError::Missing(_)) if std::env::var("CI").is_err() => None,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_asks_before_it_passes_a_call_on() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "trusted_proxies = ['127.0.0.1']\n[limits.rows]\nip = { requests = 1000 }\n";
    std::fs::write(folder.path().join("belfry.toml"), settings).unwrap();
    let belfry = Process::start(folder.path(), &[]);
    run_well(folder.path(), &["account", "add", "alice"]);
    let token = run_well(folder.path(), &["token", "issue", "alice", "--scopes", "read write"]);
    let upstream = Upstream::start().await;
    let port = free_port().unwrap();
    let Some(_nginx) = nginx(port, &configuration(port, &belfry, &upstream)) else { return };

    let client = reqwest::Client::new();
    let call = async |method: &str, path: &str, token: Option<&str>, headers: &[(&str, &str)]| {
        let url = format!("http://127.0.0.1:{port}{path}");
        let mut request = client.request(method.parse().unwrap(), url).body("some bytes");
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap()
    };
    let token = Some(token.trim());

    let passed = call("POST", "/api/v1/media?a=b", token, &[("x-account-id", "1")]).await;
    assert_eq!(passed.status(), 200);
    assert_eq!(passed.headers()["x-ratelimit-limit"], "30");
    assert_eq!(passed.headers()["x-ratelimit-remaining"], "29");
    let told = passed.text().await.unwrap();
    let (account, rest) = told.split_once('|').unwrap();
    assert!(account.len() > 1 && account.parse::<i64>().is_ok(), "{told}");
    assert!(rest.ends_with("|read write"), "{told}");

    for bad in [None, Some("made-up")] {
        assert_eq!(call("POST", "/api/v1/media", bad, &[]).await.status(), 401);
    }
    assert_eq!(upstream.hits(), 1);

    for _ in 1..30 {
        assert_eq!(call("POST", "/api/v1/media", token, &[]).await.status(), 200);
    }
    let disguise = [("x-forwarded-method", "GET"), ("x-forwarded-uri", "/x")];
    let other = [("x-original-method", "GET"), ("x-original-uri", "/x")];
    for headers in [&[][..], &disguise, &other] {
        let refused = call("POST", "/api/v1/media", token, headers).await;
        assert_eq!(refused.status(), 429, "{headers:?}");
        assert_eq!(refused.headers()["x-ratelimit-remaining"], "0");
        let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1700..=1800).contains(&wait), "{wait}");
        assert_eq!(refused.text().await.unwrap(), r#"{"error":"Too many requests"}"#);
    }
    assert_eq!(upstream.hits(), 30, "the server behind never saw the 31st");
    assert_eq!(call("GET", "/api/v1/media/1", token, &[]).await.status(), 200);

    drop(belfry);
    assert_eq!(call("GET", "/x", token, &[]).await.status(), 502, "without a check nothing passes");
    assert_eq!(upstream.hits(), 31);
}
