//! Admin scopes: who can grant them, and their effect after the role has changed.

use axum::http::StatusCode;
use belfry_core::account::Role;
use serde_json::json;

use super::set_role;
use crate::support::browser::encode_form;
use crate::support::oauth_client::{CALLBACK, expect_token, oauth_error, status_and_error};
use crate::support::{OAuthClient, Service, on_both_engines};

on_both_engines! {
    crate::admin::start_unlimited:
    only_an_admin_can_grant_admin_scopes,
    an_admin_must_consent_to_admin_scopes_each_time,
    the_role_is_checked_again_at_consent_and_redemption,
    a_demoted_admins_token_has_no_admin_scopes,
    admin_scopes_are_not_granted_without_consent,
}

const SCOPES: &str = "read write admin:read admin:write:accounts";

/// Adds the accounts `root` and `spare` (admins) and `alice`, and registers an app with admin
/// scopes.
async fn register_app(service: &Service) -> OAuthClient {
    for name in ["root", "spare", "alice"] {
        service.add_account(name).await;
    }
    set_role(service, "root", Role::Admin).await;
    set_role(service, "spare", Role::Admin).await;
    OAuthClient::register_with(service.anonymous_client(), CALLBACK, SCOPES).await
}

async fn only_an_admin_can_grant_admin_scopes(service: Service) {
    let service = &service;
    let client = register_app(service).await;
    let mut browser = service.browser();
    for scopes in ["admin:read", "read admin:read", "admin:write:accounts"] {
        let page = browser.get(&client.authorize_path(&[("scope", scopes)])).await;
        let page = if page.text.contains("name=\"password\"") {
            browser.sign_in(&page, "alice").await
        } else {
            page
        };
        // The user has not used this app before, so a page with a link is shown, not a redirect.
        page.assert_page(400, "error=invalid_scope");
    }
    let code = client.obtain_code(&mut browser, "alice", &[("scope", "read")]).await;
    expect_token(&client.redeem(&code, &[]).await);
    let response = browser.get(&client.authorize_path(&[("scope", "read admin:read")])).await;
    assert_eq!(response.redirect_parameters(CALLBACK)["error"], "invalid_scope");

    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[("scope", SCOPES)])).await;
    let page = browser.sign_in(&page, "root").await;
    page.assert_page(200, "As an administrator of this server:");
    let parameters = browser.decide(&page, "allow").await.redirect_parameters(CALLBACK);
    let token = client.redeem(&parameters["code"], &[]).await.expect_json(StatusCode::OK);
    assert_eq!(token["scope"], SCOPES);
    let admin = service.anonymous_client().with_token(token["access_token"].as_str().unwrap());
    assert_eq!(admin.get("/api/v2/admin/accounts").await.status, 200);
    let account = admin.get("/api/v1/accounts/verify_credentials").await.json();
    let role = json!({
        "id": "3", "name": "Admin", "permissions": "1048575", "color": "", "highlighted": true,
    });
    assert_eq!(account["role"], role);
}

async fn an_admin_must_consent_to_admin_scopes_each_time(service: Service) {
    let client = register_app(&service).await;
    let mut browser = service.browser();
    for scopes in [SCOPES, "admin:read", "read"] {
        let code = client.obtain_code(&mut browser, "root", &[("scope", scopes)]).await;
        expect_token(&client.redeem(&code, &[]).await);
    }
    for scopes in [SCOPES, "admin:read"] {
        let page = browser.get(&client.authorize_path(&[("scope", scopes)])).await;
        page.assert_page(200, "As an administrator of this server:");
    }
    let response = browser.get(&client.authorize_path(&[("scope", "read")])).await;
    assert!(response.redirect_parameters(CALLBACK).contains_key("code"));
}

async fn the_role_is_checked_again_at_consent_and_redemption(service: Service) {
    let service = &service;
    let client = register_app(service).await;
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[("scope", SCOPES)])).await;
    let page = browser.sign_in(&page, "root").await;
    page.assert_page(200, "decision");
    set_role(service, "root", Role::User).await;
    let parameters = browser.decide(&page, "allow").await.redirect_parameters(CALLBACK);
    assert_eq!(parameters["error"], "invalid_scope");
    assert_eq!(parameters.get("code"), None);

    set_role(service, "root", Role::Admin).await;
    let code = client.obtain_code(&mut browser, "root", &[("scope", SCOPES)]).await;
    set_role(service, "root", Role::User).await;
    let response = client.redeem(&code, &[]).await;
    assert_eq!(status_and_error(&response), oauth_error(400, "invalid_grant"));
    // The rejected request did not redeem the code, and the role at redemption counts.
    set_role(service, "root", Role::Admin).await;
    assert_eq!(client.redeem(&code, &[]).await.expect_json(StatusCode::OK)["scope"], SCOPES);
}

async fn a_demoted_admins_token_has_no_admin_scopes(service: Service) {
    let service = &service;
    let client = register_app(service).await;
    let mut browser = service.browser();
    let code = client.obtain_code(&mut browser, "root", &[("scope", SCOPES)]).await;
    let token = expect_token(&client.redeem(&code, &[]).await);
    let introspect_scopes = async || {
        let response = client.post("/oauth/introspect", &[("token", &token)]).await;
        response.expect_json(StatusCode::OK)["scope"].as_str().unwrap().to_owned()
    };
    let proxy = service
        .anonymous_client()
        .with_token(&token)
        .with_header("x-original-method", "GET")
        .with_header("x-original-uri", "/internal");
    let check_scope = async |scope: &str| proxy.get(&format!("/gateway/check?scope={scope}")).await;
    for (role, expected_scopes, status) in
        [(Role::Admin, SCOPES, 200), (Role::User, "read write", 403), (Role::Admin, SCOPES, 200)]
    {
        set_role(service, "root", role).await;
        assert_eq!(introspect_scopes().await, expected_scopes);
        assert_eq!(check_scope("admin:read").await.status, status, "{role}");
        assert_eq!(check_scope("admin:write:accounts").await.status, status, "{role}");
        assert_eq!(check_scope("read").await.header("x-scopes"), expected_scopes);
        let page = browser.get("/oauth/account").await;
        let has_admin_scopes = page.text.contains("As an administrator of this server:");
        assert_eq!(has_admin_scopes, role == Role::Admin);
    }
}

async fn admin_scopes_are_not_granted_without_consent(service: Service) {
    let service = &service;
    let client = register_app(service).await;
    for scope in ["admin:read", "read admin:write:accounts"] {
        let fields = [("grant_type", "client_credentials"), ("scope", scope)];
        let response = client.post("/oauth/token", &fields).await;
        assert_eq!(status_and_error(&response), oauth_error(400, "invalid_scope"));
    }
    let app_token = client.obtain_app_token("write").await;
    let fields = encode_form(&[
        ("username", "carol"),
        ("email", "carol@example.org"),
        ("password", "correct horse"),
        ("agreement", "true"),
    ]);
    let response = client.http.with_token(&app_token).send("POST /api/v1/accounts", fields).await;
    assert_eq!(response.expect_json(StatusCode::OK)["scope"], "read write");
    // A token from a Matrix login has no admin scopes, even for an admin.
    let login_body = json!({
        "type": "m.login.password",
        "identifier": { "type": "m.id.user", "user": "root" },
        "password": "correct horse root",
    });
    let response = service
        .anonymous_client()
        .send("POST /_matrix/client/v3/login", login_body.to_string())
        .await;
    let login = response.expect_json(StatusCode::OK);
    let root_client =
        service.anonymous_client().with_token(login["access_token"].as_str().unwrap());
    let response = root_client.get("/api/v2/admin/accounts").await;
    let error = json!({
        "error": "This action is outside the authorized scopes",
        "error_description": "This token lacks the scope admin:read:accounts",
    });
    assert_eq!(response.expect_json(StatusCode::FORBIDDEN), error);
}
