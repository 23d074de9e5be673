//! A push service and push gateway on 127.0.0.1 that records the requests it receives.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// Time after which a message counts as lost.
const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub(crate) struct PushRequest {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl PushRequest {
    /// Returns a header, which must exist.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).unwrap_or_else(|| panic!("{name}: {:?}", self.headers));
        value.to_str().unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub(crate) struct PushService {
    /// The URL, without a slash at the end.
    pub(crate) url: String,
    received: Arc<ReceivedRequests>,
}

#[derive(Default)]
struct ReceivedRequests {
    requests: Mutex<Vec<PushRequest>>,
    arrival: Notify,
}

impl PushService {
    /// Starts a service that accepts every message.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| StatusCode::CREATED.into_response()).await
    }

    pub(crate) async fn start_with(
        respond: impl Fn(&PushRequest) -> Response + Send + Sync + 'static,
    ) -> Self {
        let respond = Arc::new(respond);
        Self::start_async(move |request| {
            let respond = Arc::clone(&respond);
            async move { respond(&request) }
        })
        .await
    }

    /// Starts a service that may take time to respond, or never does.
    pub(crate) async fn start_async<F: Future<Output = Response> + Send>(
        respond: impl Fn(PushRequest) -> F + Send + Sync + 'static,
    ) -> Self {
        let received = Arc::<ReceivedRequests>::default();
        let respond = Arc::new(respond);
        let handler_received = Arc::clone(&received);
        let handler = move |request: Request| {
            let respond = Arc::clone(&respond);
            let received = Arc::clone(&handler_received);
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes().to_vec();
                let path = head.uri.path().to_owned();
                let headers = head.headers;
                let request = PushRequest { path, headers, body };
                received.requests.lock().unwrap().push(request.clone());
                received.arrival.notify_one();
                respond(request).await
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(handler);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let service = TowerToHyperService::new(router.clone());
                tokio::spawn(async move {
                    let server = auto::Builder::new(TokioExecutor::new());
                    drop(server.serve_connection(TokioIo::new(stream), service).await);
                });
            }
        });
        Self { url, received }
    }

    pub(crate) fn requests(&self) -> Vec<PushRequest> {
        self.received.requests.lock().unwrap().clone()
    }

    /// Waits for this many requests, and returns all requests so far.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<PushRequest> {
        let wait = async {
            while self.received.requests.lock().unwrap().len() < count {
                self.received.arrival.notified().await;
            }
        };
        let wait_result = tokio::time::timeout(TIMEOUT, wait).await;
        let requests = self.requests();
        assert!(wait_result.is_ok(), "{count} requests expected: {requests:#?}");
        requests
    }
}
