//! The guides for a chat server and for a social server next to Belfry, with a real nginx.

use serde_json::{Value, json};

use super::configurations::{Configuration, HOMESERVER, MASTODON};
use super::{Gateway, assert_unavailable};
use crate::support::process::add_account;

/// A client has one URL: it logs in and reads its rules at Belfry, and everything else reaches the
/// chat server with the account.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn matrix_clients_use_a_chat_server_and_belfry_at_one_url() {
    let Some(gateway) = Gateway::start(Configuration::NginxWith(HOMESERVER), "").await else {
        return;
    };
    let password = add_account(gateway.dir.path(), "bob");
    let url = |path: &str| format!("http://127.0.0.1:{}/_matrix/client{path}", gateway.port);
    let client = reqwest::Client::new();
    let login = json!({"type": "m.login.password", "password": password,
        "identifier": {"type": "m.id.user", "user": "bob"}});
    let login = client.post(url("/v3/login")).body(login.to_string()).send().await.unwrap();
    let login: Value = login.json().await.unwrap();
    let token = login["access_token"].as_str().unwrap_or_else(|| panic!("{login}"));

    let rule = url("/v3/pushrules/global/content/cake");
    let body = r#"{"pattern":"cake","actions":["notify"]}"#;
    let put = client.put(&rule).bearer_auth(token).body(body).send().await.unwrap();
    assert_eq!(put.status(), 200);
    let user = login["user_id"].as_str().unwrap();
    let data = url(&format!("/v3/user/{user}/account_data/m.push_rules"));
    let data = client.get(data).bearer_auth(token).send().await.unwrap().text().await.unwrap();
    assert!(data.contains("cake"), "{data}");
    let whoami = client.get(url("/v3/account/whoami")).bearer_auth(token).send().await.unwrap();
    assert_eq!(whoami.json::<Value>().await.unwrap()["user_id"], user);
    assert_eq!(gateway.upstream.hits(), 0, "Belfry has answered");

    let forged = [("x-account-id", "1")];
    let sync = gateway.send("GET /_matrix/client/v3/sync", Some(token), &forged).await;
    let identity = sync.text().await.unwrap();
    let account = identity.split('|').next().unwrap();
    assert!(account.len() > 1 && account.parse::<i64>().is_ok(), "{identity}");
    assert_eq!(gateway.upstream.hits(), 1);
    let rejected = gateway.send("GET /_matrix/client/v3/sync", None, &[]).await;
    assert_eq!(rejected.status(), 401);
    assert_eq!(rejected.json::<Value>().await.unwrap()["errcode"], "M_MISSING_TOKEN");
    assert_eq!(gateway.upstream.hits(), 1);
    for path in ["/_matrix/client/versions", "/.well-known/matrix/client"] {
        let response = gateway.send(&format!("GET {path}"), None, &forged).await;
        assert_eq!(
            (response.status().as_u16(), &*response.text().await.unwrap()),
            (200, "-|-|-"),
            "{path}"
        );
    }
    assert_eq!(gateway.send("GET /oauth/account", None, &[]).await.status(), 200, "a page");
    for target in
        ["POST /_matrix/client/v3/logout/all", "GET /_matrix/client/r0/register/available"]
    {
        let unknown = gateway.send(target, None, &[]).await;
        assert_eq!(unknown.status(), 404, "{target}");
        assert_eq!(unknown.json::<Value>().await.unwrap()["errcode"], "M_UNRECOGNIZED");
    }
    assert_eq!(gateway.upstream.hits(), 3);
    verify_preflight(&gateway, "/_matrix/client/v3/sync").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_that_nginx_forwards_to_belfry_respond_with_json_while_belfry_is_stopped() {
    let Some(gateway) = Gateway::start(Configuration::NginxWith(HOMESERVER), "").await else {
        return;
    };
    gateway.belfry.signal("KILL");
    assert_unavailable(gateway.send("GET /_matrix/client/v3/login", None, &[]).await).await;
}

/// Asserts that the protected server responds to the preflights of browsers, which have no token,
/// and gets no identity with them. Other methods require a token.
async fn verify_preflight(gateway: &Gateway, path: &str) {
    let hits = gateway.upstream.hits();
    let forged = [("x-account-id", "1"), ("x-app-id", "1"), ("x-scopes", "admin")];
    for token in [None, Some(gateway.token.as_str())] {
        let preflight = gateway.send(&format!("OPTIONS {path}"), token, &forged).await;
        let status = preflight.status().as_u16();
        assert_eq!((status, &*preflight.text().await.unwrap()), (200, "-|-|-"));
    }
    assert_eq!(gateway.upstream.hits(), hits + 2);
    for method in ["GET", "POST"] {
        let rejected = gateway.send(&format!("{method} {path}"), None, &forged).await;
        assert_eq!(rejected.status(), 401, "{method}");
    }
    assert_eq!(gateway.upstream.hits(), hits + 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mastodon_clients_use_a_social_server_and_belfry_at_one_url() {
    let Some(gateway) = Gateway::start(Configuration::NginxWith(MASTODON), "").await else {
        return;
    };
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", gateway.port);
    let client = reqwest::Client::new();
    let app =
        [("client_name", "a"), ("redirect_uris", "https://app.example/"), ("scopes", "write")];
    let app: Value =
        client.post(url("/api/v1/apps")).form(&app).send().await.unwrap().json().await.unwrap();
    let secret = ["client_id", "client_secret"].map(|name| (name, app[name].as_str().unwrap()));
    let fields = [("grant_type", "client_credentials"), ("scope", "write"), secret[0], secret[1]];
    let token = client.post(url("/oauth/token")).form(&fields).send().await.unwrap();
    let token: Value = token.json().await.unwrap();
    let token = token["access_token"].as_str().unwrap();
    let verified = gateway.send("GET /api/v1/apps/verify_credentials", Some(token), &[]).await;
    assert_eq!(verified.status(), 200);
    let person = [
        ("username", "carol"),
        ("email", "carol@example.org"),
        ("password", "a long password"),
        ("agreement", "true"),
    ];
    let sign_up = client.post(url("/api/v1/accounts")).bearer_auth(token).form(&person);
    let sign_up: Value = sign_up.send().await.unwrap().json().await.unwrap();
    let carol = sign_up["access_token"].as_str().unwrap_or_else(|| panic!("{sign_up}"));
    let metadata = gateway.send("GET /.well-known/oauth-authorization-server", None, &[]).await;
    assert!(metadata.text().await.unwrap().contains("token_endpoint"));
    assert_eq!(gateway.upstream.hits(), 0, "Belfry has answered");

    let timeline = gateway.send("GET /api/v1/timelines/home", Some(carol), &[]).await;
    let identity = timeline.text().await.unwrap();
    assert!(identity.ends_with("|write") && !identity.starts_with(['-', '|']), "{identity}");
    assert_eq!(gateway.send("GET /api/v1/timelines/home", None, &[]).await.status(), 401);
    for path in ["/api/v1/instance", "/api/v2/instance"] {
        let response = gateway.send(&format!("GET {path}"), None, &[("x-scopes", "admin")]).await;
        assert_eq!(
            (response.status().as_u16(), &*response.text().await.unwrap()),
            (200, "-|-|-"),
            "{path}"
        );
    }
    assert_eq!(gateway.upstream.hits(), 3);
    verify_preflight(&gateway, "/api/v1/timelines/home").await;
}
