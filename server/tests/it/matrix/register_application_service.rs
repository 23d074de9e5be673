//! `register` by an application service.

use axum::http::StatusCode;
use belfry::config::{Config, RateLimitMode, RegistrationPolicy};
use belfry_store::{AuditFilter, NO_PASSWORD};
use serde_json::{Value, json};

use super::{password_login, post, registration};
use crate::rules::pushrules_path;
use crate::support::service::START_SECONDS;
use crate::support::{Service, TestClient, any_events, recorded_events};

/// Two application services: the first has an exclusive and a shared namespace, and the second has
/// a namespace that contains both.
const APPLICATION_SERVICES: &str = "
[[application_services]]
id = 'irc'
as_token = 'token of irc'
sender_localpart = 'irc_bot'
namespaces.users = [{ regex = '@irc_.*', exclusive = true }, { regex = '@shared_.*' }]

[[application_services]]
id = 'all'
as_token = 'token of all'
sender_localpart = 'all_bot'
namespaces.users = [{ regex = '@.*' }]
";

async fn start_with_application_services(change: impl FnOnce(&mut Config)) -> Service {
    let mut config: Config = toml::from_str(APPLICATION_SERVICES).unwrap();
    config.limits.mode = RateLimitMode::Off;
    change(&mut config);
    Service::start_with(config).await
}

fn irc_client(service: &Service) -> TestClient {
    service.anonymous_client().with_token("token of irc")
}

fn application_service_registration(name: &str) -> Value {
    json!({ "type": "m.login.application_service", "username": name })
}

fn application_service_registration_without_login(name: &str) -> Value {
    let mut body = application_service_registration(name);
    body["inhibit_login"] = json!(true);
    body
}

#[tokio::test]
async fn an_application_service_creates_its_users_even_if_registration_is_closed() {
    let service =
        start_with_application_services(|config| config.registration = RegistrationPolicy::Closed)
            .await;
    let irc_client = irc_client(&service);
    let response =
        post(&irc_client, "register", &application_service_registration_without_login("irc_ann"))
            .await;
    let expected = json!({ "user_id": "@irc_ann:ring.example", "home_server": "ring.example" });
    assert_eq!(response.expect_json(StatusCode::OK), expected);
    let ann = service.store().account_by_name("irc_ann").await.unwrap().unwrap();
    assert_eq!((&*ann.password_hash, &ann.email), (NO_PASSWORD, &None));
    assert_eq!(ann.created_at.as_second(), START_SECONDS);

    let path = pushrules_path("?user_id=@irc_ann:ring.example");
    assert_eq!(
        irc_client.get(&path).await.status,
        200,
        "the application service acts for the user immediately"
    );
    for password in ["", "!", "correct horse"] {
        let login =
            post(&service.anonymous_client(), "login", &password_login("irc_ann", password)).await;
        assert_eq!(login.status_and_errcode(), (403, "M_FORBIDDEN".into()), "{password:?}");
    }
    // The token may also be in the query.
    let path_with_token = "register?access_token=token%20of%20irc";
    let response = post(
        &service.anonymous_client(),
        path_with_token,
        &application_service_registration_without_login("irc_ben"),
    )
    .await;
    assert_eq!(response.status, 200);
}

#[tokio::test]
async fn a_token_for_the_new_user_is_returned_unless_inhibited() {
    let service = start_with_application_services(|_| {}).await;
    let response =
        post(&irc_client(&service), "register", &application_service_registration("irc_ann")).await;
    let response = response.expect_json(StatusCode::OK);
    assert_eq!(response["user_id"], "@irc_ann:ring.example");
    assert_eq!(response["device_id"].as_str().unwrap().len(), 10);
    let ann = service.anonymous_client().with_token(response["access_token"].as_str().unwrap());
    ann.put_rule_ok("global/room/a", &json!({ "actions": [] })).await;

    let mut body = application_service_registration("irc_ben");
    body["device_id"] = json!("BRIDGE");
    let response = post(&irc_client(&service), "register", &body).await.expect_json(StatusCode::OK);
    assert_eq!(response["device_id"], "BRIDGE");
}

#[tokio::test]
async fn an_application_service_creates_users_in_its_namespaces_only() {
    let service = start_with_application_services(|_| {}).await;
    service.add_account("irc_old").await;
    let deleted_id = service.add_account("irc_gone").await;
    service.store().delete_account(&any_events(), deleted_id, service.now()).await.unwrap();
    let irc_client = irc_client(&service);
    let all_client = service.anonymous_client().with_token("token of all");
    for (client, body, status, errcode) in [
        (&irc_client, application_service_registration("shared_ann"), 200, ""),
        (&all_client, application_service_registration("zoe"), 200, ""),
        // Only users cannot register reserved names; application services are trusted.
        (&all_client, application_service_registration("support"), 200, ""),
        (&irc_client, application_service_registration("zoe"), 400, "M_EXCLUSIVE"),
        (&irc_client, application_service_registration("xirc_ann"), 400, "M_EXCLUSIVE"),
        // In the other application service's exclusive namespace, or its sender.
        (&all_client, application_service_registration("irc_zoe"), 400, "M_EXCLUSIVE"),
        (&all_client, application_service_registration("irc_bot"), 400, "M_EXCLUSIVE"),
        // The sender exists from the start.
        (&irc_client, application_service_registration("irc_bot"), 400, "M_USER_IN_USE"),
        (&irc_client, application_service_registration("irc_old"), 400, "M_USER_IN_USE"),
        (&irc_client, application_service_registration("irc_gone"), 400, "M_USER_IN_USE"),
        (&irc_client, application_service_registration("irc_ann+"), 400, "M_INVALID_USERNAME"),
        (
            &irc_client,
            application_service_registration("@irc_ann:ring.example"),
            400,
            "M_INVALID_USERNAME",
        ),
        (&irc_client, application_service_registration(""), 400, "M_INVALID_USERNAME"),
        (
            &irc_client,
            application_service_registration(&format!("irc_{}", "x".repeat(61))),
            400,
            "M_INVALID_USERNAME",
        ),
        (&irc_client, json!({ "type": "m.login.application_service" }), 400, "M_MISSING_PARAM"),
        (
            &irc_client,
            json!({ "type": "m.login.application_service", "username": 1 }),
            400,
            "M_BAD_JSON",
        ),
    ] {
        let response = post(client, "register", &body).await;
        assert_eq!(response.status, status, "{body}");
        if status != 200 {
            assert_eq!(response.status_and_errcode(), (status, errcode.into()), "{body}");
        }
    }
}

/// An application service can register its sender if the row of that account is missing.
#[tokio::test]
async fn an_application_service_can_create_its_sender() {
    let service = start_with_application_services(|_| {}).await;
    service.execute_sql("delete from accounts where name = 'irc_bot'");
    let response = post(
        &irc_client(&service),
        "register",
        &application_service_registration_without_login("irc_bot"),
    )
    .await;
    assert_eq!(response.expect_json(StatusCode::OK)["user_id"], "@irc_bot:ring.example");
}

#[tokio::test]
async fn an_application_service_token_is_required() {
    let service = start_with_application_services(|_| {}).await;
    let user_client = service.user_client("alice").await;
    let app_token = service.register_client().await.obtain_app_token("read write").await;
    let app_client = service.anonymous_client().with_token(&app_token);
    let unknown_client = service.anonymous_client().with_token("token of nobody");
    for (client, errcode) in [
        (&service.anonymous_client(), "M_MISSING_TOKEN"),
        (&unknown_client, "M_UNKNOWN_TOKEN"),
        (&user_client, "M_UNKNOWN_TOKEN"),
        (&app_client, "M_UNKNOWN_TOKEN"),
    ] {
        let response = post(client, "register", &application_service_registration("irc_ann")).await;
        assert_eq!(response.status_and_errcode(), (401, errcode.into()));
    }
    let path_with_token = "register?access_token=token%20of%20irc";
    let response =
        post(&irc_client(&service), path_with_token, &application_service_registration("irc_ann"))
            .await;
    assert_eq!(response.status_and_errcode(), (400, "M_INVALID_PARAM".into()));
    assert!(service.store().account_by_name("irc_ann").await.unwrap().is_none());
}

#[tokio::test]
async fn people_cannot_register_names_in_an_exclusive_namespace() {
    let service = start_with_application_services(|_| {}).await;
    for (name, status) in [("irc_ann", 400), ("irc_bot", 400), ("shared_ann", 200), ("zoe", 200)] {
        let response = post(&service.anonymous_client(), "register", &registration(name)).await;
        assert_eq!(response.status, status, "{name}");
        if status == 400 {
            assert_eq!(response.status_and_errcode(), (400, "M_EXCLUSIVE".into()), "{name}");
        }
        // An as_token has no effect without the login type of application services.
        let second_name = format!("{name}2");
        let response = post(&irc_client(&service), "register", &registration(&second_name)).await;
        assert_eq!(response.status, status, "{second_name}");
    }
}

#[tokio::test]
async fn a_users_creation_is_recorded_with_the_application_service_id() {
    let service = start_with_application_services(|_| {}).await;
    post(&irc_client(&service), "register", &application_service_registration("irc_ann"))
        .await
        .expect_json(StatusCode::OK);
    post(&irc_client(&service), "register", &application_service_registration("irc_ann")).await;
    let ann = service.store().account_by_name("irc_ann").await.unwrap().unwrap();
    let filter = AuditFilter { account: Some(ann.id), ..recorded_events() };
    let events = service.store().audit_events(filter, 10).await.unwrap();
    let mut events: Vec<_> = events
        .into_iter()
        .map(|event| (event.kind, event.origin, event.address, event.detail))
        .collect();
    events.sort();
    let expected = ["account_add", "token_issue"].map(|kind| {
        let [kind, origin, address, detail] =
            [kind, "client", "192.0.2.1", "irc"].map(str::to_owned);
        (kind, origin, Some(address), Some(detail))
    });
    assert_eq!(events, expected);
}

#[tokio::test]
async fn application_service_users_do_not_count_as_sign_ups() {
    let service =
        start_with_application_services(|config| config.limits.mode = RateLimitMode::Enforce).await;
    for number in 0..20 {
        let body = application_service_registration_without_login(&format!("irc_{number}"));
        assert_eq!(post(&irc_client(&service), "register", &body).await.status, 200, "{number}");
    }
    // Sign-ups of people do count, from the same address.
    let response = post(&service.anonymous_client(), "register", &registration("zoe")).await;
    assert!(response.header("ratelimit").contains("\"sign_up\";r=4"), "{response:?}");
}

/// With `inhibit_login`, an application service can register users even if the built-in app for
/// Matrix clients is disabled.
#[tokio::test]
async fn while_matrix_clients_are_disabled_an_application_service_gets_no_token_for_its_users() {
    let service = start_with_application_services(|_| {}).await;
    post(&irc_client(&service), "register", &application_service_registration("irc_ann"))
        .await
        .expect_json(StatusCode::OK);
    let app_id = service.store().app_by_client_id("matrix").await.unwrap().unwrap().app.id;
    service.store().set_app_disabled_at(&any_events(), app_id, Some(service.now())).await.unwrap();
    let response =
        post(&irc_client(&service), "register", &application_service_registration("irc_ben")).await;
    assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()));
    assert!(service.store().account_by_name("irc_ben").await.unwrap().is_none());
    assert_eq!(
        post(
            &irc_client(&service),
            "register",
            &application_service_registration_without_login("irc_ben")
        )
        .await
        .status,
        200
    );
}
