//! `POST /api/v1/accounts`, `GET /api/v1/accounts/verify_credentials`, `/oauth/userinfo`, and
//! responses to invalid tokens.

use axum::http::StatusCode;
use belfry::config::RegistrationPolicy;
use serde_json::{Value, json};

use crate::support::browser::encode_form;
use crate::support::service::{config_with, unlimited_config};
use crate::support::{OAuthClient, Service, TestClient, TestResponse, any_events};

const ALICE: [(&str, &str); 4] = [
    ("username", "alice"),
    ("email", "Alice@example.org"),
    ("password", "correct horse"),
    ("agreement", "true"),
];

async fn sign_up(http: &TestClient, fields: &[(&str, &str)]) -> TestResponse {
    let http = http.with_header("content-type", "application/x-www-form-urlencoded");
    http.send("POST /api/v1/accounts", encode_form(fields)).await
}

/// Returns a client with an app token that may sign up users.
async fn app(service: &Service) -> TestClient {
    let client = service.register_client().await;
    service.anonymous_client().with_token(&client.obtain_app_token("write:accounts").await)
}

#[tokio::test]
async fn a_new_user_gets_a_token_with_the_non_admin_scopes_of_the_app() {
    let service = Service::start().await;
    let scopes = "read write push admin:read";
    let client =
        OAuthClient::register_with(service.anonymous_client(), "https://a.example/", scopes).await;
    let app = service.anonymous_client().with_token(&client.obtain_app_token("write").await);

    let response = sign_up(&app, &ALICE).await;

    let token = response.expect_json(StatusCode::OK);
    assert_eq!(token["token_type"], "Bearer");
    // The admin scopes that the app declared are not granted.
    assert_eq!(token["scope"], "read write push");
    assert_eq!(token["created_at"], service.now().as_second());
    let alice = service.anonymous_client().with_token(token["access_token"].as_str().unwrap());
    let account =
        alice.get("/api/v1/accounts/verify_credentials").await.expect_json(StatusCode::OK);
    assert_eq!(account["username"], "alice");
    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    assert_eq!(account.email, None);
    assert_eq!(account.unverified_email.as_deref(), Some("alice@example.org"));
    assert!(account.password.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
}

#[tokio::test]
async fn only_an_app_token_with_the_scope_may_sign_up_users() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let reader = service.anonymous_client().with_token(&client.obtain_app_token("read").await);
    let user = service.user_client_with_scopes("bob", "write").await;
    for (http, status, error) in [
        (service.anonymous_client(), 401, "The access token is invalid"),
        (reader, 403, "This action is outside the authorized scopes"),
        (user, 403, "This method requires an client credentials authentication"),
    ] {
        let response = sign_up(&http, &ALICE).await;
        assert_eq!((response.status, &response.json()["error"]), (status, &error.into()));
    }
}

#[tokio::test]
async fn sign_up_is_rejected_when_registration_is_closed() {
    let closed = config_with(|config| config.registration = RegistrationPolicy::Closed);
    let service = Service::start_with(closed).await;
    let response = sign_up(&app(&service).await, &ALICE).await;
    assert_eq!(response.status, 403);
    assert_eq!(response.json()["error"], "Registration is closed on this server");
    let instance = service.anonymous_client().get("/api/v2/instance").await.json();
    assert_eq!(instance["registrations"]["enabled"], false);
}

#[tokio::test]
async fn sign_up_errors_are_reported_per_field() {
    let service = Service::start_with(unlimited_config()).await;
    let app = app(&service).await;
    let response = sign_up(&app, &[("username", "Alice"), ("email", "a@b")]).await;
    let body = response.expect_json(StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        body["error"],
        "Validation failed: Username must contain only lowercase letters, digits and underscores; dots and hyphens are allowed except at the start or end, \
         Password can't be blank, Service agreement must be accepted"
    );
    assert_eq!(
        body["details"],
        json!({
            "username": [{
                "error": "ERR_INVALID",
                "description": "must contain only lowercase letters, digits and underscores; dots and hyphens are allowed except at the start or end",
            }],
            "password": [{ "error": "ERR_BLANK", "description": "can't be blank" }],
            "agreement": [{ "error": "ERR_ACCEPTED", "description": "must be accepted" }],
        })
    );
    let code = async |field: &str, value: &str| {
        let mut fields = ALICE;
        fields.iter_mut().find(|(name, _)| *name == field).unwrap().1 = value;
        let response = sign_up(&app, &fields).await;
        assert_eq!(response.status, 422, "{response:?}");
        response.json()["details"][field][0]["error"].as_str().unwrap().to_owned()
    };
    assert_eq!(code("password", "password123").await, "ERR_INVALID");
    assert_eq!(code("password", "alice@example.ORG").await, "ERR_INVALID");
    assert_eq!(code("password", &"a b".repeat(50)).await, "ERR_TOO_LONG");
    assert_eq!(code("password", "short").await, "ERR_TOO_SHORT");
    assert_eq!(code("username", "admin").await, "ERR_RESERVED");
    assert_eq!(code("email", "nowhere").await, "ERR_INVALID");
}

#[tokio::test]
async fn a_taken_name_is_reported_and_a_taken_email_address_is_not() {
    let service = Service::start().await;
    let app = app(&service).await;
    assert_eq!(sign_up(&app, &ALICE).await.status, 200);
    let details = async |fields: &[(&str, &str)]| {
        sign_up(&app, fields).await.expect_json(StatusCode::UNPROCESSABLE_ENTITY)["details"].clone()
    };
    let taken = json!([{ "error": "ERR_TAKEN", "description": "has already been taken" }]);
    assert_eq!(details(&ALICE).await, json!({ "username": taken }));
    // An address in use is not reported, whether from another sign-up or set by the operator.
    service.add_account("bob").await;
    for (name, email) in [("other", "alice@example.org"), ("another", "bob@example.org")] {
        let mut fields = ALICE;
        (fields[0].1, fields[1].1) = (name, email);
        assert_eq!(sign_up(&app, &fields).await.status, 200, "{name}");
    }
}

/// The address in a sign-up is not verified, so it may belong to someone else.
#[tokio::test]
async fn only_an_email_address_set_by_the_operator_can_be_used_to_sign_in() {
    let service = Service::start().await;
    assert_eq!(sign_up(&app(&service).await, &ALICE).await.status, 200);
    service.add_account("bob").await;
    for (name, password, status) in [
        ("alice", "correct horse", 303),
        ("alice", "wrong horse", 401),
        ("alice@example.org", "correct horse", 401),
        ("bob@example.org", "correct horse bob", 303),
    ] {
        let mut browser = service.browser();
        let page = browser.get("/oauth/sign_in").await;
        let fields = [("username", name), ("password", password)];
        let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
        assert_eq!(response.status, status, "{name}");
        // The response to an unknown address is the same, so nothing is disclosed.
        let has_advice = response.text.contains("use your username instead of the e-mail address");
        assert_eq!(has_advice, status == 401 && name.contains('@'), "{name}");
    }
    // A sign-up cannot take over the address of an existing account.
    let mut squatter = ALICE;
    (squatter[0].1, squatter[1].1) = ("mallory", "bob@example.org");
    assert_eq!(sign_up(&app(&service).await, &squatter).await.status, 200);
    let bob = service.store().account_by_email("bob@example.org").await.unwrap().unwrap();
    assert_eq!(bob.name, "bob");
}

#[tokio::test]
async fn a_name_may_contain_dots_and_hyphens_except_at_its_ends() {
    let service = Service::start_with(unlimited_config()).await;
    let app = app(&service).await;
    let mut fields = ALICE;
    fields[0].1 = "al.ice-b";
    let token = sign_up(&app, &fields).await.expect_json(StatusCode::OK);
    let alice = service.anonymous_client().with_token(token["access_token"].as_str().unwrap());
    let whoami = alice.get("/_matrix/client/v3/account/whoami").await.expect_json(StatusCode::OK);
    assert_eq!(whoami["user_id"], "@al.ice-b:ring.example");
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    let sign_in = [("username", "al.ice-b"), ("password", "correct horse")];
    assert_eq!(browser.submit(&page, "/oauth/sign_in", &sign_in).await.status, 303);
    for wrong in [".alice", "alice-", "a/b"] {
        fields[0].1 = wrong;
        assert_eq!(sign_up(&app, &fields).await.status, 422, "{wrong}");
    }
}

#[tokio::test]
async fn an_account_has_the_fields_that_mastodon_clients_expect() {
    let service = Service::start().await;
    let alice = service.user_client_with_scopes("alice", "read:accounts").await;
    let account =
        alice.get("/api/v1/accounts/verify_credentials").await.expect_json(StatusCode::OK);
    assert!(account["id"].as_str().unwrap().parse::<i64>().is_ok());
    for (key, value) in [
        ("username", json!("alice")),
        ("acct", json!("alice")),
        ("url", json!("https://ring.example/@alice")),
        ("created_at", json!("2027-01-15T00:00:00.000Z")),
        ("locked", json!(false)),
        ("followers_count", json!(0)),
        ("emojis", json!([])),
        ("fields", json!([])),
    ] {
        assert_eq!(account[key], value, "{key}");
    }
    for key in ["note", "avatar", "avatar_static", "header", "header_static", "last_status_at"] {
        assert!(account.get(key).is_some(), "{key}");
    }
    assert_eq!(account["source"]["privacy"], "public");
    assert_eq!(account["role"]["permissions"], "0");
    let picture = account["avatar"].as_str().unwrap().strip_prefix("https://ring.example").unwrap();
    assert_eq!(
        service.anonymous_client().get(picture).await.header("content-type"),
        "image/svg+xml"
    );
}

#[tokio::test]
async fn each_token_error_has_its_message_and_challenge() {
    let service = Service::start().await;
    let path = "/api/v1/accounts/verify_credentials";
    let realm = "Bearer realm=\"belfry\"";
    let invalid = format!(
        "{realm}, error=\"invalid_token\", error_description=\"The access token is invalid\""
    );
    let expect = async |http: &TestClient, status: u16, error: &str, challenge: &str| {
        let response = http.get(path).await;
        assert_eq!((response.status, response.json()), (status, json!({ "error": error })));
        assert_eq!(response.header("www-authenticate"), challenge);
    };
    let anonymous = service.anonymous_client();
    // Without a token the challenge has no error code (RFC 6750, section 3.1).
    expect(&anonymous, 401, "The access token is invalid", realm).await;
    for header in ["", "Bearer", "Bearer ", "Basic YTpi", "nope"] {
        let http = anonymous.with_header("authorization", header);
        expect(&http, 401, "The access token is invalid", realm).await;
    }
    for header in ["Bearer nope", "Bearer  nope", "Bearer a b", "bearer \"x\""] {
        let http = anonymous.with_header("authorization", header);
        expect(&http, 401, "The access token is invalid", &invalid).await;
    }
    let alice = service.user_client_with_scopes("alice", "read").await;
    expect(&alice.with_token("other"), 401, "The access token is invalid", &invalid).await;
    let upper_case = anonymous.with_header("authorization", &format!("BEARER {}", alice.token()));
    assert_eq!(upper_case.get(path).await.status, 200);

    let reader = service.user_client_with_scopes("alice", "read:statuses").await;
    let response = reader.get(path).await;
    let lacks = "This token lacks the scope profile or read:accounts";
    let outside = "This action is outside the authorized scopes";
    let body = json!({ "error": outside, "error_description": lacks });
    assert_eq!((response.status, response.json()), (403, body));
    let challenge = format!(
        "{realm}, error=\"insufficient_scope\", error_description=\"{lacks}\", scope=\"profile\""
    );
    assert_eq!(response.header("www-authenticate"), challenge);
    let app = anonymous.with_token(service.issue_token(None, "read").await.reveal());
    // An app token has no user.
    expect(&app, 422, "This method requires an authenticated user", "").await;

    let token = belfry_core::secret::SplitToken::parse(alice.token()).unwrap().hashed().lookup;
    service.store().revoke_token(&any_events(), token, service.now()).await.unwrap();
    let revoked = invalid.replace("is invalid", "was revoked");
    expect(&alice, 401, "The access token was revoked", &revoked).await;

    let bob = service.user_client_with_scopes("bob", "read").await;
    let id = service.store().account_by_name("bob").await.unwrap().unwrap().id;
    service.store().set_account_disabled_at(&any_events(), id, Some(service.now())).await.unwrap();
    expect(&bob, 403, "Your login is currently disabled", "").await;
}

#[tokio::test]
async fn userinfo_requires_the_scope_profile() {
    let service = Service::start().await;
    let alice = service.user_client_with_scopes("alice", "profile").await;
    for method in ["GET", "POST"] {
        let response = alice.send(&format!("{method} /oauth/userinfo"), "").await;
        let info = response.expect_json(StatusCode::OK);
        let id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
        assert_eq!(info["iss"], "https://ring.example/");
        // The subject cannot be confused with a client ID.
        assert_eq!(info["sub"], format!("https://ring.example/users/{id}"));
        assert_eq!(info["preferred_username"], "alice");
        assert_eq!(info["profile"], "https://ring.example/@alice");
        let profile = service.anonymous_client().get("/@alice").await;
        assert_eq!((profile.status, profile.header("location")), (303, "/oauth/account"));
        assert_ne!(info["picture"], Value::Null);
    }
    let reader = service.user_client_with_scopes("alice", "read").await;
    let response = reader.get("/oauth/userinfo").await;
    assert_eq!(response.status, 403);
    let error = json!({
        "error": "This action is outside the authorized scopes",
        "error_description": "This token lacks the scope profile",
    });
    assert_eq!(response.json(), error);
}

#[tokio::test]
async fn a_name_of_an_application_service_is_reserved() {
    let settings = "[[application_services]]\n\
        id = 'irc'\nurl = ''\nas_token = 'as'\nhs_token = 'hs'\nsender_localpart = 'irc_bot'\n\
        namespaces.users = [{ exclusive = true, regex = '@irc_.*' }]\n";
    let service = Service::start_with(toml::from_str(settings).unwrap()).await;
    let mut bridged = ALICE;
    bridged[0].1 = "irc_ann";
    let response = sign_up(&app(&service).await, &bridged).await;
    let details = &response.expect_json(StatusCode::UNPROCESSABLE_ENTITY)["details"];
    assert_eq!(details["username"][0]["error"], "ERR_RESERVED");
}
