//! Application services: from a table of the settings and from a Matrix registration file.

use axum::http::StatusCode;
use belfry::config::{Config, LimitMode};
use serde_json::json;

use super::{at, least};
use crate::support::{Caller, Process, Service, process};

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

/// A service with a bridge, registered in a file, and its bot and a user of it.
async fn bridged() -> (Service, Caller) {
    bridged_by(REGISTRATION).await
}

async fn bridged_by(registration: &str) -> (Service, Caller) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("irc.yaml");
    std::fs::write(&path, registration).unwrap();
    let settings = format!("application_services = ['{}']", path.display());
    let mut config: Config = toml::from_str(&settings).unwrap();
    config.limits.mode = LimitMode::Off;
    let service = Service::with(config).await;
    for name in ["irc_bot", "irc_ann", "zoe"] {
        service.add_account(name).await;
    }
    let bridge = service.anyone().bearing("as_token_of_irc");
    (service, bridge)
}

#[tokio::test]
async fn a_service_acts_for_a_user_of_its_namespace() {
    let (service, bridge) = bridged().await;
    bridge.puts("global/room/a?user_id=@irc_ann:ring.example", &least("room")).await;
    let ann = service.person("irc_ann").await;
    assert_eq!(ann.own("global/room/").await, ["a"]);
    let path = "global/room/?user_id=%40irc_ann%3Aring.example";
    assert_eq!(bridge.own(path).await, ["a"]);
    let path = "global/content/?user_id=@irc_ann:ring.example";
    assert_eq!(bridge.shown(path).await[0]["pattern"], "irc_ann");
}

#[tokio::test]
async fn a_service_that_names_no_user_acts_as_its_own() {
    let (service, bridge) = bridged().await;
    bridge.puts("global/room/a", &least("room")).await;
    assert_eq!(service.person("irc_bot").await.own("global/room/").await, ["a"]);
}

#[tokio::test]
async fn the_token_of_a_service_may_stand_in_the_query() {
    let (service, _) = bridged().await;
    let query = "?access_token=as_token_of_irc&user_id=@irc_ann:ring.example";
    assert_eq!(service.anyone().get(&at(query)).await.status, 200);
}

#[tokio::test]
async fn a_service_is_refused_outside_its_namespace() {
    let (service, bridge) = bridged().await;
    let forbidden = (403, "M_FORBIDDEN".to_owned());
    for user in [
        "@zoe:ring.example",
        "@nobody:ring.example",
        "@irc_ann:elsewhere.example",
        "@xirc_ann:ring.example",
        "irc_ann",
        "@irc_ann",
        "",
        // In the namespace, but nobody has that account.
        "@irc_nobody:ring.example",
    ] {
        let path = at(&format!("?user_id={user}"));
        assert_eq!(bridge.get(&path).await.errcode(), forbidden, "{user}");
    }
    let twice = at("?user_id=@irc_ann:ring.example&user_id=@irc_ann:ring.example");
    assert_eq!(bridge.get(&twice).await.errcode(), (400, "M_INVALID_PARAM".into()));
    let wrong = service.anyone().bearing("hs_token_of_irc");
    assert_eq!(wrong.get(&at("")).await.errcode(), (401, "M_UNKNOWN_TOKEN".into()));
}

#[tokio::test]
async fn a_disabled_user_is_disabled_for_services_too() {
    let (service, bridge) = bridged().await;
    let ann = service.store().account_by_name("irc_ann").await.unwrap().unwrap();
    let path = at("?user_id=@irc_ann:ring.example");
    assert_eq!(bridge.get(&path).await.status, 200);
    service.store().disable_account(ann.id, Some(service.now())).await.unwrap();
    assert_eq!(bridge.get(&path).await.errcode(), (403, "M_USER_DEACTIVATED".into()));
    service.store().disable_account(ann.id, None).await.unwrap();
    assert_eq!(bridge.get(&path).await.status, 200);
}

#[tokio::test]
async fn a_new_user_is_known_to_services_at_once() {
    let (service, bridge) = bridged().await;
    let path = at("?user_id=@irc_new:ring.example");
    assert_eq!(bridge.get(&path).await.errcode(), (403, "M_FORBIDDEN".into()));
    service.add_account("irc_new").await;
    assert_eq!(bridge.get(&path).await.status, 200);
}

#[tokio::test]
async fn a_service_can_ask_who_it_is_but_not_sign_out() {
    let (_service, bridge) = bridged().await;
    let whoami = "/_matrix/client/v3/account/whoami";
    let answer = bridge.get(&format!("{whoami}?user_id=@irc_ann:ring.example")).await;
    assert_eq!(answer.expect(StatusCode::OK)["user_id"], "@irc_ann:ring.example");
    assert_eq!(bridge.get(whoami).await.json()["user_id"], "@irc_bot:ring.example");
    let answer = bridge.call("POST /_matrix/client/v3/logout", "").await;
    assert_eq!(answer.errcode(), (403, "M_FORBIDDEN".into()));
    assert_eq!(bridge.get(&at("")).await.status, 200);
}

#[tokio::test]
async fn nobody_registers_a_name_that_a_service_keeps_for_itself() {
    let (service, _) = bridged().await;
    let body = json!({ "username": "irc_new", "password": "correct horse", "auth": { "type": "m.login.dummy" } });
    let answer = service.anyone().call("POST /_matrix/client/v3/register", body.to_string()).await;
    assert_eq!(answer.errcode(), (400, "M_EXCLUSIVE".into()));
}

#[tokio::test]
async fn who_registers_without_a_name_gets_none_that_a_service_keeps_for_itself() {
    let body = json!({ "password": "correct horse", "auth": { "type": "m.login.dummy" } });
    let register = "POST /_matrix/client/v3/register";
    let (service, _) = bridged_by(&REGISTRATION.replace("@irc_.*", "@[u-z].*")).await;
    for _ in 0..3 {
        let made = service.anyone().call(register, body.to_string()).await.expect(StatusCode::OK);
        let user_id = made["user_id"].as_str().unwrap();
        assert!(!('u'..='z').contains(&user_id.chars().nth(1).unwrap()), "{user_id}");
    }
    // One that keeps every name leaves none.
    let (service, _) = bridged_by(&REGISTRATION.replace("@irc_.*", "@.*")).await;
    let answer = service.anyone().call(register, body.to_string()).await;
    assert_eq!(answer.errcode(), (400, "M_EXCLUSIVE".into()));
}

#[tokio::test]
async fn a_service_stands_in_the_settings_of_the_real_server() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "server_name = 'x.example'\n[[application_services]]\nid = 'bot'\n\
                    as_token = 'token of bot'\nsender_localpart = 'bot'\n\
                    namespaces.users = [{ regex = '@b_.*' }]\n";
    std::fs::write(folder.path().join("belfry.toml"), settings).unwrap();
    let process = Process::start(folder.path(), &["--limits", "off"]);
    process::run_well(folder.path(), &["account", "add", "b_ann"]);
    let url = format!("{}{}", process.url, at("?user_id=@b_ann:x.example"));
    let answer = reqwest::Client::new().get(url).bearer_auth("token of bot").send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn a_registration_that_cannot_work_is_named_before_serving() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("belfry.toml"), "application_services = ['irc.yaml']")
        .unwrap();
    for (file, problem) in [
        (None, "irc.yaml: No such file"),
        (Some("id: a\nas_token: secret_of_a\n".to_owned()), "sender_localpart"),
        (Some(REGISTRATION.replace("@irc_.*", "@irc_(")), "users.regex"),
    ] {
        if let Some(file) = file {
            std::fs::write(folder.path().join("irc.yaml"), file).unwrap();
        }
        for command in [&["config", "check"][..], &["serve"]] {
            let output = process::run(folder.path(), command);
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && stderr.contains(problem), "{command:?}: {stderr}");
            assert!(!stderr.contains("secret_of_a"), "{stderr}");
        }
    }
}
