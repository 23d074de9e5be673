//! `POST /api/v1/accounts`, `GET /api/v1/accounts/verify_credentials`, `/oauth/userinfo`, and what
//! becomes of tokens that are no good.

use axum::http::StatusCode;
use belfry::config::RegistrationPolicy;
use serde_json::{Value, json};

use crate::support::browser::form;
use crate::support::service::{config, unlimited};
use crate::support::{Answer, Caller, Client, Service};

const ALICE: [(&str, &str); 4] = [
    ("username", "alice"),
    ("email", "Alice@example.org"),
    ("password", "correct horse"),
    ("agreement", "true"),
];

async fn sign_up(caller: &Caller, fields: &[(&str, &str)]) -> Answer {
    let caller = caller.with("content-type", "application/x-www-form-urlencoded");
    caller.call("POST /api/v1/accounts", form(fields)).await
}

/// An app that may sign people up.
async fn app(service: &Service) -> Caller {
    let client = service.client().await;
    service.anyone().bearing(&client.own_token("write:accounts").await)
}

#[tokio::test]
async fn who_signs_up_gets_a_token_with_the_scopes_that_the_app_declared() {
    let service = Service::start().await;
    let scopes = "read write push admin:read";
    let client = Client::register_with(service.anyone(), "https://a.example/", scopes).await;
    let app = service.anyone().bearing(&client.own_token("write").await);

    let answer = sign_up(&app, &ALICE).await;

    let token = answer.expect(StatusCode::OK);
    assert_eq!(token["token_type"], "Bearer");
    // Attack 29: the scopes of admins are not among them.
    assert_eq!(token["scope"], "read write push");
    assert_eq!(token["created_at"], service.now().as_second());
    let alice = service.anyone().bearing(token["access_token"].as_str().unwrap());
    let account = alice.get("/api/v1/accounts/verify_credentials").await.expect(StatusCode::OK);
    assert_eq!(account["username"], "alice");
    let kept = service.store().account_by_name("alice").await.unwrap().unwrap();
    assert_eq!(kept.email.as_deref(), Some("alice@example.org"));
    assert!(kept.password.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "attack 113");
}

#[tokio::test]
async fn only_an_app_with_the_scope_signs_people_up() {
    let service = Service::start().await;
    let client = service.client().await;
    let reader = service.anyone().bearing(&client.own_token("read").await);
    let person = service.person_with("bob", "write").await;
    for (caller, status, error) in [
        (service.anyone(), 401, "The access token is invalid"),
        (reader, 403, "This action is outside the authorized scopes"),
        (person, 403, "This method requires an client credentials authentication"),
    ] {
        let answer = sign_up(&caller, &ALICE).await;
        assert_eq!((answer.status, answer.json()), (status, json!({ "error": error })));
    }
}

#[tokio::test]
async fn nobody_signs_up_where_registration_is_closed() {
    let closed = config(|config| config.registration = RegistrationPolicy::Closed);
    let service = Service::with(closed).await;
    let answer = sign_up(&app(&service).await, &ALICE).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.json()["error"], "Registration is closed on this server");
    let instance = service.anyone().get("/api/v2/instance").await.json();
    assert_eq!(instance["registrations"]["enabled"], false);
}

// Attacks 114 and 116.
#[tokio::test]
async fn what_is_wrong_with_a_sign_up_is_told_field_by_field() {
    let service = Service::with(unlimited()).await;
    let app = app(&service).await;
    let answer = sign_up(&app, &[("username", "Alice"), ("email", "a@b")]).await;
    let body = answer.expect(StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        body["error"],
        "Validation failed: Username must contain only small letters, numbers and underscores, \
         Password can't be blank, Service agreement must be accepted"
    );
    assert_eq!(
        body["details"],
        json!({
            "username": [{
                "error": "ERR_INVALID",
                "description": "must contain only small letters, numbers and underscores",
            }],
            "password": [{ "error": "ERR_BLANK", "description": "can't be blank" }],
            "agreement": [{ "error": "ERR_ACCEPTED", "description": "must be accepted" }],
        })
    );
    let code = async |field: &str, value: &str| {
        let mut fields = ALICE;
        fields.iter_mut().find(|(name, _)| *name == field).unwrap().1 = value;
        let answer = sign_up(&app, &fields).await;
        assert_eq!(answer.status, 422, "{answer:?}");
        answer.json()["details"][field][0]["error"].as_str().unwrap().to_owned()
    };
    assert_eq!(code("password", "password123").await, "ERR_INVALID");
    assert_eq!(code("password", &"a b".repeat(50)).await, "ERR_TOO_LONG");
    assert_eq!(code("password", "short").await, "ERR_TOO_SHORT");
    assert_eq!(code("username", "admin").await, "ERR_RESERVED");
    assert_eq!(code("email", "nowhere").await, "ERR_INVALID");
}

#[tokio::test]
async fn a_name_and_an_address_are_taken_once() {
    let service = Service::start().await;
    let app = app(&service).await;
    assert_eq!(sign_up(&app, &ALICE).await.status, 200);
    let details = async |fields: &[(&str, &str)]| {
        sign_up(&app, fields).await.expect(StatusCode::UNPROCESSABLE_ENTITY)["details"].clone()
    };
    let taken = json!([{ "error": "ERR_TAKEN", "description": "has already been taken" }]);
    assert_eq!(details(&ALICE).await, json!({ "username": taken }));
    let mut other = ALICE;
    other[0].1 = "other";
    assert_eq!(details(&other).await, json!({ "email": taken }));
}

#[tokio::test]
async fn an_account_is_what_clients_of_mastodon_expect() {
    let service = Service::start().await;
    let alice = service.person_with("alice", "read:accounts").await;
    let account = alice.get("/api/v1/accounts/verify_credentials").await.expect(StatusCode::OK);
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
    assert_eq!(service.anyone().get(picture).await.header("content-type"), "image/svg+xml");
}

/// Every way in which a token is no good.
#[tokio::test]
async fn a_failure_of_a_token_says_which_and_how_to_mend_it() {
    let service = Service::start().await;
    let path = "/api/v1/accounts/verify_credentials";
    let realm = "Bearer realm=\"belfry\"";
    let invalid = format!(
        "{realm}, error=\"invalid_token\", error_description=\"The access token is invalid\""
    );
    let expect = async |caller: &Caller, status: u16, error: &str, challenge: &str| {
        let answer = caller.get(path).await;
        assert_eq!((answer.status, answer.json()), (status, json!({ "error": error })));
        assert_eq!(answer.header("www-authenticate"), challenge);
    };
    let anyone = service.anyone();
    // Attack 85: no token, no error code.
    expect(&anyone, 401, "The access token is invalid", realm).await;
    // Attacks 65, 86 and 88.
    for header in ["", "Bearer", "Bearer ", "Basic YTpi", "nope"] {
        let caller = anyone.with("authorization", header);
        expect(&caller, 401, "The access token is invalid", realm).await;
    }
    for header in ["Bearer nope", "Bearer  nope", "Bearer a b", "bearer \"x\""] {
        let caller = anyone.with("authorization", header);
        expect(&caller, 401, "The access token is invalid", &invalid).await;
    }
    let alice = service.person_with("alice", "read").await;
    expect(&alice.bearing("other"), 401, "The access token is invalid", &invalid).await;
    let loud = anyone.with("authorization", &format!("BEARER {}", alice.token()));
    assert_eq!(loud.get(path).await.status, 200);

    let reader = service.person_with("alice", "read:statuses").await;
    expect(&reader, 403, "This action is outside the authorized scopes", "").await;
    let app = anyone.bearing(service.issue(None, "read").await.reveal());
    // Attack 58.
    expect(&app, 422, "This method requires an authenticated user", "").await;

    let digest = belfry_core::secret::Secret::new(alice.token()).digest();
    service.store().revoke_token(digest, service.now()).await.unwrap();
    let revoked = invalid.replace("is invalid", "was revoked");
    expect(&alice, 401, "The access token was revoked", &revoked).await;

    let bob = service.person_with("bob", "read").await;
    let id = service.store().account_by_name("bob").await.unwrap().unwrap().id;
    service.store().disable_account(id, Some(service.now())).await.unwrap();
    expect(&bob, 403, "Your login is currently disabled", "").await;
}

#[tokio::test]
async fn userinfo_is_for_the_scope_profile_alone() {
    let service = Service::start().await;
    let alice = service.person_with("alice", "profile").await;
    for method in ["GET", "POST"] {
        let answer = alice.call(&format!("{method} /oauth/userinfo"), "").await;
        let info = answer.expect(StatusCode::OK);
        let id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
        assert_eq!(info["iss"], "https://ring.example/");
        // Attack 81: no client is named like this.
        assert_eq!(info["sub"], format!("https://ring.example/users/{id}"));
        assert_eq!(info["preferred_username"], "alice");
        assert_eq!(info["profile"], "https://ring.example/@alice");
        assert_ne!(info["picture"], Value::Null);
    }
    let reader = service.person_with("alice", "read").await;
    let answer = reader.get("/oauth/userinfo").await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.json(), json!({ "error": "This action is outside the authorized scopes" }));
}

#[tokio::test]
async fn a_name_that_an_application_service_keeps_is_reserved() {
    let settings = "[[application_services]]\n\
        id = 'irc'\nurl = ''\nas_token = 'as'\nhs_token = 'hs'\nsender_localpart = 'irc_bot'\n\
        namespaces.users = [{ exclusive = true, regex = '@irc_.*' }]\n";
    let service = Service::with(toml::from_str(settings).unwrap()).await;
    let mut bridged = ALICE;
    bridged[0].1 = "irc_ann";
    let answer = sign_up(&app(&service).await, &bridged).await;
    let details = &answer.expect(StatusCode::UNPROCESSABLE_ENTITY)["details"];
    assert_eq!(details["username"][0]["error"], "ERR_RESERVED");
}
