//! Application services, configured inline or with a Matrix registration file.

use axum::http::StatusCode;
use belfry::config::{Config, RateLimitMode};
use belfry_store::NO_PASSWORD;
use serde_json::json;

use super::{minimal_rule, pushrules_path};
use crate::support::{ServerProcess, Service, TestClient, any_events, process};

const REGISTRATION: &str = "\
id: irc
url: 'http://localhost:9999'
as_token: as_token_of_irc
hs_token: hs_token_of_irc
sender_localpart: irc_bot
rate_limited: false
namespaces:
  users:
    - exclusive: true
      regex: '@irc_.*'
  aliases: []
  rooms: []
";

/// Starts Belfry with a bridge from a registration file; returns it with a client that has the
/// bridge's token.
async fn start_with_bridge() -> (Service, TestClient) {
    start_with_registration(REGISTRATION).await
}

async fn start_with_registration(registration: &str) -> (Service, TestClient) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("irc.yaml");
    std::fs::write(&path, registration).unwrap();
    let settings = format!("application_services = ['{}']", path.display());
    let mut config: Config = toml::from_str(&settings).unwrap();
    config.limits.mode = RateLimitMode::Off;
    let service = Service::start_with(config).await;
    for name in ["irc_ann", "zoe"] {
        service.add_account(name).await;
    }
    let bridge = service.anonymous_client().with_token("as_token_of_irc");
    (service, bridge)
}

#[tokio::test]
async fn an_application_service_acts_for_a_user_in_its_namespace() {
    let (service, bridge) = start_with_bridge().await;
    bridge.put_rule_ok("global/room/a?user_id=@irc_ann:ring.example", &minimal_rule("room")).await;
    let ann = service.user_client("irc_ann").await;
    assert_eq!(ann.user_rule_ids("global/room/").await, ["a"]);
    let path = "global/room/?user_id=%40irc_ann%3Aring.example";
    assert_eq!(bridge.user_rule_ids(path).await, ["a"]);
    let user_query = "?user_id=@irc_ann:ring.example";
    let export = bridge.get_rules(&format!("export{user_query}")).await;
    assert_eq!(export["global"]["room"][0]["rule_id"], "a");
    for (path, body) in [("import", export), ("reset", json!({}))] {
        let response = bridge.post_rules(&format!("{path}{user_query}"), &body).await;
        assert_eq!(response.expect_json(StatusCode::OK), json!({}), "{path}");
        let other_server_response =
            bridge.post_rules(&format!("{path}?user_id=@irc_ann:other.example"), &body).await;
        let error = other_server_response.expect_json(StatusCode::FORBIDDEN)["error"].clone();
        assert_eq!(error, "User ids of this server have the form @NAME:ring.example");
        let response = bridge.post_rules(&format!("{path}?user_id=@zoe:ring.example"), &body).await;
        assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()), "{path}");
    }
    assert_eq!(ann.user_rule_ids("global/room/").await, [""; 0]);
    let path = "global/content/?user_id=@irc_ann:ring.example";
    assert_eq!(bridge.get_rules(path).await[0]["pattern"], "irc_ann");
}

#[tokio::test]
async fn nobody_can_register_an_application_services_sender() {
    let (service, bridge) =
        start_with_registration(&REGISTRATION.replace("irc_bot", "helper")).await;
    let anonymous = service.anonymous_client();
    // The sender's account exists from the start, and nobody can sign in to it.
    bridge.put_rule_ok("global/content/secret", &json!({ "actions": [], "pattern": "x" })).await;
    let sender = service.store().account_by_name("helper").await.unwrap().unwrap();
    assert_eq!((sender.password_hash.as_str(), sender.email), (NO_PASSWORD, None));
    for password in ["", "!", "correct horse helper"] {
        let body = json!({ "type": "m.login.password", "user": "helper", "password": password });
        let login = anonymous.send("POST /_matrix/client/v3/login", body.to_string());
        assert_eq!(login.await.status_and_errcode(), (403, "M_FORBIDDEN".into()), "{password:?}");
    }
    // The name stays reserved even if the account is deleted.
    service.execute_sql("delete from accounts where name = 'helper'");
    let auth = json!({ "type": "m.login.dummy" });
    let body = json!({ "username": "helper", "password": "correct horse", "auth": auth });
    let register = anonymous.send("POST /_matrix/client/v3/register", body.to_string());
    assert_eq!(register.await.status_and_errcode(), (400, "M_EXCLUSIVE".into()));
    let app_token = service.register_client().await.obtain_app_token("write:accounts").await;
    let app_client = service
        .anonymous_client()
        .with_token(&app_token)
        .with_header("content-type", "application/json");
    let body = json!({
        "username": "helper", "email": "a@b.example", "password": "correct horse",
        "agreement": true,
    });
    let response = app_client.send("POST /api/v1/accounts", body.to_string()).await;
    assert_eq!(response.status, 422);
    assert_eq!(response.json()["details"]["username"][0]["error"], "ERR_RESERVED");
    assert!(service.store().account_by_name("helper").await.unwrap().is_none());
}

#[tokio::test]
async fn without_user_id_an_application_service_acts_as_its_sender() {
    let (service, bridge) = start_with_bridge().await;
    bridge.put_rule_ok("global/room/a", &minimal_rule("room")).await;
    assert_eq!(service.user_client("irc_bot").await.user_rule_ids("global/room/").await, ["a"]);
}

#[tokio::test]
async fn an_application_services_token_is_accepted_in_the_query() {
    let (service, _) = start_with_bridge().await;
    let query = "?access_token=as_token_of_irc&user_id=@irc_ann:ring.example";
    assert_eq!(service.anonymous_client().get(&pushrules_path(query)).await.status, 200);
}

#[tokio::test]
async fn an_application_service_is_rejected_outside_its_namespace() {
    let (service, bridge) = start_with_bridge().await;
    let forbidden = (403, "M_FORBIDDEN".to_owned());
    for user in [
        "@zoe:ring.example",
        "@nobody:ring.example",
        "@irc_ann:elsewhere.example",
        "@xirc_ann:ring.example",
        "irc_ann",
        "@irc_ann",
        "",
        // In the namespace, but the account does not exist.
        "@irc_nobody:ring.example",
    ] {
        let path = pushrules_path(&format!("?user_id={user}"));
        assert_eq!(bridge.get(&path).await.status_and_errcode(), forbidden, "{user}");
    }
    let repeated_user_id =
        pushrules_path("?user_id=@irc_ann:ring.example&user_id=@irc_ann:ring.example");
    assert_eq!(
        bridge.get(&repeated_user_id).await.status_and_errcode(),
        (400, "M_INVALID_PARAM".into())
    );
    let client_with_hs_token = service.anonymous_client().with_token("hs_token_of_irc");
    assert_eq!(
        client_with_hs_token.get(&pushrules_path("")).await.status_and_errcode(),
        (401, "M_UNKNOWN_TOKEN".into())
    );
}

#[tokio::test]
async fn an_application_service_cannot_act_for_a_disabled_user() {
    let (service, bridge) = start_with_bridge().await;
    let ann = service.store().account_by_name("irc_ann").await.unwrap().unwrap();
    let path = pushrules_path("?user_id=@irc_ann:ring.example");
    assert_eq!(bridge.get(&path).await.status, 200);
    service
        .store()
        .set_account_disabled_at(&any_events(), ann.id, Some(service.now()))
        .await
        .unwrap();
    assert_eq!(bridge.get(&path).await.status_and_errcode(), (403, "M_USER_DEACTIVATED".into()));
    service.store().set_account_disabled_at(&any_events(), ann.id, None).await.unwrap();
    assert_eq!(bridge.get(&path).await.status, 200);
}

#[tokio::test]
async fn a_new_user_is_available_to_application_services_immediately() {
    let (service, bridge) = start_with_bridge().await;
    let path = pushrules_path("?user_id=@irc_new:ring.example");
    assert_eq!(bridge.get(&path).await.status_and_errcode(), (403, "M_FORBIDDEN".into()));
    service.add_account("irc_new").await;
    assert_eq!(bridge.get(&path).await.status, 200);
}

#[tokio::test]
async fn an_application_service_can_use_whoami_but_not_logout() {
    let (_service, bridge) = start_with_bridge().await;
    let whoami = "/_matrix/client/v3/account/whoami";
    let response = bridge.get(&format!("{whoami}?user_id=@irc_ann:ring.example")).await;
    assert_eq!(response.expect_json(StatusCode::OK)["user_id"], "@irc_ann:ring.example");
    assert_eq!(bridge.get(whoami).await.json()["user_id"], "@irc_bot:ring.example");
    let response = bridge.send("POST /_matrix/client/v3/logout", "").await;
    assert_eq!(response.status_and_errcode(), (403, "M_FORBIDDEN".into()));
    assert_eq!(bridge.get(&pushrules_path("")).await.status, 200);
}

#[tokio::test]
async fn a_name_in_an_exclusive_namespace_cannot_be_registered() {
    let (service, _) = start_with_bridge().await;
    let body = json!({ "username": "irc_new", "password": "correct horse", "auth": { "type": "m.login.dummy" } });
    let response =
        service.anonymous_client().send("POST /_matrix/client/v3/register", body.to_string()).await;
    assert_eq!(response.status_and_errcode(), (400, "M_EXCLUSIVE".into()));
}

#[tokio::test]
async fn a_generated_name_is_not_in_an_exclusive_namespace() {
    let body = json!({ "password": "correct horse", "auth": { "type": "m.login.dummy" } });
    let register = "POST /_matrix/client/v3/register";
    let (service, _) = start_with_registration(&REGISTRATION.replace("@irc_.*", "@[u-z].*")).await;
    for _ in 0..3 {
        let account = service
            .anonymous_client()
            .send(register, body.to_string())
            .await
            .expect_json(StatusCode::OK);
        let user_id = account["user_id"].as_str().unwrap();
        assert!(!('u'..='z').contains(&user_id.chars().nth(1).unwrap()), "{user_id}");
    }
    // An exclusive namespace with every name leaves no name to generate.
    let (service, _) = start_with_registration(&REGISTRATION.replace("@irc_.*", "@.*")).await;
    let response = service.anonymous_client().send(register, body.to_string()).await;
    assert_eq!(response.status_and_errcode(), (400, "M_EXCLUSIVE".into()));
}

#[tokio::test]
async fn an_application_service_is_configured_in_belfry_toml() {
    let dir = tempfile::tempdir().unwrap();
    let settings = "server_name = 'x.example'\n[[application_services]]\nid = 'bot'\n\
                    as_token = 'token of bot'\nsender_localpart = 'bot'\n\
                    namespaces.users = [{ regex = '@b_.*' }]\n";
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let process = ServerProcess::start(dir.path(), &["--limits", "off"]);
    process::run_successfully(dir.path(), &["account", "add", "b_ann"]);
    let url = format!("{}{}", process.url, pushrules_path("?user_id=@b_ann:x.example"));
    let response =
        reqwest::Client::new().get(url).bearer_auth("token of bot").send().await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn an_invalid_registration_is_reported_before_serving() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("belfry.toml"), "application_services = ['irc.yaml']").unwrap();
    for (registration, expected_error) in [
        (None, "irc.yaml: No such file"),
        (Some("id: a\nas_token: secret_of_a\n".to_owned()), "sender_localpart"),
        (Some(REGISTRATION.replace("@irc_.*", "@irc_(")), "users.regex"),
    ] {
        if let Some(registration) = registration {
            std::fs::write(dir.path().join("irc.yaml"), registration).unwrap();
        }
        for command in [&["config", "check"][..], &["serve"]] {
            let output = process::run_belfry(dir.path(), command);
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(
                !output.status.success() && stderr.contains(expected_error),
                "{command:?}: {stderr}"
            );
            assert!(!stderr.contains("secret_of_a"), "{stderr}");
        }
    }
}
