//! An app with a redirect URI: it sends its user to the server and receives the response.

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

use super::tab::TIMEOUT;
use crate::support::browser::{encode_form, with_query};

/// Code verifier from RFC 7636, appendix B.
pub(super) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub(super) const PKCE: [(&str, &str); 2] =
    [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];

/// A registered app with a web server.
pub(super) struct App {
    server_url: String,
    url: String,
    pub(super) redirect_uri: String,
    id: String,
    secret: String,
    callbacks: Mutex<mpsc::UnboundedReceiver<Callback>>,
    task: JoinHandle<()>,
}

/// A request to the redirect URI.
#[derive(Debug)]
pub(super) struct Callback {
    pub(super) method: String,
    pub(super) fields: BTreeMap<String, String>,
    pub(super) referer: Option<String>,
}

impl App {
    pub(super) async fn register(server_url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, callbacks) = mpsc::unbounded_channel();
        let task = tokio::spawn(listen(listener, Arc::new((sender, server_url.to_owned()))));
        let redirect_uri = format!("{url}/cb");
        let redirect_uris =
            format!("{redirect_uri}\nurn:ietf:wg:oauth:2.0:oob\nhttps://tusky.example/cb");
        let fields = [
            ("client_name", "Tusky"),
            ("website", "https://tusky.example"),
            ("redirect_uris", &*redirect_uris),
            ("scopes", "read write push profile"),
        ];
        let app = post_form(&format!("{server_url}/api/v1/apps"), &fields).await;
        let string_field =
            |key: &str| app[key].as_str().unwrap_or_else(|| panic!("{app}")).to_owned();
        let id = string_field("client_id");
        let secret = string_field("client_secret");
        let callbacks = Mutex::new(callbacks);
        Self { server_url: server_url.to_owned(), url, redirect_uri, id, secret, callbacks, task }
    }

    /// Returns the URL of an authorization request with these additional parameters.
    pub(super) fn authorize_url(&self, extra_parameters: &[(&str, &str)]) -> String {
        self.authorize_url_with(&self.redirect_uri, extra_parameters)
    }

    /// Returns the URL of an authorization request with this redirect URI.
    pub(super) fn authorize_url_with(
        &self,
        redirect_uri: &str,
        extra_parameters: &[(&str, &str)],
    ) -> String {
        format!(
            "{}{}",
            self.server_url,
            self.path_with_parameters("/oauth/authorize", redirect_uri, extra_parameters)
        )
    }

    /// Returns the URL of an app page that redirects to the authorization request.
    pub(super) fn start_url(&self, extra_parameters: &[(&str, &str)]) -> String {
        format!(
            "{}{}",
            self.url,
            self.path_with_parameters("/start", &self.redirect_uri, extra_parameters)
        )
    }

    /// Returns the URL of an app page that opens the target as soon as a key or the mouse
    /// button is pressed.
    pub(super) fn trap_url(&self, target: &str) -> String {
        format!("{}/trap#{target}", self.url)
    }

    fn path_with_parameters(
        &self,
        path: &str,
        redirect_uri: &str,
        extra_parameters: &[(&str, &str)],
    ) -> String {
        let base_parameters =
            [("response_type", "code"), ("client_id", &*self.id), ("redirect_uri", redirect_uri)];
        with_query(path, &[&base_parameters, extra_parameters].concat())
    }

    /// Waits for the next request to the redirect URI.
    pub(super) async fn next_callback(&self) -> Callback {
        let mut callbacks = self.callbacks.lock().await;
        let callback = tokio::time::timeout(TIMEOUT, callbacks.recv()).await;
        callback.expect("the app receives a response in time").unwrap()
    }

    /// Returns whether the redirect URI has received no more requests.
    pub(super) async fn has_no_callback(&self) -> bool {
        self.callbacks.lock().await.is_empty()
    }

    pub(super) async fn redeem(
        &self,
        code: &str,
        redirect_uri: &str,
        extra_parameters: &[(&str, &str)],
    ) -> Value {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("client_id", &*self.id),
            ("client_secret", &*self.secret),
            ("redirect_uri", redirect_uri),
            ("code", code),
        ];
        fields.extend(extra_parameters);
        post_form(&format!("{}/oauth/token", self.server_url), &fields).await
    }

    /// Returns the username of a token's account.
    pub(super) async fn token_owner(&self, token: &Value) -> String {
        let account: Value = self.verify_credentials(token).await.json().await.unwrap();
        account["username"].as_str().unwrap_or_else(|| panic!("{account}")).to_owned()
    }

    /// Returns whether a token is valid.
    pub(super) async fn is_valid_token(&self, token: &Value) -> bool {
        self.verify_credentials(token).await.status().is_success()
    }

    async fn verify_credentials(&self, token: &Value) -> reqwest::Response {
        let token = token["access_token"].as_str().unwrap_or_else(|| panic!("{token}"));
        let url = format!("{}/api/v1/accounts/verify_credentials", self.server_url);
        reqwest::Client::new().get(url).bearer_auth(token).send().await.unwrap()
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn post_form(url: &str, fields: &[(&str, &str)]) -> Value {
    let response = reqwest::Client::new()
        .post(url)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(encode_form(fields))
        .send()
        .await;
    response.unwrap().json().await.unwrap()
}

const TRAP_PAGE: &str = "<!doctype html><title>Tusky</title><h1>Press and hold</h1><script>
    onkeydown = onmousedown = () => { location = location.hash.slice(1) };
</script>";

/// The channel for callbacks, and the server URL.
type AppContext = (mpsc::UnboundedSender<Callback>, String);

async fn listen(listener: TcpListener, app: Arc<AppContext>) {
    while let Ok((stream, _)) = listener.accept().await {
        let app = Arc::clone(&app);
        let service = service_fn(move |request| respond(request, Arc::clone(&app)));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

async fn respond(
    request: Request<Incoming>,
    app: Arc<AppContext>,
) -> Result<Response<String>, Infallible> {
    let (head, body) = request.into_parts();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let (sender, server_url) = &*app;
    let response = Response::builder().header(header::CONTENT_TYPE, "text/html; charset=utf-8");
    let response = match head.uri.path() {
        "/start" => {
            let location = format!("{server_url}/oauth/authorize?{query}");
            response.status(302).header(header::LOCATION, location).body(String::new())
        }
        "/cb" => {
            let body = body.collect().await.map(|body| body.to_bytes().to_vec());
            let parameters = if head.method == "POST" { body.unwrap() } else { query.into_bytes() };
            let fields = url::form_urlencoded::parse(&parameters).into_owned().collect();
            let referer = head.headers.get(header::REFERER);
            let referer = referer.map(|referer| referer.to_str().unwrap().to_owned());
            drop(sender.send(Callback { method: head.method.to_string(), fields, referer }));
            response.body("<!doctype html><title>Tusky</title><p id=thanks>Thank you".to_owned())
        }
        "/trap" => response.body(TRAP_PAGE.to_owned()),
        _ => response.status(404).body(String::new()),
    };
    Ok(response.unwrap())
}
