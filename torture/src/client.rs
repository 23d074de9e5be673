//! A blocking HTTP client with one connection that is kept alive.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::{Method, Request as HttpRequest, header};
use ureq::{Agent, Body};

use crate::Result;

/// The timeout of a request, and the maximum time for retries. Longer than any timeout of the
/// server.
const TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Clone)]
pub(crate) struct Client {
    agent: Agent,
    url: String,
}

/// A request that can be sent more than once.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

/// The parts of a response that workers check.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// True if earlier attempts failed. They may have had an effect.
    pub(crate) is_retried: bool,
    pub(crate) location: String,
    /// The values of `Set-Cookie`, without attributes.
    pub(crate) cookies: Vec<String>,
    pub(crate) body: String,
}

impl Request {
    fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: vec![], body: None }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    pub(crate) fn put(path: impl Into<String>, body: &Value) -> Self {
        Self::new(Method::PUT, path).with_json(body)
    }

    pub(crate) fn post(path: impl Into<String>, body: &Value) -> Self {
        Self::new(Method::POST, path).with_json(body)
    }

    fn with_json(mut self, body: &Value) -> Self {
        self.body = Some(body.to_string());
        self.with_header("content-type", "application/json")
    }

    /// Creates a form submission, as browsers and apps send it.
    pub(crate) fn form(path: impl Into<String>, fields: &[(&str, &str)]) -> Self {
        let request = Self { body: Some(encode_form(fields)), ..Self::new(Method::POST, path) };
        request
            .with_header("content-type", "application/x-www-form-urlencoded")
            .with_header("sec-fetch-site", "same-origin")
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn with_bearer(self, token: &str) -> Self {
        self.with_header("authorization", &format!("Bearer {token}"))
    }
}

impl Response {
    /// Returns a string field of the JSON object in the body.
    pub(crate) fn json_string(&self, key: &str) -> Result<String> {
        let body: Value = serde_json::from_str(&self.body)?;
        let value = body[key].as_str().ok_or_else(|| format!("no {key} in {}", self.body))?;
        Ok(value.to_owned())
    }

    /// Returns whether this is the error for a code that cannot be redeemed.
    pub(crate) fn is_invalid_grant(&self) -> bool {
        self.status == 400 && self.json_string("error").is_ok_and(|error| error == "invalid_grant")
    }
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections_per_host(1)
            .timeout_global(Some(TIMEOUT));
        Self { agent: config.build().new_agent(), url: format!("http://{address}") }
    }

    pub(crate) fn send(&self, request: &Request) -> Result<Response> {
        let mut builder = HttpRequest::builder()
            .method(request.method.clone())
            .uri(format!("{}{}", self.url, request.path));
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        let mut response: ureq::http::Response<Body> = match &request.body {
            Some(body) => self.agent.run(builder.body(body.as_str())?)?,
            None => self.agent.run(builder.body(())?)?,
        };
        let header_text =
            |value: &header::HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let headers = response.headers();
        let cookies = headers.get_all(header::SET_COOKIE).iter().map(header_text);
        Ok(Response {
            status: response.status().as_u16(),
            is_retried: false,
            location: headers.get(header::LOCATION).map(header_text).unwrap_or_default(),
            cookies: cookies.filter_map(|cookie| Some(cookie.split_once(';')?.0.into())).collect(),
            body: response.body_mut().read_to_string()?,
        })
    }

    /// Sends a request once. Its response must be a success or a redirect.
    pub(crate) fn send_successfully(&self, request: &Request) -> Result<Response> {
        let response = self.send(request)?;
        if matches!(response.status, 200..400) {
            return Ok(response);
        }
        let Request { method, path, .. } = request;
        Err(format!("{method} {path}: {} {}", response.status, response.body).into())
    }

    /// Sends a request, and retries it while the server is unavailable, for at most [`TIMEOUT`].
    pub(crate) fn send_until_available(&self, request: &Request) -> Result<Response> {
        let start = Instant::now();
        let mut is_retried = false;
        loop {
            match self.send(request) {
                Ok(response) if response.status < 500 => {
                    return Ok(Response { is_retried, ..response });
                }
                _ if start.elapsed() < TIMEOUT => thread::sleep(Duration::from_millis(20)),
                Ok(response) => {
                    let Request { method, path, .. } = request;
                    return Err(format!("{method} {path}: still {}", response.status).into());
                }
                Err(error) => return Err(error),
            }
            is_retried = true;
        }
    }
}

pub(crate) fn encode_form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}
