//! Access to the admin API requires an admin and the endpoint's scope.

use axum::http::StatusCode;
use belfry::config::RateLimitMode;
use belfry_core::account::Role;
use belfry_core::oauth::scope::Scope;
use serde_json::{Value, json};

use super::{admin_client, set_role};
use crate::support::{Service, TestClient, TestResponse, any_events, on_both_engines};

on_both_engines! {
    crate::admin::start_unlimited:
    every_endpoint_requires_an_admin_with_its_scope,
    a_demoted_admin_loses_access_immediately,
}

/// Every endpoint with its scope. Account 1, which some paths name, does not exist.
const ENDPOINTS: [(&str, &str); 5] = [
    ("GET /api/v2/admin/accounts", "admin:read:accounts"),
    ("GET /api/v1/admin/accounts/1", "admin:read:accounts"),
    ("DELETE /api/v1/admin/accounts/1", "admin:write:accounts"),
    ("POST /api/v1/admin/accounts/1/action", "admin:write:accounts"),
    ("POST /api/v1/admin/accounts/1/enable", "admin:write:accounts"),
];

fn status_and_error(response: &TestResponse) -> (u16, Value) {
    (response.status, response.json()["error"].take())
}

fn not_allowed_error() -> (u16, Value) {
    (403, json!("This action is not allowed"))
}

/// Returns a client with a new token for this account, or with an app token if there is no account.
async fn client_with_scopes(
    service: &Service,
    account_id: Option<i64>,
    scopes: &str,
) -> TestClient {
    let token = service.issue_token(account_id, scopes).await;
    service.anonymous_client().with_token(token.reveal())
}

async fn every_endpoint_requires_an_admin_with_its_scope(service: Service) {
    let service = &service;
    admin_client(service, "read").await;
    let root_id = super::account_id(service, "root").await;
    service.add_account("alice").await;
    let alice_id = super::account_id(service, "alice").await;
    let every_scope: String =
        Scope::ALL.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" ");
    for (request, scope) in ENDPOINTS {
        let parent = if scope.starts_with("admin:read") { "admin:read" } else { "admin:write" };
        for scopes in [scope, parent, &every_scope] {
            let response =
                client_with_scopes(service, Some(root_id), scopes).await.send(request, "").await;
            if request.contains("/1") {
                assert_eq!(
                    status_and_error(&response),
                    (404, json!("Record not found")),
                    "{request}"
                );
            } else {
                assert_eq!(response.status, 200, "{request} {scopes}: {response:?}");
            }
        }
        let covers_scope = |candidate: &&Scope| candidate.covers(scope.parse().unwrap());
        let other_scopes: Vec<&str> = Scope::ALL
            .iter()
            .filter(|candidate| !covers_scope(candidate))
            .map(|candidate| candidate.as_str())
            .collect();
        let client = client_with_scopes(service, Some(root_id), &other_scopes.join(" ")).await;
        let response = client.send(request, "").await;
        let expected = (403, json!("This action is outside the authorized scopes"));
        assert_eq!(status_and_error(&response), expected, "{request}");
        let description = format!("This token lacks the scope {scope}");
        assert_eq!(response.json()["error_description"], description, "{request}");
        let challenge = response.header("www-authenticate");
        assert!(challenge.contains("insufficient_scope"), "{request}");
        assert!(challenge.ends_with(&format!("scope=\"{scope}\"")), "{request}: {challenge}");

        for account in [None, Some(alice_id)] {
            let client = client_with_scopes(service, account, &every_scope).await;
            let response = client.send(request, "").await;
            assert_eq!(status_and_error(&response), not_allowed_error(), "{request} {account:?}");
        }
        let response = service.anonymous_client().send(request, "").await;
        assert_eq!(
            status_and_error(&response),
            (401, json!("The access token is invalid")),
            "{request}"
        );
    }
}

async fn a_demoted_admin_loses_access_immediately(service: Service) {
    let service = &service;
    let admin = admin_client(service, "admin:read admin:write").await;
    service.add_account("other").await;
    set_role(service, "other", Role::Admin).await;
    let get_status = async |request: &str| admin.send(request, "").await.status;
    assert_eq!(get_status("GET /api/v2/admin/accounts").await, 200);
    set_role(service, "root", Role::User).await;
    for (request, _) in ENDPOINTS {
        assert_eq!(
            status_and_error(&admin.send(request, "").await),
            not_allowed_error(),
            "{request}"
        );
    }
    set_role(service, "root", Role::Admin).await;
    assert_eq!(get_status("GET /api/v2/admin/accounts").await, 200);
    // A disabled admin has no access at all.
    let root_id = super::account_id(service, "root").await;
    service
        .store()
        .set_account_disabled_at(&any_events(), root_id, Some(service.now()))
        .await
        .unwrap();
    let disabled_error = (403, json!("Your login is currently disabled"));
    assert_eq!(status_and_error(&admin.get("/api/v2/admin/accounts").await), disabled_error);
}

#[tokio::test]
async fn an_application_service_acting_for_an_admin_has_no_access() {
    let settings = "[[application_services]]\nid = 'irc'\nas_token = 'as_token_of_irc'\n\
         hs_token = 'x'\nsender_localpart = 'irc_bot'\n\
         [application_services.namespaces]\nusers = [{ exclusive = false, regex = '@.*' }]";
    let mut config: belfry::config::Config = toml::from_str(settings).unwrap();
    config.limits.mode = RateLimitMode::Off;
    let service = Service::start_with(config).await;
    admin_client(&service, "read").await;
    let bridge = service.anonymous_client().with_token("as_token_of_irc");
    let whoami = "/_matrix/client/v3/account/whoami?user_id=@root:ring.example";
    bridge.get(whoami).await.expect_json(StatusCode::OK);
    for (request, _) in ENDPOINTS {
        let response = bridge.send(&format!("{request}?user_id=@root:ring.example"), "").await;
        assert_eq!(
            status_and_error(&response),
            (401, json!("The access token is invalid")),
            "{request}"
        );
    }
}
