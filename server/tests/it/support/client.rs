//! A client of the service, and its responses.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use belfry::http::{HttpService, Peer};
use http_body_util::BodyExt;
use serde_json::Value;

use super::service::peer_address;

/// An HTTP client at an address, with optional headers.
#[derive(Clone)]
pub(crate) struct TestClient {
    http: HttpService,
    peer: Peer,
    headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl TestClient {
    pub(crate) fn new(http: HttpService, peer: Peer) -> Self {
        Self { http, peer, headers: Vec::new() }
    }

    pub(crate) fn with_token(&self, token: &str) -> Self {
        self.with_header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn with_header(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    pub(crate) fn with_address(&self, ip: impl Into<IpAddr>) -> Self {
        Self { peer: Peer(peer_address(ip)), ..self.clone() }
    }

    /// Returns the client's access token.
    pub(crate) fn token(&self) -> &str {
        let bearer = self.headers.iter().find(|(name, _)| name == "authorization").unwrap();
        bearer.1.strip_prefix("Bearer ").unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.send(&format!("GET {path}"), "").await
    }

    /// Sends a request; the target is its method and path, such as `PUT /_matrix/…`.
    pub(crate) async fn send(&self, target: &str, body: impl Into<Body>) -> TestResponse {
        let (method, path) = target.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let response = self.http.respond(self.peer, request.body(body.into()).unwrap()).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        if let Some(length) = head.headers.get("content-length").filter(|_| method != "HEAD") {
            assert_eq!(length.to_str().unwrap(), body.len().to_string(), "{target}");
        }
        TestResponse {
            status: head.status.as_u16(),
            headers: head.headers,
            text: String::from_utf8(body.into()).unwrap(),
        }
    }
}

impl TestResponse {
    /// Returns the body as JSON; the content type must be JSON as well.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(self.header("content-type").starts_with("application/json"), "{self:?}");
        serde_json::from_str(&self.text).unwrap()
    }

    /// Returns a header, or an empty string if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Asserts the status and returns the JSON body.
    #[track_caller]
    pub(crate) fn expect_json(&self, status: StatusCode) -> Value {
        assert_eq!(self.status, status.as_u16(), "{self:?}");
        self.json()
    }

    /// Returns the status and `errcode` of a Matrix error.
    #[track_caller]
    pub(crate) fn status_and_errcode(&self) -> (u16, String) {
        let body = self.json();
        assert!(body["error"].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        (self.status, body["errcode"].as_str().unwrap_or_default().to_owned())
    }
}

/// Returns the address `192.0.2.LAST` of the documentation range.
pub(crate) fn documentation_address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}
