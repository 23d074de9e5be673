//! An app with a web address: it sends its user to the server, and hears what comes back.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::http::{Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use super::tab::PATIENCE;
use crate::support::browser::{form, with_query};

/// RFC 7636, appendix B.
pub(super) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub(super) const PKCE: [(&str, &str); 2] =
    [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];

/// A registered app that listens.
pub(super) struct App {
    server: String,
    url: String,
    pub(super) redirect_uri: String,
    id: String,
    secret: String,
    heard: Mutex<mpsc::UnboundedReceiver<Heard>>,
    task: JoinHandle<()>,
}

/// What a browser brought back.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) method: String,
    pub(super) fields: BTreeMap<String, String>,
    pub(super) referer: Option<String>,
}

impl App {
    pub(super) async fn register(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, heard) = mpsc::unbounded_channel();
        let task = tokio::spawn(listen(listener, Arc::new((sender, server.to_owned()))));
        let redirect_uri = format!("{url}/cb");
        let uris = format!("{redirect_uri}\nurn:ietf:wg:oauth:2.0:oob\nhttps://tusky.example/cb");
        let fields = [
            ("client_name", "Tusky"),
            ("website", "https://tusky.example"),
            ("redirect_uris", &*uris),
            ("scopes", "read write push profile"),
        ];
        let app = post(&format!("{server}/api/v1/apps"), &fields).await;
        let text = |key: &str| app[key].as_str().unwrap_or_else(|| panic!("{app}")).to_owned();
        let (id, secret) = (text("client_id"), text("client_secret"));
        let heard = Mutex::new(heard);
        Self { server: server.to_owned(), url, redirect_uri, id, secret, heard, task }
    }

    /// Where it sends its user, with more parameters.
    pub(super) fn authorize(&self, more: &[(&str, &str)]) -> String {
        self.authorize_at(&self.redirect_uri, more)
    }

    /// The same, to be answered somewhere else.
    pub(super) fn authorize_at(&self, redirect_uri: &str, more: &[(&str, &str)]) -> String {
        format!("{}{}", self.server, self.asking("/oauth/authorize", redirect_uri, more))
    }

    /// A page of its own that sends its user there.
    pub(super) fn start(&self, more: &[(&str, &str)]) -> String {
        format!("{}{}", self.url, self.asking("/start", &self.redirect_uri, more))
    }

    fn asking(&self, path: &str, redirect_uri: &str, more: &[(&str, &str)]) -> String {
        let own =
            [("response_type", "code"), ("client_id", &*self.id), ("redirect_uri", redirect_uri)];
        with_query(path, &[&own, more].concat())
    }

    /// What a browser brought back.
    pub(super) async fn hears(&self) -> Heard {
        let mut heard = self.heard.lock().await;
        let heard = tokio::time::timeout(PATIENCE, heard.recv()).await;
        heard.expect("the app hears of its user in time").unwrap()
    }

    /// Whether it heard nothing more.
    pub(super) async fn heard_nothing(&self) -> bool {
        self.heard.lock().await.is_empty()
    }

    /// Spends a code that was given for this address.
    pub(super) async fn spend(&self, code: &str, at: &str, more: &[(&str, &str)]) -> Value {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("client_id", &*self.id),
            ("client_secret", &*self.secret),
            ("redirect_uri", at),
            ("code", code),
        ];
        fields.extend(more);
        post(&format!("{}/oauth/token", self.server), &fields).await
    }

    /// Whose token this is.
    pub(super) async fn whose(&self, token: &Value) -> String {
        let account: Value = self.ask_whose(token).await.json().await.unwrap();
        account["username"].as_str().unwrap_or_else(|| panic!("{account}")).to_owned()
    }

    /// Whether the token is still somebody's.
    pub(super) async fn is_good(&self, token: &Value) -> bool {
        self.ask_whose(token).await.status().is_success()
    }

    async fn ask_whose(&self, token: &Value) -> reqwest::Response {
        let token = token["access_token"].as_str().unwrap_or_else(|| panic!("{token}"));
        let url = format!("{}/api/v1/accounts/verify_credentials", self.server);
        reqwest::Client::new().get(url).bearer_auth(token).send().await.unwrap()
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn post(url: &str, fields: &[(&str, &str)]) -> Value {
    let answer = reqwest::Client::new()
        .post(url)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form(fields))
        .send()
        .await;
    answer.unwrap().json().await.unwrap()
}

/// Who hears, and where users are sent.
type Ears = (mpsc::UnboundedSender<Heard>, String);

async fn listen(listener: TcpListener, ears: Arc<Ears>) {
    while let Ok((stream, _)) = listener.accept().await {
        let ears = Arc::clone(&ears);
        let service = service_fn(move |request| answer(request, Arc::clone(&ears)));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

async fn answer(
    request: Request<Incoming>,
    ears: Arc<Ears>,
) -> Result<Response<String>, Infallible> {
    let (head, body) = request.into_parts();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let (sender, server) = &*ears;
    let answer = Response::builder().header(header::CONTENT_TYPE, "text/html; charset=utf-8");
    let answer = match head.uri.path() {
        "/start" => {
            let location = format!("{server}/oauth/authorize?{query}");
            answer.status(302).header(header::LOCATION, location).body(String::new())
        }
        "/cb" => {
            let body = body.collect().await.map(|body| body.to_bytes().to_vec());
            let told = if head.method == "POST" { body.unwrap() } else { query.into_bytes() };
            let fields = url::form_urlencoded::parse(&told).into_owned().collect();
            let referer = head.headers.get(header::REFERER);
            let referer = referer.map(|referer| referer.to_str().unwrap().to_owned());
            drop(sender.send(Heard { method: head.method.to_string(), fields, referer }));
            answer.body("<!doctype html><title>Tusky</title><p id=thanks>Thank you".to_owned())
        }
        _ => answer.status(404).body(String::new()),
    };
    Ok(answer.unwrap())
}
