//! Unusual text in every field: names, ids, addresses, scopes and states. The response is never a
//! server error, on either engine.

use belfry::config::{Config, RateLimitMode};
use belfry_store::test::TestDatabase;
use serde_json::json;

use crate::oauth::basic_header;
use crate::rules::pushrules_path;
use crate::support::browser::{encode_form, with_query};
use crate::support::{Service, TestClient, TestResponse};

/// Strings with NUL, which PostgreSQL cannot store, with rare characters, and with injections.
const UNUSUAL_STRINGS: [&str; 12] = [
    "\0",
    "a\0b",
    "alice\0",
    "\u{1}\u{7f}\u{80}",
    "\u{feff}\u{fffe}\u{ffff}\u{10ffff}",
    "\u{202e}ecila",
    "'; drop table accounts; --",
    "\\x00\\'$1%_",
    "\r\nSet-Cookie: a=b",
    "İẞﬀ",
    "9223372036854775808",
    " ",
];

const SERVICE_SETTINGS: &str = "
    [[application_services]]
    id = 'all'
    as_token = 'token of all'
    sender_localpart = 'bot'
    namespaces.users = [{ regex = '(?s)@.*' }]
";

#[tokio::test]
async fn unusual_text_never_causes_a_server_error_on_sqlite() {
    assert_unusual_text_never_causes_a_server_error(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn unusual_text_never_causes_a_server_error_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_unusual_text_never_causes_a_server_error(database).await;
    }
}

async fn assert_unusual_text_never_causes_a_server_error(database: TestDatabase) {
    let mut config: Config = toml::from_str(SERVICE_SETTINGS).unwrap();
    config.limits.mode = RateLimitMode::Off;
    let service = Service::start_on(database, config).await;
    let long_string = "é".repeat(5000);
    for text in UNUSUAL_STRINGS.into_iter().chain([long_string.as_str()]) {
        for (field, response) in send_to_all_endpoints(&service, text).await {
            assert!(response.status < 500, "{field} of {text:?}: {response:?}");
            assert!(!response.header("set-cookie").contains("a=b"), "{field}: {response:?}");
        }
    }
    assert!(service.metrics().await.contains("belfry_panics_total 0"));
}

fn encode_form_value(text: &str) -> String {
    encode_form(&[("", text)]).split_off(1)
}

/// Sends the text to every endpoint that looks it up or stores it, and returns the responses.
async fn send_to_all_endpoints(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let mut responses = send_to_matrix(service, text).await;
    responses.extend(send_to_mastodon_api(service, text).await);
    responses.extend(send_to_oauth(service, text).await);
    responses.extend(send_to_pages(service, text).await);
    responses
}

async fn send_to_matrix(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let bridge = service.anonymous_client().with_token("token of all");
    let user_id = format!("@{text}:ring.example");
    let body = json!({ "event": {}, "room": {}, "members": [{ "user_id": user_id }] });
    let evaluate_request = "POST /_matrix/app/v1/evaluate";
    let mut responses = vec![
        ("user_id", bridge.get(&with_query(&pushrules_path(""), &[("user_id", &user_id)])).await),
        ("evaluate", bridge.send(evaluate_request, body.to_string()).await),
    ];
    let anonymous = service.anonymous_client();
    for login_name in [text, &user_id, &format!("{text}@example.org")] {
        let body = json!({ "type": "m.login.password", "user": login_name, "password": "p" });
        let login_request = "POST /_matrix/client/v3/login";
        responses.push(("login", anonymous.send(login_request, body.to_string()).await));
    }
    let stage = json!({ "type": "m.login.dummy" });
    let body = json!({ "username": text, "password": "correct horse", "auth": stage });
    let register_request = "POST /_matrix/client/v3/register";
    responses.push(("register", anonymous.send(register_request, body.to_string()).await));
    responses
}

async fn send_to_mastodon_api(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let with_json_type = |http: TestClient| http.with_header("content-type", "application/json");
    let mut responses = Vec::new();
    let client = service.register_client().await;
    let app_client = with_json_type(
        service.anonymous_client().with_token(&client.obtain_app_token("write").await),
    );
    for key in ["username", "email", "locale", "reason"] {
        let mut body = json!({
            "username": "carol", "email": "c@example.org", "password": "p", "agreement": true,
        });
        body[key] = text.into();
        responses.push((key, app_client.send("POST /api/v1/accounts", body.to_string()).await));
    }
    let anonymous = with_json_type(service.anonymous_client());
    for key in ["client_name", "redirect_uris", "scopes", "website"] {
        let mut body = json!({ "client_name": "a", "redirect_uris": "https://a.example/" });
        body[key] = text.into();
        responses.push((key, anonymous.send("POST /api/v1/apps", body.to_string()).await));
    }
    responses
}

async fn send_to_oauth(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let client = service.register_client().await;
    let authorization =
        basic_header(&format!("{}:{}", encode_form_value(text), encode_form_value(text)));
    let unknown_client = client.http.with_header("authorization", &authorization);
    let mut responses = Vec::new();
    for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
        let fields = [("grant_type", "client_credentials"), ("scope", text), ("token", text)];
        responses.push((path, client.post(path, &fields).await));
        let fields = encode_form(&[("grant_type", "client_credentials"), ("token", "t")]);
        responses.push((path, unknown_client.send(&format!("POST {path}"), fields).await));
    }
    responses.push(("code", client.redeem(text, &[("code_verifier", text)]).await));
    responses
}

async fn send_to_pages(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let client = service.register_client().await;
    let mut responses = Vec::new();
    for key in ["client_id", "redirect_uri", "scope", "state", "lang", "code_challenge"] {
        let mut parameters = vec![
            ("response_type", "code"),
            ("client_id", &*client.id),
            ("redirect_uri", &*client.redirect_uri),
        ];
        parameters.retain(|(name, _)| *name != key);
        parameters.push((key, text));
        let path = with_query("/oauth/authorize", &parameters);
        responses.push((key, service.browser().get(&path).await));
    }
    let resume_path = format!("/oauth/authorize/resume?request={}", encode_form_value(text));
    responses.push(("handle", service.browser().get(&resume_path).await));
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[])).await;
    let fields = [("username", text), ("password", text)];
    responses.push(("sign_in", browser.submit(&page, "/oauth/sign_in", &fields).await));
    responses
}
