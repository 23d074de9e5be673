//! The issuer for clients without a secret: registration, sign-in, refresh and revocation.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use belfry_store::{AuditEvent, AuditFilter};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::browser::{encode_form, with_query};
use crate::support::client::{TestClient, TestResponse};
use crate::support::oauth_client::{oauth_error, status_and_error};
use crate::support::service::{config_with, unlimited_config};
use crate::support::{Browser, OAuthClient, Service};

const VERIFIER: &str = "a-verifier-of-at-least-43-characters-0123456789";
const WEB_CALLBACK: &str = "https://chat.example/cb";
const DEVICE_SCOPES: &str = "urn:matrix:client:api:* urn:matrix:client:device:ABCDEFGHIJ";

/// A registered client without a secret.
#[derive(Clone)]
pub(crate) struct PublicClient {
    http: TestClient,
    pub(crate) id: String,
    redirect_uri: String,
}

/// The tokens of a response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
    expires_in: i64,
    scope: String,
}

impl Tokens {
    #[track_caller]
    fn read(response: &TestResponse) -> Self {
        assert_eq!(response.status, 200, "{response:?}");
        let json = response.json();
        assert_eq!(json["token_type"], "Bearer");
        let text = |name: &str| json[name].as_str().unwrap().to_owned();
        let expires_in = json["expires_in"].as_i64().unwrap();
        let (access, refresh) = (text("access_token"), text("refresh_token"));
        Self { access, refresh, expires_in, scope: text("scope") }
    }
}

pub(crate) fn registration() -> Value {
    json!({
        "client_name": "Chat", "client_uri": "https://chat.example/",
        "redirect_uris": [WEB_CALLBACK, "http://localhost/cb"],
        "grant_types": ["authorization_code", "refresh_token", "implicit"],
        "response_types": ["code"], "token_endpoint_auth_method": "none",
    })
}

async fn register(http: &TestClient, body: &Value) -> TestResponse {
    let http = http.with_header("content-type", "application/json");
    http.send("POST /id/register", body.to_string()).await
}

impl PublicClient {
    pub(crate) async fn register(service: &Service) -> Self {
        let http = service.anonymous_client();
        let response = register(&http, &registration()).await;
        assert_eq!(response.status, 201, "{response:?}");
        let id = response.json()["client_id"].as_str().unwrap().to_owned();
        let http = http.with_header("content-type", "application/x-www-form-urlencoded");
        Self { http, id, redirect_uri: WEB_CALLBACK.to_owned() }
    }

    fn authorize_path(&self, scope: &str, extra_parameters: &[(&str, &str)]) -> String {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        let mut parameters = vec![
            ("response_type", "code"),
            ("client_id", &*self.id),
            ("redirect_uri", &*self.redirect_uri),
            ("scope", scope),
            ("code_challenge", &*challenge),
            ("code_challenge_method", "S256"),
        ];
        parameters.extend(extra_parameters);
        with_query("/id/authorize", &parameters)
    }

    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> TestResponse {
        self.http.send(&format!("POST {path}"), encode_form(fields)).await
    }

    pub(crate) async fn sign_in(&self, browser: &mut Browser, name: &str, scope: &str) -> Tokens {
        let mut page = browser.get(&self.authorize_path(scope, &[])).await;
        if page.text.contains("name=\"password\"") {
            page = browser.sign_in(&page, name).await;
        }
        let response = if page.status == 200 { browser.decide(&page, "allow").await } else { page };
        let parameters = response.redirect_parameters(&self.redirect_uri);
        assert_eq!(parameters["iss"], "https://ring.example/id");
        Tokens::read(&self.redeem(&parameters["code"], &[("code_verifier", VERIFIER)]).await)
    }

    async fn redeem(&self, code: &str, extra_fields: &[(&str, &str)]) -> TestResponse {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("client_id", &*self.id),
            ("code", code),
            ("redirect_uri", &*self.redirect_uri),
        ];
        fields.extend(extra_fields);
        self.post("/id/token", &fields).await
    }

    pub(crate) async fn refresh(&self, token: &str) -> TestResponse {
        let fields =
            [("grant_type", "refresh_token"), ("client_id", &*self.id), ("refresh_token", token)];
        self.post("/id/token", &fields).await
    }
}

async fn start() -> (Service, PublicClient, Browser) {
    let service = Service::start_with(unlimited_config()).await;
    service.add_account("alice").await;
    let client = PublicClient::register(&service).await;
    let browser = service.browser();
    (service, client, browser)
}

/// Returns the status and error code of a request with this access token.
async fn whoami(service: &Service, token: &str) -> (u16, Value) {
    let client = service.anonymous_client().with_token(token);
    let response = client.get("/_matrix/client/v3/account/whoami").await;
    (response.status, response.json())
}

#[tokio::test]
async fn a_client_registers_signs_in_and_refreshes_without_a_secret() {
    let (service, client, mut browser) = start().await;
    let tokens = client.sign_in(&mut browser, "alice", DEVICE_SCOPES).await;
    assert_eq!((tokens.expires_in, &*tokens.scope), (300, DEVICE_SCOPES));
    let (status, user) = whoami(&service, &tokens.access).await;
    assert_eq!((status, &user["user_id"]), (200, &json!("@alice:ring.example")));
    assert_eq!(user["device_id"], "ABCDEFGHIJ");
    // The scope opens Matrix's API, and not Mastodon's.
    let http = service.anonymous_client().with_token(&tokens.access);
    assert_eq!(http.get("/_matrix/client/v3/pushrules/").await.status, 200);
    assert_eq!(http.get("/api/v1/accounts/verify_credentials").await.status, 403);

    service.clock.advance(299);
    assert_eq!(whoami(&service, &tokens.access).await.0, 200);
    service.clock.advance(1);
    let (status, error) = whoami(&service, &tokens.access).await;
    assert_eq!((status, &error["errcode"]), (401, &json!("M_UNKNOWN_TOKEN")));
    assert_eq!(error["soft_logout"], true);
    // The refresh token is no access token, and the other way around.
    assert_eq!(whoami(&service, &tokens.refresh).await.0, 401);
    let response = client.refresh(&tokens.access).await;
    assert_eq!(status_and_error(&response), oauth_error(400, "invalid_grant"));

    let next = Tokens::read(&client.refresh(&tokens.refresh).await);
    assert_eq!((next.expires_in, &next.scope), (300, &tokens.scope));
    assert_eq!(whoami(&service, &next.access).await.0, 200);
    assert_ne!((&next.access, &next.refresh), (&tokens.access, &tokens.refresh));
    // The response may have been lost: for 30 seconds it is repeated.
    service.clock.advance(30);
    let repeated = Tokens::read(&client.refresh(&tokens.refresh).await);
    assert_eq!((&repeated.access, &repeated.refresh), (&next.access, &next.refresh));
    assert_eq!(repeated.expires_in, 270);
}

#[tokio::test]
async fn a_reused_refresh_token_ends_the_sign_in() {
    let (service, client, mut browser) = start().await;
    let stolen = client.sign_in(&mut browser, "alice", DEVICE_SCOPES).await;
    let tokens = Tokens::read(&client.refresh(&stolen.refresh).await);
    assert_eq!(whoami(&service, &tokens.access).await.0, 200);
    service.state.flush_uses().await;
    service.clock.advance(31);
    let response = client.refresh(&stolen.refresh).await;
    assert_eq!(status_and_error(&response), oauth_error(400, "invalid_grant"));
    let (status, error) = whoami(&service, &tokens.access).await;
    assert_eq!((status, &error["soft_logout"]), (401, &json!(false)), "it cannot be refreshed");
    assert_eq!(client.refresh(&tokens.refresh).await.status, 400);
    assert!(service.metrics().await.contains("belfry_refresh_tokens_reused_total 1"));
    let events = service.store().audit_events(AuditFilter::default(), 100).await.unwrap();
    let is_reuse = |event: &AuditEvent| event.detail.as_deref() == Some("refresh token reused");
    assert_eq!(events.iter().filter(|event| is_reuse(event)).count(), 1);
}

#[tokio::test]
async fn a_refresh_token_belongs_to_its_client_and_ends_with_its_account() {
    let (service, client, mut browser) = start().await;
    let tokens = client.sign_in(&mut browser, "alice", "read profile").await;
    let mut other_registration = registration();
    other_registration["client_name"] = json!("Other");
    let response = register(&service.anonymous_client(), &other_registration).await;
    let other_id = response.json()["client_id"].as_str().unwrap().to_owned();
    let other = PublicClient { id: other_id, ..client.clone() };
    let rejected = oauth_error(400, "invalid_grant");
    assert_eq!(status_and_error(&other.refresh(&tokens.refresh).await), rejected);
    assert_eq!(status_and_error(&client.refresh("unknown").await), rejected);
    let mut changed = tokens.refresh.clone();
    changed.replace_range(63.., if changed.ends_with('A') { "B" } else { "A" });
    assert_eq!(status_and_error(&client.refresh(&changed).await), rejected);
    // A scope that the sign-in does not have.
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", &*client.id),
        ("refresh_token", &*tokens.refresh),
        ("scope", "read write"),
    ];
    let response = client.post("/id/token", &fields).await;
    assert_eq!(status_and_error(&response), oauth_error(400, "invalid_scope"));
    let next = Tokens::read(&client.refresh(&tokens.refresh).await);

    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    let now = Some(service.now());
    let events = crate::support::any_events();
    service.store().set_account_disabled_at(&events, account.id, now).await.unwrap();
    assert_eq!(status_and_error(&client.refresh(&next.refresh).await), rejected);
    service.store().set_account_disabled_at(&events, account.id, None).await.unwrap();
    let idle_days = i64::from(180);
    service.clock.advance(idle_days * 24 * 3600);
    assert_eq!(status_and_error(&client.refresh(&next.refresh).await), rejected);
}

#[tokio::test]
async fn whoever_has_a_token_may_end_the_sign_in() {
    let (service, client, mut browser) = start().await;
    for field in ["access", "refresh", "expired access", "of another client"] {
        let tokens = client.sign_in(&mut browser, "alice", DEVICE_SCOPES).await;
        if field == "expired access" {
            service.clock.advance(400);
        }
        let token = if field == "refresh" { &tokens.refresh } else { &tokens.access };
        let client_id = if field == "of another client" { "unknown" } else { &client.id };
        let response =
            client.post("/id/revoke", &[("token", token), ("client_id", client_id)]).await;
        assert_eq!((response.status, response.json()), (200, json!({})), "{field}");
        assert_eq!(client.refresh(&tokens.refresh).await.status, 400, "{field}");
    }
    for token in ["unknown", &"A".repeat(64)] {
        let response = client.post("/id/revoke", &[("token", token)]).await;
        assert_eq!((response.status, response.json()), (200, json!({})));
    }
    let response = client.post("/id/revoke", &[]).await;
    assert_eq!(status_and_error(&response), oauth_error(400, "invalid_request"));
}

#[tokio::test]
async fn a_new_sign_in_of_a_device_replaces_the_earlier_one() {
    let (service, client, mut browser) = start().await;
    let first = client.sign_in(&mut browser, "alice", DEVICE_SCOPES).await;
    let other_device = DEVICE_SCOPES.replace("ABCDEFGHIJ", "KLMNOPQRST");
    let second = client.sign_in(&mut browser, "alice", &other_device).await;
    // The former names of the scopes mean the same device.
    let former =
        DEVICE_SCOPES.replace("urn:matrix:client:", "urn:matrix:org.matrix.msc2967.client:");
    let third = client.sign_in(&mut browser, "alice", &former).await;
    assert_eq!(third.scope, DEVICE_SCOPES);
    assert_eq!(whoami(&service, &first.access).await.0, 401);
    assert_eq!(client.refresh(&first.refresh).await.status, 400);
    assert_eq!(whoami(&service, &second.access).await.0, 200);
    assert_eq!(whoami(&service, &third.access).await.0, 200);
}

#[tokio::test]
async fn an_earlier_consent_implies_a_new_one_only_for_https_and_the_same_scopes() {
    let (_service, client, mut browser) = start().await;
    client.sign_in(&mut browser, "alice", DEVICE_SCOPES).await;
    let other_device = DEVICE_SCOPES.replace("ABCDEFGHIJ", "KLMNOPQRST");
    let native =
        PublicClient { redirect_uri: "http://localhost:4711/cb".to_owned(), ..client.clone() };
    for (client, scope, status) in
        [(&client, &*other_device, 303), (&client, "read", 200), (&native, DEVICE_SCOPES, 200)]
    {
        let page = browser.get(&client.authorize_path(scope, &[])).await;
        assert_eq!(page.status, status, "{scope}");
    }
    client.sign_in(&mut browser, "alice", "read").await;
    native.sign_in(&mut browser, "alice", "read").await;
    let page = browser.get(&native.authorize_path("read", &[])).await;
    page.assert_page(200, "Chat");
}

#[tokio::test]
async fn an_invalid_request_of_a_public_client_is_rejected() {
    let (service, client, mut browser) = start().await;
    client.sign_in(&mut browser, "alice", "read").await;
    let error = async |browser: &mut Browser, path: String| {
        let parameters = browser.get(&path).await.redirect_parameters(WEB_CALLBACK);
        parameters["error"].clone()
    };
    for (scope, expected) in [
        ("urn:matrix:client:api:*", "invalid_scope"),
        ("urn:matrix:client:device:ABCDEFGHIJ", "invalid_scope"),
        (
            "urn:matrix:client:api:* urn:matrix:client:device:A urn:matrix:client:device:B",
            "invalid_scope",
        ),
        ("admin:read", "invalid_scope"),
        ("unknown", "invalid_scope"),
    ] {
        assert_eq!(error(&mut browser, client.authorize_path(scope, &[])).await, expected);
    }
    // Without PKCE.
    let path = with_query(
        "/id/authorize",
        &[
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", WEB_CALLBACK),
            ("scope", "read"),
        ],
    );
    assert_eq!(error(&mut browser, path).await, "invalid_request");
    // The clients of one issuer are unknown to the other.
    let mastodon_client = service.register_client().await;
    let path = client.authorize_path("read", &[]).replace(&client.id, &mastodon_client.id);
    browser.get(&path).await.assert_page(401, "invalid_client");
    let path = client.authorize_path("read", &[]).replace("/id/", "/oauth/");
    browser.get(&path).await.assert_page(401, "invalid_client");
    let confidential = OAuthClient { id: client.id.clone(), ..mastodon_client.clone() };
    let response = confidential
        .post("/id/token", &[("grant_type", "refresh_token"), ("refresh_token", "x")])
        .await;
    assert_eq!(status_and_error(&response), oauth_error(401, "invalid_client"));
    let fields = [("grant_type", "client_credentials"), ("client_id", &*client.id)];
    let response = client.post("/id/token", &fields).await;
    assert_eq!(status_and_error(&response), oauth_error(400, "unsupported_grant_type"));
    let response =
        client.post("/id/token", &[("grant_type", "refresh_token"), ("refresh_token", "x")]).await;
    assert_eq!(status_and_error(&response), oauth_error(401, "invalid_client"));
}

#[tokio::test]
async fn the_same_metadata_is_one_client() {
    let (service, client, _browser) = start().await;
    let http = service.anonymous_client();
    let response = register(&http, &registration()).await;
    assert_eq!(response.status, 201);
    let stored = response.json();
    assert_eq!(stored["client_id"], client.id);
    assert_eq!(stored["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert!(stored["scope"].as_str().unwrap().contains("urn:matrix:client:api:*"));
    assert!(!stored["scope"].as_str().unwrap().contains("admin:"));
    let mut other = registration();
    other["client_name"] = json!("Other");
    assert_ne!(register(&http, &other).await.json()["client_id"], client.id);
    let mut invalid = registration();
    invalid["redirect_uris"] = json!(["https://evil.example/cb"]);
    let response = register(&http, &invalid).await;
    assert_eq!(status_and_error(&response), oauth_error(400, "invalid_redirect_uri"));
    let response = register(&http, &json!([])).await;
    assert_eq!(status_and_error(&response), oauth_error(400, "invalid_client_metadata"));

    let closed = config_with(|config| {
        config.app_registration = belfry::config::RegistrationPolicy::Closed;
    });
    let service = Service::start_with(closed).await;
    let response = register(&service.anonymous_client(), &registration()).await;
    assert_eq!(status_and_error(&response), oauth_error(403, "access_denied"));
    let metadata = service.anonymous_client().get("/id/.well-known/openid-configuration").await;
    assert_eq!(metadata.json()["registration_endpoint"], "https://ring.example/id/register");
}

#[tokio::test]
async fn the_metadata_is_the_same_at_every_address() {
    let (service, _client, _browser) = start().await;
    let http = service.anonymous_client();
    let metadata = http.get("/.well-known/oauth-authorization-server/id").await.json();
    assert_eq!(metadata["issuer"], "https://ring.example/id");
    assert_eq!(metadata["grant_types_supported"], json!(["authorization_code", "refresh_token"]));
    for path in [
        "/.well-known/openid-configuration/id",
        "/id/.well-known/openid-configuration",
        "/_matrix/client/v1/auth_metadata",
        "/_matrix/client/unstable/org.matrix.msc2965/auth_metadata",
    ] {
        let response = http.get(path).await;
        assert_eq!(response.json(), metadata, "{path}");
        assert_eq!(response.header("access-control-allow-origin"), "*", "{path}");
    }
    let contract = http.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(contract["issuer"], "https://ring.example/");
}

/// Agents do so, if nothing names the scopes that they need.
#[tokio::test]
async fn all_scopes_in_the_metadata_can_be_requested_together() {
    let (service, client, mut browser) = start().await;
    let http = service.anonymous_client();
    let metadata = http.get("/.well-known/oauth-authorization-server/id").await.json();
    let scopes: Vec<String> = serde_json::from_value(metadata["scopes_supported"].clone()).unwrap();
    let scopes = scopes.join(" ");
    assert_eq!(client.sign_in(&mut browser, "alice", &scopes).await.scope, scopes);
}

/// Clients sign their user out after a 4xx.
#[tokio::test]
async fn a_refresh_under_a_rate_limit_is_told_to_come_back() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = PublicClient::register(&service).await;
    let tokens = client.sign_in(&mut service.browser(), "alice", "read").await;
    let mut response = client.refresh(&tokens.refresh).await;
    for _ in 0..400 {
        if response.status != 200 {
            break;
        }
        response = client.refresh(&tokens.refresh).await;
    }
    assert_eq!(response.status, 503, "{response:?}");
    assert_ne!(response.header("retry-after"), "");
}

/// matrix-js-sdk reads the metadata before a refresh, and signs its user out after any error.
#[tokio::test]
async fn the_metadata_has_no_rate_limit() {
    let service = Service::start().await;
    let http = service.anonymous_client();
    for _ in 0..400 {
        assert_eq!(http.get("/_matrix/client/v1/auth_metadata").await.status, 200);
        assert_eq!(http.get("/.well-known/oauth-authorization-server/id").await.status, 200);
    }
    let response = http.get("/_matrix/client/versions").await;
    assert_eq!((response.status, response.header("x-ratelimit-remaining")), (200, "299"));
}

#[tokio::test]
async fn a_client_may_ask_for_the_sign_up_page_and_name_the_user() {
    let (_service, client, mut browser) = start().await;
    let page = browser
        .get(&client.authorize_path("read", &[("login_hint", "mxid:@alice:ring.example")]))
        .await;
    page.assert_page(200, "value=\"alice\"");
    let response = browser.get(&client.authorize_path("read", &[("prompt", "create")])).await;
    assert_eq!(response.status, 303);
    assert!(response.header("location").contains("/oauth/sign_up?request="), "{response:?}");
}
