//! A web app with a service worker, whose page evaluates the expressions of a test.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::Html;
use axum::routing::{get, post};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// The timeout of every wait, long enough for a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct WebApp {
    pub(super) url: String,
    expressions: UnboundedSender<String>,
    results: UnboundedReceiver<String>,
    pushes: UnboundedReceiver<String>,
}

impl WebApp {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (expressions, next_expressions) = mpsc::unbounded_channel();
        let (result_sender, results) = mpsc::unbounded_channel();
        let (push_sender, pushes) = mpsc::unbounded_channel();
        let next_expressions = Arc::new(Mutex::new(next_expressions));
        let service_worker =
            ([(CONTENT_TYPE, "text/javascript")], include_str!("service_worker.js"));
        let router = Router::new()
            .route("/", get(Html(include_str!("page.html"))))
            .route("/service_worker.js", get(service_worker))
            .route(
                "/expression",
                get(async move || next_expressions.lock().await.recv().await.unwrap_or_default()),
            )
            .route("/result", post(async move |body| drop(result_sender.send(body))))
            .route("/push", post(async move |body| drop(push_sender.send(body))));
        tokio::spawn(axum::serve(listener, router).into_future());
        Self { url, expressions, results, pushes }
    }

    /// Evaluates an expression in the page, awaits its value, and returns it.
    pub(super) async fn evaluate(&mut self, expression: &str) -> Value {
        self.expressions.send(expression.to_owned()).unwrap();
        let mut result = receive(&mut self.results).await.expect("the page responds in time");
        assert!(result["error"].is_null(), "{expression}: {result}");
        result["value"].take()
    }

    /// Waits for the service worker's next report about a push message; `None` after a timeout.
    pub(super) async fn next_push(&mut self) -> Option<Value> {
        receive(&mut self.pushes).await
    }
}

async fn receive(bodies: &mut UnboundedReceiver<String>) -> Option<Value> {
    let body = tokio::time::timeout(TIMEOUT, bodies.recv()).await.ok()?;
    Some(serde_json::from_str(&body.unwrap()).unwrap())
}
