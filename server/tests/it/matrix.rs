//! What Matrix clients ask beside the push rules.

use std::time::Duration;

use axum::http::StatusCode;
use belfry::config::RegistrationPolicy;
use serde_json::{Value, json};

use crate::rules::{at, service};
use crate::support::service::config;
use crate::support::{Answer, Caller, Service};

const CLIENT: &str = "/_matrix/client/v3";

async fn post(caller: &Caller, path: &str, body: &Value) -> Answer {
    caller.call(&format!("POST {CLIENT}/{path}"), body.to_string()).await
}

fn password(user: &str, password: &str) -> Value {
    let identifier = json!({ "type": "m.id.user", "user": user });
    json!({ "type": "m.login.password", "identifier": identifier, "password": password })
}

fn new(name: &str) -> Value {
    json!({ "username": name, "password": "correct horse", "auth": { "type": "m.login.dummy" } })
}

#[tokio::test]
async fn versions_are_told_to_anybody() {
    let service = service().await;
    for path in
        ["/_matrix/client/versions", "/_service/client/versions", "/_matrix/client/r0/versions"]
    {
        let body = service.anyone().get(path).await.expect(StatusCode::OK);
        let versions = body["versions"].as_array().unwrap();
        for version in ["r0.6.1", "v1.1", "v1.11"] {
            assert!(versions.contains(&json!(version)), "{path}: {version}");
        }
        assert_eq!(body["unstable_features"], json!({}), "{path}");
    }
}

#[tokio::test]
async fn the_way_to_sign_in_is_a_password() {
    let service = service().await;
    let answer = service.anyone().get(&format!("{CLIENT}/login")).await;
    assert_eq!(answer.expect(StatusCode::OK), json!({ "flows": [{ "type": "m.login.password" }] }));
}

#[tokio::test]
async fn a_password_gives_a_token_that_opens_the_rules() {
    let service = service().await;
    service.add_account("alice").await;
    let legacy =
        json!({ "type": "m.login.password", "user": "alice", "password": "correct horse alice" });
    for body in [
        password("alice", "correct horse alice"),
        password("@alice:ring.example", "correct horse alice"),
        legacy,
    ] {
        let answer = post(&service.anyone(), "login", &body).await.expect(StatusCode::OK);
        assert_eq!(answer["user_id"], "@alice:ring.example");
        assert_eq!(answer["home_server"], "ring.example");
        assert_eq!(answer["device_id"].as_str().unwrap().len(), 10);
        let alice = service.anyone().bearing(answer["access_token"].as_str().unwrap());
        alice.puts("global/room/a", &json!({ "actions": [] })).await;
        assert_eq!(alice.own("global/room/").await, ["a"]);
    }
}

#[tokio::test]
async fn a_client_keeps_the_name_of_its_device() {
    let service = service().await;
    service.add_account("alice").await;
    let mut body = password("alice", "correct horse alice");
    body["device_id"] = json!("PHONE");
    let answer = post(&service.anyone(), "login", &body).await;
    assert_eq!(answer.json()["device_id"], "PHONE");
}

/// Attack 112: an unknown user and a wrong password are answered alike.
#[tokio::test]
async fn a_wrong_name_or_password_is_forbidden_in_the_same_words() {
    let service = service().await;
    service.add_account("alice").await;
    let mut texts = Vec::new();
    for (user, secret) in [
        ("alice", "wrong"),
        ("alice", ""),
        ("nobody", "correct horse alice"),
        ("@alice:elsewhere.example", "correct horse alice"),
        ("", "correct horse alice"),
        ("Alice", "correct horse alice"),
        ("alice\0", "correct horse alice"),
    ] {
        let answer = post(&service.anyone(), "login", &password(user, secret)).await;
        assert_eq!(answer.errcode(), (403, "M_FORBIDDEN".into()), "{user:?}");
        texts.push(answer.text);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
}

/// Attacks 112 and 117.
#[tokio::test]
async fn too_many_attempts_are_refused_at_their_address_and_nowhere_else() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let (anyone, right) = (service.anyone(), password("alice", "correct horse alice"));
    for attempt in 0..25 {
        // An unknown name counts like a known one.
        let name = if attempt % 2 == 0 { "alice" } else { "nobody" };
        let answer = post(&anyone, "login", &password(name, "wrong")).await;
        assert_eq!(answer.errcode(), (403, "M_FORBIDDEN".into()));
        assert_eq!(answer.header("x-ratelimit-remaining"), (24 - attempt).to_string());
    }
    let refused = post(&anyone, "login", &right).await;
    assert_eq!(refused.errcode(), (429, "M_LIMIT_EXCEEDED".into()));
    assert_eq!(refused.json()["retry_after_ms"], 300_000);
    assert_eq!(refused.header("retry-after"), "300");
    assert_eq!(refused.header("x-ratelimit-limit"), "25");
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    let told = r#""ip";r=274;t=300, "sign_in_address";r=0;t=300, "sign_in_name";r=12;t=3600"#;
    assert_eq!(refused.header("ratelimit"), told);

    let elsewhere = anyone.at(crate::support::caller::address(9));
    assert_eq!(post(&elsewhere, "login", &right).await.status, 200);
    service.clock.advance(300);
    assert_eq!(post(&anyone, "login", &right).await.status, 200);
}

#[tokio::test]
async fn when_the_app_of_matrix_clients_is_disabled_nobody_gets_a_token_that_never_works() {
    let service = service().await;
    let anyone = service.anyone();
    assert_eq!(post(&anyone, "register", &new("alice")).await.status, 200);
    let app = service.store().app_by_client_id("matrix").await.unwrap().unwrap().id;
    service.store().disable_app(app, Some(service.now())).await.unwrap();

    let mut without_token = new("bob");
    without_token["inhibit_login"] = json!(true);
    for (path, body) in [
        ("login", password("alice", "correct horse")),
        ("register", new("bob")),
        ("register", without_token),
        ("register", json!({})),
    ] {
        let answer = post(&anyone, path, &body).await;
        assert_eq!(answer.errcode(), (403, "M_FORBIDDEN".into()), "{path} {body}");
        assert!(answer.text.contains("operator has disabled"), "{answer:?}");
    }
    assert!(service.store().account_by_name("bob").await.unwrap().is_none());

    service.store().disable_app(app, None).await.unwrap();
    assert_eq!(post(&anyone, "login", &password("alice", "correct horse")).await.status, 200);
}

#[tokio::test]
async fn a_login_that_is_not_understood_is_refused() {
    let service = service().await;
    for (body, code) in [
        ("", "M_NOT_JSON"),
        ("[]", "M_BAD_JSON"),
        ("{}", "M_MISSING_PARAM"),
        (r#"{"type":"m.login.token","token":"x"}"#, "M_UNKNOWN"),
        (r#"{"type":"m.login.password","password":"x"}"#, "M_MISSING_PARAM"),
        (r#"{"type":"m.login.password","user":"a"}"#, "M_MISSING_PARAM"),
        (r#"{"type":"m.login.password","user":1,"password":"x"}"#, "M_BAD_JSON"),
        (
            r#"{"type":"m.login.password","identifier":{"type":"m.id.phone"},"password":"x"}"#,
            "M_UNKNOWN",
        ),
    ] {
        let answer = service.anyone().call(&format!("POST {CLIENT}/login"), body).await;
        assert_eq!(answer.errcode(), (400, code.into()), "{body}");
    }
}

#[tokio::test]
async fn a_disabled_account_cannot_sign_in_and_only_its_owner_is_told_why() {
    let service = service().await;
    let id = service.add_account("alice").await;
    service.store().disable_account(id, Some(service.now())).await.unwrap();
    let right = post(&service.anyone(), "login", &password("alice", "correct horse alice")).await;
    assert_eq!(right.errcode(), (403, "M_USER_DEACTIVATED".into()));
    let wrong = post(&service.anyone(), "login", &password("alice", "wrong")).await;
    assert_eq!(wrong.errcode(), (403, "M_FORBIDDEN".into()));
}

#[tokio::test]
async fn whoami_names_the_user_of_any_token() {
    let service = service().await;
    let alice = service.person_with("alice", "profile").await;
    let answer = alice.get(&format!("{CLIENT}/account/whoami")).await.expect(StatusCode::OK);
    assert_eq!(answer, json!({ "user_id": "@alice:ring.example", "is_guest": false }));
    let nobody = service.anyone().get(&format!("{CLIENT}/account/whoami")).await;
    assert_eq!(nobody.errcode(), (401, "M_MISSING_TOKEN".into()));
}

#[tokio::test]
async fn logout_revokes_the_token_and_no_other() {
    let service = service().await;
    let (one, other) = (service.person("alice").await, service.person("alice").await);
    assert_eq!(one.get(&at("")).await.status, 200);
    let answer = post(&one, "logout", &json!({})).await;
    assert_eq!(answer.expect(StatusCode::OK), json!({}));
    assert_eq!(one.get(&at("")).await.errcode(), (401, "M_UNKNOWN_TOKEN".into()));
    assert_eq!(post(&one, "logout", &json!({})).await.status, 401);
    assert_eq!(other.get(&at("")).await.status, 200);
}

#[tokio::test]
async fn a_registration_asks_for_its_one_stage_and_then_makes_the_account() {
    let service = service().await;
    let anyone = service.anyone();
    let mut body = json!({ "username": "alice", "password": "correct horse" });
    let asked = post(&anyone, "register", &body).await.expect(StatusCode::UNAUTHORIZED);
    assert_eq!(asked["flows"], json!([{ "stages": ["m.login.dummy"] }]));
    assert_eq!(asked["params"], json!({}));
    assert_eq!(asked.get("errcode"), None);
    assert!(service.store().account_by_name("alice").await.unwrap().is_none());

    body["auth"] = json!({ "type": "m.login.dummy", "session": asked["session"] });
    let made = post(&anyone, "register", &body).await.expect(StatusCode::OK);
    assert_eq!(made["user_id"], "@alice:ring.example");
    assert!(made["device_id"].is_string());
    let alice = anyone.bearing(made["access_token"].as_str().unwrap());
    assert_eq!(alice.get(&at("")).await.status, 200);
    let login = post(&anyone, "login", &password("alice", "correct horse")).await;
    assert_eq!(login.status, 200);
}

#[tokio::test]
async fn a_registration_can_do_without_a_token_or_a_name() {
    let service = service().await;
    let mut body = new("alice");
    body["inhibit_login"] = json!(true);
    let made = post(&service.anyone(), "register", &body).await.expect(StatusCode::OK);
    assert_eq!(made, json!({ "user_id": "@alice:ring.example", "home_server": "ring.example" }));
    let mut body = new("");
    body.as_object_mut().unwrap().remove("username");
    let made = post(&service.anyone(), "register", &body).await.expect(StatusCode::OK);
    assert!(made["user_id"].as_str().unwrap().starts_with("@u"), "{made}");
}

#[tokio::test]
async fn a_registration_that_cannot_be_is_refused_by_name() {
    let service = service().await;
    service.add_account("alice").await;
    let with = |name: &str, value: Value| {
        let mut body = new("bob");
        body[name] = value;
        body
    };
    for (body, code) in [
        (new("alice"), "M_USER_IN_USE"),
        (new("Bob"), "M_INVALID_USERNAME"),
        (new("b ob"), "M_INVALID_USERNAME"),
        (new(""), "M_INVALID_USERNAME"),
        (new("admin"), "M_INVALID_USERNAME"),
        (new(&"b".repeat(31)), "M_INVALID_USERNAME"),
        (new("@bob:ring.example"), "M_INVALID_USERNAME"),
        (with("password", json!("short")), "M_WEAK_PASSWORD"),
        (with("password", json!("x".repeat(129))), "M_WEAK_PASSWORD"),
        (with("password", json!(1)), "M_BAD_JSON"),
        (with("auth", json!(1)), "M_BAD_JSON"),
        (json!([]), "M_BAD_JSON"),
        (json!({ "username": "bob", "auth": { "type": "m.login.dummy" } }), "M_MISSING_PARAM"),
    ] {
        let answer = post(&service.anyone(), "register", &body).await;
        assert_eq!(answer.errcode(), (400, code.into()), "{body}");
    }
    let other = with("auth", json!({ "type": "m.login.recaptcha" }));
    let answer = post(&service.anyone(), "register", &other).await;
    assert_eq!(answer.errcode(), (401, "M_UNRECOGNIZED".into()));
    assert_eq!(answer.json()["flows"], json!([{ "stages": ["m.login.dummy"] }]));
    let guest = post(&service.anyone(), "register?kind=guest", &json!({})).await;
    assert_eq!(guest.errcode(), (403, "M_GUEST_ACCESS_FORBIDDEN".into()));
    assert!(service.store().account_by_name("bob").await.unwrap().is_none());
}

#[tokio::test]
async fn accounts_made_here_and_by_the_api_share_one_limit_and_the_stages_cost_nothing() {
    let service = Service::start().await;
    let anyone = service.anyone();
    for number in 0..5 {
        let stage = json!({ "username": format!("n{number}"), "password": "correct horse" });
        assert_eq!(post(&anyone, "register", &stage).await.status, 401);
        assert_eq!(post(&anyone, "register", &new(&format!("n{number}"))).await.status, 200);
    }
    let refused = post(&anyone, "register", &new("n5")).await;
    assert_eq!(refused.errcode(), (429, "M_LIMIT_EXCEEDED".into()));
    assert!(refused.header("ratelimit").contains("\"sign_up\";r=0"), "told which limit it was");
    assert!(service.store().account_by_name("n5").await.unwrap().is_none());
    let api = anyone.call("POST /api/v1/accounts", "").await;
    assert_eq!(api.status, 429);
}

#[tokio::test]
async fn a_token_of_a_matrix_client_ends_when_the_settings_say_so() {
    let short = config(|config| config.oauth.token_lifetime = Some(Duration::from_mins(30)));
    let service = Service::with(short).await;
    let made = post(&service.anyone(), "register", &new("alice")).await.expect(StatusCode::OK);
    let alice = service.anyone().bearing(made["access_token"].as_str().unwrap());
    service.clock.advance(1799);
    assert_eq!(alice.get(&at("")).await.status, 200);
    service.clock.advance(1);
    assert_eq!(alice.get(&at("")).await.errcode(), (401, "M_UNKNOWN_TOKEN".into()));
}

#[tokio::test]
async fn a_closed_registration_makes_no_accounts() {
    let closed = config(|config| config.registration = RegistrationPolicy::Closed);
    let service = Service::with(closed).await;
    for body in [json!({}), new("alice")] {
        let answer = post(&service.anyone(), "register", &body).await;
        assert_eq!(answer.errcode(), (403, "M_FORBIDDEN".into()));
    }
    assert!(service.store().account_by_name("alice").await.unwrap().is_none());
}

#[tokio::test]
async fn registration_is_open_unless_it_is_closed() {
    let open: belfry::config::Config = toml::from_str("").unwrap();
    assert_eq!(open.registration, RegistrationPolicy::Open);
    let closed: belfry::config::Config = toml::from_str("registration = 'closed'").unwrap();
    assert_eq!(closed.registration, RegistrationPolicy::Closed);
}

#[tokio::test]
async fn account_data_shows_the_rules_to_their_owner_alone() {
    let service = service().await;
    let (alice, bob) = (service.person("alice").await, service.person("bob").await);
    alice.puts("global/room/a", &json!({ "actions": [] })).await;
    let of = |user: &str| format!("{CLIENT}/user/{user}/account_data/m.push_rules");
    let all = alice.shown("").await;
    for user in ["@alice:ring.example", "%40alice%3Aring.example"] {
        assert_eq!(alice.get(&of(user)).await.expect(StatusCode::OK), all, "{user}");
    }
    for user in ["@alice:ring.example", "@nobody:ring.example", "bob", "@bob:x"] {
        let answer = bob.get(&of(user)).await;
        assert_eq!(answer.errcode(), (403, "M_FORBIDDEN".into()), "{user}");
    }
    let answer = alice.get(&of("%ff")).await;
    assert_eq!(answer.errcode(), (400, "M_INVALID_PARAM".into()));
    let writer = service.person_with("alice", "write").await;
    assert_eq!(writer.get(&of("@alice:ring.example")).await.status, 403);
    let put = format!("PUT {}", of("@alice:ring.example"));
    let answer = alice.call(&put, "{\"global\":{}}").await;
    assert_eq!(answer.errcode(), (405, "M_UNRECOGNIZED".into()));
    assert_eq!(answer.header("allow"), "GET,HEAD");
    assert_eq!(alice.shown("").await, all);
}

#[tokio::test]
async fn every_prefix_has_all_of_it() {
    let service = service().await;
    let alice = service.person("alice").await;
    for segment in ["_service", "_matrix"] {
        for api in ["api/v1", "r0", "v3"] {
            let prefix = format!("/{segment}/client/{api}");
            for path in [
                "versions",
                "login",
                "account/whoami",
                "user/@alice:ring.example/account_data/m.push_rules",
            ] {
                assert_eq!(alice.get(&format!("{prefix}/{path}")).await.status, 200, "{prefix}");
            }
            for (path, status) in [("login", 400), ("register", 401)] {
                let answer = alice.call(&format!("POST {prefix}/{path}"), "{}").await;
                assert_eq!(answer.status, status, "{prefix}/{path}");
            }
            let gone = service.person("alice").await;
            let answer = gone.call(&format!("POST {prefix}/logout"), "").await;
            assert_eq!(answer.status, 200, "{prefix}");
        }
    }
}

#[tokio::test]
async fn a_wrong_method_is_refused() {
    let service = service().await;
    for what in ["PUT login", "GET register", "GET logout", "POST account/whoami", "POST versions"]
    {
        let (method, path) = what.split_once(' ').unwrap();
        let answer = service.anyone().call(&format!("{method} {CLIENT}/{path}"), "").await;
        assert_eq!(answer.errcode(), (405, "M_UNRECOGNIZED".into()), "{what}");
    }
}
