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
    let login_body = json!({"type": "m.login.password", "password": password,
        "identifier": {"type": "m.id.user", "user": "bob"}});
    let response = client.post(url("/v3/login")).body(login_body.to_string()).send().await.unwrap();
    let login: Value = response.json().await.unwrap();
    let token = login["access_token"].as_str().unwrap_or_else(|| panic!("{login}"));

    let rule_url = url("/v3/pushrules/global/content/cake");
    let body = r#"{"pattern":"cake","actions":["notify"]}"#;
    let response = client.put(&rule_url).bearer_auth(token).body(body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let user_id = login["user_id"].as_str().unwrap();
    let account_data_url = url(&format!("/v3/user/{user_id}/account_data/m.push_rules"));
    let account_data =
        client.get(account_data_url).bearer_auth(token).send().await.unwrap().text().await.unwrap();
    assert!(account_data.contains("cake"), "{account_data}");
    let response = client.get(url("/v3/account/whoami")).bearer_auth(token).send().await.unwrap();
    assert_eq!(response.json::<Value>().await.unwrap()["user_id"], user_id);
    assert_eq!(gateway.upstream.request_count(), 0, "Belfry has answered");

    let forged_headers = [("x-account-id", "1")];
    let response = gateway.send("GET /_matrix/client/v3/sync", Some(token), &forged_headers).await;
    let identity = response.text().await.unwrap();
    let account = identity.split('|').next().unwrap();
    assert!(account.len() > 1 && account.parse::<i64>().is_ok(), "{identity}");
    assert_eq!(gateway.upstream.request_count(), 1);
    let response = gateway.send("GET /_matrix/client/v3/sync", None, &[]).await;
    assert_eq!(response.status(), 401);
    assert_eq!(response.json::<Value>().await.unwrap()["errcode"], "M_MISSING_TOKEN");
    assert_eq!(gateway.upstream.request_count(), 1);
    for path in ["/_matrix/client/versions", "/.well-known/matrix/client"] {
        let response = gateway.send(&format!("GET {path}"), None, &forged_headers).await;
        assert_eq!(
            (response.status().as_u16(), &*response.text().await.unwrap()),
            (200, "-|-|-"),
            "{path}"
        );
    }
    verify_page(&gateway).await;
    for (target, status, code) in [
        ("POST /_matrix/client/v3/logout/all", 401, "M_MISSING_TOKEN"),
        ("GET /_matrix/client/r0/register/available", 404, "M_UNRECOGNIZED"),
    ] {
        let response = gateway.send(target, None, &[]).await;
        assert_eq!(response.status(), status, "{target}");
        assert_eq!(response.json::<Value>().await.unwrap()["errcode"], code);
    }
    assert_eq!(gateway.upstream.request_count(), 3);
    verify_preflight(&gateway, "/_matrix/client/v3/sync").await;
}

/// Asserts that a page of Belfry and its style reach the browser.
async fn verify_page(gateway: &Gateway) {
    let response = gateway.send("GET /oauth/sign_in", None, &[]).await;
    assert_eq!(response.status(), 200);
    let page = response.text().await.unwrap();
    let style = page.split('"').find(|text| text.starts_with("/oauth/static/")).unwrap();
    let response = gateway.send(&format!("GET {style}"), None, &[]).await;
    assert_eq!(response.headers()["content-type"], "text/css; charset=utf-8");
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
    let requests_before = gateway.upstream.request_count();
    let forged_headers = [("x-account-id", "1"), ("x-app-id", "1"), ("x-scopes", "admin")];
    for token in [None, Some(gateway.token.as_str())] {
        let response = gateway.send(&format!("OPTIONS {path}"), token, &forged_headers).await;
        let status = response.status().as_u16();
        assert_eq!((status, &*response.text().await.unwrap()), (200, "-|-|-"));
    }
    assert_eq!(gateway.upstream.request_count(), requests_before + 2);
    for method in ["GET", "POST"] {
        let response = gateway.send(&format!("{method} {path}"), None, &forged_headers).await;
        assert_eq!(response.status(), 401, "{method}");
    }
    assert_eq!(gateway.upstream.request_count(), requests_before + 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mastodon_clients_use_a_social_server_and_belfry_at_one_url() {
    let Some(gateway) = Gateway::start(Configuration::NginxWith(MASTODON), "").await else {
        return;
    };
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", gateway.port);
    let client = reqwest::Client::new();
    let registration =
        [("client_name", "a"), ("redirect_uris", "https://app.example/"), ("scopes", "write")];
    let app: Value = client
        .post(url("/api/v1/apps"))
        .form(&registration)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let credentials =
        ["client_id", "client_secret"].map(|name| (name, app[name].as_str().unwrap()));
    let fields =
        [("grant_type", "client_credentials"), ("scope", "write"), credentials[0], credentials[1]];
    let response = client.post(url("/oauth/token")).form(&fields).send().await.unwrap();
    let token_response: Value = response.json().await.unwrap();
    let token = token_response["access_token"].as_str().unwrap();
    let response = gateway.send("GET /api/v1/apps/verify_credentials", Some(token), &[]).await;
    assert_eq!(response.status(), 200);
    let sign_up_fields = [
        ("username", "carol"),
        ("email", "carol@example.org"),
        ("password", "a long password"),
        ("agreement", "true"),
    ];
    let sign_up_request =
        client.post(url("/api/v1/accounts")).bearer_auth(token).form(&sign_up_fields);
    let sign_up: Value = sign_up_request.send().await.unwrap().json().await.unwrap();
    let carol_token = sign_up["access_token"].as_str().unwrap_or_else(|| panic!("{sign_up}"));
    let response = gateway.send("GET /.well-known/oauth-authorization-server", None, &[]).await;
    assert!(response.text().await.unwrap().contains("token_endpoint"));
    assert_eq!(gateway.upstream.request_count(), 0, "Belfry has answered");

    let response = gateway.send("GET /api/v1/timelines/home", Some(carol_token), &[]).await;
    let identity = response.text().await.unwrap();
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
    assert_eq!(gateway.upstream.request_count(), 3);
    verify_page(&gateway).await;
    verify_preflight(&gateway, "/api/v1/timelines/home").await;
}
