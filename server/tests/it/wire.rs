//! Snapshots of the wire format: whole responses with status, headers and body. There is one file
//! for each kind of response, and one for the errors of each area.
//!
//! After an intended change run the tests with `INSTA_UPDATE=always` and review the changes to the
//! files in `wire/snapshots`.

mod admin;
mod discovery;
mod errors;
mod evaluation;
mod matrix;
mod oauth;
mod rules;

use std::collections::BTreeMap;

use axum::body::Body;
use insta::Settings;
use insta::internals::Content;
use serde::Serialize;
use serde_json::{Value, json};

use crate::limits::count_admitted;
use crate::support::client::documentation_address;
use crate::support::{Service, TestClient, TestResponse};

const FORM_TYPE: &str = "application/x-www-form-urlencoded";

/// Headers that every snapshot records. Headers that are in none of these three lists are tested
/// elsewhere.
const RECORDED_HEADERS: [&str; 16] = [
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "access-control-max-age",
    "allow",
    "cache-control",
    "content-type",
    "link",
    "location",
    "pragma",
    "ratelimit-policy",
    "retry-after",
    "vary",
    "www-authenticate",
    "x-ratelimit-limit",
];

/// Headers with counts, which depend on earlier requests. Recorded for rejected requests only.
const COUNT_HEADERS: [&str; 3] = ["ratelimit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/// Headers of the gateway check that report the client's identity to a proxy.
const IDENTITY_HEADERS: [&str; 3] = ["x-account-id", "x-app-id", "x-scopes"];

/// A request line and its response.
#[derive(Serialize)]
struct Exchange {
    #[serde(skip_serializing_if = "str::is_empty")]
    case: &'static str,
    request: String,
    status: u16,
    headers: BTreeMap<&'static str, String>,
    body: Value,
}

impl Exchange {
    fn new(request: &str, response: &TestResponse) -> Self {
        let counts = if response.status == 429 { &COUNT_HEADERS[..] } else { &[] };
        let names = RECORDED_HEADERS.iter().chain(counts).chain(&IDENTITY_HEADERS);
        let recorded_header = |name: &&'static str| {
            let value = response.headers.get(*name)?;
            Some((*name, value.to_str().unwrap().to_owned()))
        };
        Self {
            case: "",
            request: request.to_owned(),
            status: response.status,
            headers: names.filter_map(recorded_header).collect(),
            body: snapshot_body(response),
        }
    }

    fn assert_snapshot(&self, name: &str) {
        assert_snapshot(name, self);
    }
}

/// Returns the JSON body, the title of a page, or null for an empty body.
fn snapshot_body(response: &TestResponse) -> Value {
    if response.text.is_empty() {
        return Value::Null;
    }
    if response.header("content-type").starts_with("text/html") {
        let (_, rest) = response.text.split_once("<title>").unwrap();
        return json!({ "title": rest.split_once("</title>").unwrap().0 });
    }
    response.json()
}

impl TestClient {
    /// Sends a request such as `GET /api/v1/instance`, and records the exchange.
    async fn exchange(&self, request: &str, body: impl Into<Body>) -> Exchange {
        Exchange::new(request, &self.send(request, body).await)
    }
}

/// The exchanges of one snapshot, each with the case that it shows.
#[derive(Serialize)]
#[serde(transparent)]
struct Cases(Vec<Exchange>);

impl Cases {
    fn add(&mut self, case: &'static str, exchange: Exchange) {
        self.0.push(Exchange { case, ..exchange });
    }
}

/// Returns a client whose address has used up its rate limit.
async fn limited_client(service: &Service) -> TestClient {
    let client = service.anonymous_client().with_address(documentation_address(77));
    assert_eq!(count_admitted(&client, "GET /x", 300).await, 300);
    client
}

/// Compares a value with a snapshot. Random values are replaced; the format of secrets is checked
/// first.
fn assert_snapshot(name: &str, value: &impl Serialize) {
    let mut settings = Settings::new();
    settings.set_snapshot_path("wire/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for field in ["access_token", "client_id", "client_secret", "code"] {
        let selector = format!(".**.{field}");
        settings.add_dynamic_redaction(&selector, move |value, _| {
            redact_string(&value, |text| redact_secret(field, text))
        });
    }
    for selector in [".**.id", ".**[\"x-account-id\"]", ".**.uri", ".**.sub"] {
        settings.add_dynamic_redaction(selector, |value, _| redact_string(&value, redact_id));
    }
    settings.add_dynamic_redaction(".**.link", |value, _| {
        redact_string(&value, |links| links.split_inclusive('>').map(redact_link).collect())
    });
    for selector in [".**.device_id", ".**.session"] {
        settings.add_redaction(selector, "[random]");
    }
    settings.add_dynamic_redaction(".**.version", |value, _| redact_string(&value, redact_version));
    settings.bind(|| insta::assert_json_snapshot!(name, value));
}

/// Redacts a string. Keeps numbers, such as the ids of roles, which are constant.
fn redact_string(value: &Content, redact: impl Fn(&str) -> String) -> Content {
    value.as_str().map_or_else(|| value.clone(), |text| Content::from(redact(text)))
}

/// Replaces a random value of 64 base64url characters with the name of its field.
fn redact_secret(field: &str, text: &str) -> String {
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    assert!(text.len() == 64 && text.bytes().all(is_base64url), "{text}");
    format!("[{field}]")
}

/// Replaces a number of at least ten digits at the end.
fn redact_id(text: &str) -> String {
    let prefix = text.trim_end_matches(|character: char| character.is_ascii_digit());
    if text.len() - prefix.len() < 10 { text.to_owned() } else { format!("{prefix}[id]") }
}

/// Replaces the id at the end of a link's URL.
fn redact_link(text: &str) -> String {
    text.strip_suffix('>').map_or_else(|| text.to_owned(), |url| format!("{}>", redact_id(url)))
}

/// Replaces the version of this package, which changes with each release.
fn redact_version(text: &str) -> String {
    text.replace(env!("CARGO_PKG_VERSION"), "[version]")
}
