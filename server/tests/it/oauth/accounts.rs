//! `POST /api/v1/accounts`, `GET /api/v1/accounts/verify_credentials`, `/oauth/userinfo`, and
//! responses to invalid tokens.

use axum::http::StatusCode;
use belfry::config::RegistrationPolicy;
use serde_json::{Value, json};

use crate::support::browser::encode_form;
use crate::support::service::{config_with, unlimited_config};
use crate::support::{OAuthClient, Service, TestClient, TestResponse, any_events};

const ALICE_FIELDS: [(&str, &str); 4] = [
    ("username", "alice"),
    ("email", "Alice@example.org"),
    ("password", "correct horse"),
    ("agreement", "true"),
];

async fn sign_up(client: &TestClient, fields: &[(&str, &str)]) -> TestResponse {
    let form_client = client.with_header("content-type", "application/x-www-form-urlencoded");
    form_client.send("POST /api/v1/accounts", encode_form(fields)).await
}

/// Returns a client with an app token that may sign up users.
async fn app_client(service: &Service) -> TestClient {
    let client = service.register_client().await;
    service.anonymous_client().with_token(&client.obtain_app_token("write:accounts").await)
}

#[tokio::test]
async fn a_new_user_gets_a_token_with_the_apps_non_admin_scopes() {
    let service = Service::start().await;
    let scopes = "read write push admin:read";
    let client =
        OAuthClient::register_with(service.anonymous_client(), "https://a.example/", scopes).await;
    let app_client = service.anonymous_client().with_token(&client.obtain_app_token("write").await);

    let response = sign_up(&app_client, &ALICE_FIELDS).await;

    let token = response.expect_json(StatusCode::OK);
    assert_eq!(token["token_type"], "Bearer");
    // The admin scopes that the app registered are not granted.
    assert_eq!(token["scope"], "read write push");
    assert_eq!(token["created_at"], service.now().as_second());
    let alice = service.anonymous_client().with_token(token["access_token"].as_str().unwrap());
    let account =
        alice.get("/api/v1/accounts/verify_credentials").await.expect_json(StatusCode::OK);
    assert_eq!(account["username"], "alice");
    let account = service.store().account_by_name("alice").await.unwrap().unwrap();
    assert_eq!(account.email, None);
    assert_eq!(account.unverified_email.as_deref(), Some("alice@example.org"));
    assert!(account.password_hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
}

#[tokio::test]
async fn only_an_app_token_with_the_scope_may_sign_up_users() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let reader = service.anonymous_client().with_token(&client.obtain_app_token("read").await);
    let user = service.user_client_with_scopes("bob", "write").await;
    for (client, status, error) in [
        (service.anonymous_client(), 401, "The access token is invalid"),
        (reader, 403, "This action is outside the authorized scopes"),
        (user, 403, "This method requires an client credentials authentication"),
    ] {
        let response = sign_up(&client, &ALICE_FIELDS).await;
        assert_eq!((response.status, &response.json()["error"]), (status, &error.into()));
    }
}

#[tokio::test]
async fn sign_up_is_rejected_when_registration_is_closed() {
    let closed_config = config_with(|config| config.registration = RegistrationPolicy::Closed);
    let service = Service::start_with(closed_config).await;
    let response = sign_up(&app_client(&service).await, &ALICE_FIELDS).await;
    assert_eq!(response.status, 403);
    assert_eq!(response.json()["error"], "Registration is closed on this server");
    let instance = service.anonymous_client().get("/api/v2/instance").await.json();
    assert_eq!(instance["registrations"]["enabled"], false);
}

#[tokio::test]
async fn sign_up_errors_are_reported_per_field() {
    let service = Service::start_with(unlimited_config()).await;
    let app_client = app_client(&service).await;
    let response = sign_up(&app_client, &[("username", "Alice"), ("email", "a@b")]).await;
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
    let sign_up_error = async |field: &str, value: &str| {
        let mut fields = ALICE_FIELDS;
        fields.iter_mut().find(|(name, _)| *name == field).unwrap().1 = value;
        let response = sign_up(&app_client, &fields).await;
        assert_eq!(response.status, 422, "{response:?}");
        response.json()["details"][field][0]["error"].as_str().unwrap().to_owned()
    };
    assert_eq!(sign_up_error("password", "password123").await, "ERR_INVALID");
    assert_eq!(sign_up_error("password", "alice@example.ORG").await, "ERR_INVALID");
    assert_eq!(sign_up_error("password", &"a b".repeat(50)).await, "ERR_TOO_LONG");
    assert_eq!(sign_up_error("password", "short").await, "ERR_TOO_SHORT");
    assert_eq!(sign_up_error("username", "admin").await, "ERR_RESERVED");
    assert_eq!(sign_up_error("email", "nowhere").await, "ERR_INVALID");
}

#[tokio::test]
async fn a_taken_name_is_reported_and_a_taken_email_address_is_not() {
    let service = Service::start().await;
    let app_client = app_client(&service).await;
    assert_eq!(sign_up(&app_client, &ALICE_FIELDS).await.status, 200);
    let sign_up_details = async |fields: &[(&str, &str)]| {
        sign_up(&app_client, fields).await.expect_json(StatusCode::UNPROCESSABLE_ENTITY)["details"]
            .clone()
    };
    let taken_error = json!([{ "error": "ERR_TAKEN", "description": "has already been taken" }]);
    assert_eq!(sign_up_details(&ALICE_FIELDS).await, json!({ "username": taken_error }));
    // An address in use is not reported, whether from another sign-up or set by the operator.
    service.add_account("bob").await;
    for (name, email) in [("other", "alice@example.org"), ("another", "bob@example.org")] {
        let mut fields = ALICE_FIELDS;
        (fields[0].1, fields[1].1) = (name, email);
        assert_eq!(sign_up(&app_client, &fields).await.status, 200, "{name}");
    }
}

/// The address in a sign-up is not verified, so it may belong to someone else.
#[tokio::test]
async fn only_an_email_address_set_by_the_operator_can_be_used_to_sign_in() {
    let service = Service::start().await;
    assert_eq!(sign_up(&app_client(&service).await, &ALICE_FIELDS).await.status, 200);
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
    let mut mallory_fields = ALICE_FIELDS;
    (mallory_fields[0].1, mallory_fields[1].1) = ("mallory", "bob@example.org");
    assert_eq!(sign_up(&app_client(&service).await, &mallory_fields).await.status, 200);
    let bob = service.store().account_by_email("bob@example.org").await.unwrap().unwrap();
    assert_eq!(bob.name, "bob");
}

#[tokio::test]
async fn a_name_may_contain_dots_and_hyphens_except_at_its_ends() {
    let service = Service::start_with(unlimited_config()).await;
    let app_client = app_client(&service).await;
    let mut fields = ALICE_FIELDS;
    fields[0].1 = "al.ice-b";
    let token = sign_up(&app_client, &fields).await.expect_json(StatusCode::OK);
    let alice = service.anonymous_client().with_token(token["access_token"].as_str().unwrap());
    let whoami = alice.get("/_matrix/client/v3/account/whoami").await.expect_json(StatusCode::OK);
    assert_eq!(whoami["user_id"], "@al.ice-b:ring.example");
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    let credentials = [("username", "al.ice-b"), ("password", "correct horse")];
    assert_eq!(browser.submit(&page, "/oauth/sign_in", &credentials).await.status, 303);
    for invalid_name in [".alice", "alice-", "a/b"] {
        fields[0].1 = invalid_name;
        assert_eq!(sign_up(&app_client, &fields).await.status, 422, "{invalid_name}");
    }
}

#[tokio::test]
async fn each_token_error_has_its_message_and_challenge() {
    let service = Service::start().await;
    let path = "/api/v1/accounts/verify_credentials";
    let realm = "Bearer realm=\"belfry\"";
    let invalid_challenge = format!(
        "{realm}, error=\"invalid_token\", error_description=\"The access token is invalid\""
    );
    let assert_error = async |client: &TestClient, status: u16, error: &str, challenge: &str| {
        let response = client.get(path).await;
        assert_eq!((response.status, response.json()), (status, json!({ "error": error })));
        assert_eq!(response.header("www-authenticate"), challenge);
    };
    let anonymous = service.anonymous_client();
    // Without a token the challenge has no error code (RFC 6750, section 3.1).
    assert_error(&anonymous, 401, "The access token is invalid", realm).await;
    for header in ["", "Bearer", "Bearer ", "Basic YTpi", "nope"] {
        let client = anonymous.with_header("authorization", header);
        assert_error(&client, 401, "The access token is invalid", realm).await;
    }
    for header in ["Bearer nope", "Bearer  nope", "Bearer a b", "bearer \"x\""] {
        let client = anonymous.with_header("authorization", header);
        assert_error(&client, 401, "The access token is invalid", &invalid_challenge).await;
    }
    let alice = service.user_client_with_scopes("alice", "read").await;
    assert_error(
        &alice.with_token("other"),
        401,
        "The access token is invalid",
        &invalid_challenge,
    )
    .await;
    let upper_case_client =
        anonymous.with_header("authorization", &format!("BEARER {}", alice.token()));
    assert_eq!(upper_case_client.get(path).await.status, 200);

    let reader = service.user_client_with_scopes("alice", "read:statuses").await;
    let response = reader.get(path).await;
    let reason = "This token lacks the scope profile or read:accounts";
    let error = "This action is outside the authorized scopes";
    let body = json!({ "error": error, "error_description": reason });
    assert_eq!((response.status, response.json()), (403, body));
    let challenge = format!(
        "{realm}, error=\"insufficient_scope\", error_description=\"{reason}\", scope=\"profile\""
    );
    assert_eq!(response.header("www-authenticate"), challenge);
    let app_client = anonymous.with_token(service.issue_token(None, "read").await.reveal());
    // An app token has no user.
    assert_error(&app_client, 422, "This method requires an authenticated user", "").await;

    let lookup =
        belfry_core::secret::SplitToken::parse(alice.token()).unwrap().hashed_secret().lookup_key;
    service.store().revoke_token(&any_events(), lookup, service.now()).await.unwrap();
    let revoked_challenge = invalid_challenge.replace("is invalid", "was revoked");
    assert_error(&alice, 401, "The access token was revoked", &revoked_challenge).await;

    let bob = service.user_client_with_scopes("bob", "read").await;
    let id = service.store().account_by_name("bob").await.unwrap().unwrap().id;
    service.store().set_account_disabled_at(&any_events(), id, Some(service.now())).await.unwrap();
    assert_error(&bob, 403, "Your login is currently disabled", "").await;
}

#[tokio::test]
async fn userinfo_requires_the_scope_profile() {
    let service = Service::start().await;
    let alice = service.user_client_with_scopes("alice", "profile").await;
    for method in ["GET", "POST"] {
        let response = alice.send(&format!("{method} /oauth/userinfo"), "").await;
        let userinfo = response.expect_json(StatusCode::OK);
        let id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
        assert_eq!(userinfo["iss"], "https://ring.example/");
        // The subject cannot be confused with a client ID.
        assert_eq!(userinfo["sub"], format!("https://ring.example/users/{id}"));
        assert_eq!(userinfo["preferred_username"], "alice");
        assert_eq!(userinfo["profile"], "https://ring.example/@alice");
        let profile = service.anonymous_client().get("/@alice").await;
        assert_eq!((profile.status, profile.header("location")), (303, "/oauth/account"));
        assert_ne!(userinfo["picture"], Value::Null);
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
async fn a_name_in_an_application_services_namespace_is_reserved() {
    let settings = "[[application_services]]\n\
        id = 'irc'\nurl = ''\nas_token = 'as'\nhs_token = 'hs'\nsender_localpart = 'irc_bot'\n\
        namespaces.users = [{ exclusive = true, regex = '@irc_.*' }]\n";
    let service = Service::start_with(toml::from_str(settings).unwrap()).await;
    let mut bridged_fields = ALICE_FIELDS;
    bridged_fields[0].1 = "irc_ann";
    let response = sign_up(&app_client(&service).await, &bridged_fields).await;
    let details = &response.expect_json(StatusCode::UNPROCESSABLE_ENTITY)["details"];
    assert_eq!(details["username"][0]["error"], "ERR_RESERVED");
}
