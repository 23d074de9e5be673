//! The protected server behind a proxy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::HeaderMap;
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

/// A server that counts its requests. Its responses contain the received identity headers in the
/// body, and the received host in a header.
pub(super) struct Upstream {
    pub(super) address: String,
    requests: Arc<AtomicUsize>,
}

impl Upstream {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        let router = Router::new().fallback(async move |headers: HeaderMap, body: Body| {
            drop(body.collect().await);
            counter.fetch_add(1, Ordering::SeqCst);
            let header =
                |name: &str| headers.get(name).map_or("-", |value| value.to_str().unwrap());
            let identity = ["x-account-id", "x-app-id", "x-scopes"].map(header).join("|");
            ([("x-received-host", header("host").to_owned())], identity)
        });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(router.clone());
                tokio::spawn(async move {
                    let builder = Builder::new(TokioExecutor::new());
                    drop(builder.serve_connection(TokioIo::new(stream), service).await);
                });
            }
        });
        Self { address, requests }
    }

    /// Returns the number of requests received.
    pub(super) fn request_count(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub(super) fn reset_request_count(&self) {
        self.requests.store(0, Ordering::SeqCst);
    }
}
