//! Unusual text in every field: names, ids, addresses, scopes and states. The response is never a
//! server error, on either engine.

use belfry::config::{Config, LimitMode};
use belfry_store::test_support::TestDatabase;
use serde_json::json;

use crate::oauth::basic;
use crate::rules::pushrules;
use crate::support::browser::{encode_form, with_query};
use crate::support::{Service, TestClient, TestResponse};

/// Strings with NUL, which PostgreSQL cannot store, with rare characters, and with injections.
const UNUSUAL: [&str; 12] = [
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

const SERVICE: &str = "
    [[application_services]]
    id = 'all'
    as_token = 'token of all'
    sender_localpart = 'bot'
    namespaces.users = [{ regex = '(?s)@.*' }]
";

#[tokio::test]
async fn unusual_text_never_causes_a_server_error_on_sqlite() {
    unusual_text_never_causes_a_server_error(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn unusual_text_never_causes_a_server_error_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        unusual_text_never_causes_a_server_error(database).await;
    }
}

async fn unusual_text_never_causes_a_server_error(database: TestDatabase) {
    let mut config: Config = toml::from_str(SERVICE).unwrap();
    config.limits.mode = LimitMode::Off;
    let service = Service::start_on(database, config).await;
    let long = "é".repeat(5000);
    for text in UNUSUAL.into_iter().chain([long.as_str()]) {
        for (field, response) in responses(&service, text).await {
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
async fn responses(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let mut all = send_to_matrix(service, text).await;
    all.extend(send_to_mastodon_api(service, text).await);
    all.extend(send_to_oauth(service, text).await);
    all.extend(send_to_pages(service, text).await);
    all
}

async fn send_to_matrix(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let bridge = service.anonymous_client().with_token("token of all");
    let user = format!("@{text}:ring.example");
    let body = json!({ "event": {}, "room": {}, "members": [{ "user_id": user }] });
    let evaluate = "POST /_matrix/app/v1/evaluate";
    let mut all = vec![
        ("user_id", bridge.get(&with_query(&pushrules(""), &[("user_id", &user)])).await),
        ("evaluate", bridge.send(evaluate, body.to_string()).await),
    ];
    let anonymous = service.anonymous_client();
    for login_name in [text, &user, &format!("{text}@example.org")] {
        let body = json!({ "type": "m.login.password", "user": login_name, "password": "p" });
        let login = "POST /_matrix/client/v3/login";
        all.push(("login", anonymous.send(login, body.to_string()).await));
    }
    let stage = json!({ "type": "m.login.dummy" });
    let body = json!({ "username": text, "password": "correct horse", "auth": stage });
    let register = "POST /_matrix/client/v3/register";
    all.push(("register", anonymous.send(register, body.to_string()).await));
    all
}

async fn send_to_mastodon_api(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let with_json_type = |http: TestClient| http.with_header("content-type", "application/json");
    let mut all = Vec::new();
    let client = service.register_client().await;
    let app = with_json_type(
        service.anonymous_client().with_token(&client.obtain_app_token("write").await),
    );
    for key in ["username", "email", "locale", "reason"] {
        let mut body = json!({
            "username": "carol", "email": "c@example.org", "password": "p", "agreement": true,
        });
        body[key] = text.into();
        all.push((key, app.send("POST /api/v1/accounts", body.to_string()).await));
    }
    let anonymous = with_json_type(service.anonymous_client());
    for key in ["client_name", "redirect_uris", "scopes", "website"] {
        let mut body = json!({ "client_name": "a", "redirect_uris": "https://a.example/" });
        body[key] = text.into();
        all.push((key, anonymous.send("POST /api/v1/apps", body.to_string()).await));
    }
    all
}

async fn send_to_oauth(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let client = service.register_client().await;
    let basic = basic(&format!("{}:{}", encode_form_value(text), encode_form_value(text)));
    let unknown_client = client.http.with_header("authorization", &basic);
    let mut all = Vec::new();
    for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
        let fields = [("grant_type", "client_credentials"), ("scope", text), ("token", text)];
        all.push((path, client.post(path, &fields).await));
        let fields = encode_form(&[("grant_type", "client_credentials"), ("token", "t")]);
        all.push((path, unknown_client.send(&format!("POST {path}"), fields).await));
    }
    all.push(("code", client.redeem(text, &[("code_verifier", text)]).await));
    all
}

async fn send_to_pages(service: &Service, text: &str) -> Vec<(&'static str, TestResponse)> {
    let client = service.register_client().await;
    let mut all = Vec::new();
    for key in ["client_id", "redirect_uri", "scope", "state", "lang", "code_challenge"] {
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", &*client.id),
            ("redirect_uri", &*client.redirect_uri),
        ];
        pairs.retain(|(name, _)| *name != key);
        pairs.push((key, text));
        let path = with_query("/oauth/authorize", &pairs);
        all.push((key, service.browser().get(&path).await));
    }
    let handle = format!("/oauth/authorize/resume?request={}", encode_form_value(text));
    all.push(("handle", service.browser().get(&handle).await));
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[])).await;
    let fields = [("username", text), ("password", text)];
    all.push(("sign_in", browser.submit(&page, "/oauth/sign_in", &fields).await));
    all
}
