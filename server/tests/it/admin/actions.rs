//! Admin actions on accounts, with their audit events.

use axum::http::StatusCode;
use belfry_core::account::Role;
use serde_json::{Value, json};

use super::{account_id, admin_client, set_role};
use crate::support::browser::encode_form;
use crate::support::{Service, TestClient, on_both_engines, recorded_events};

on_both_engines! {
    crate::admin::start_unlimited:
    an_admin_disables_and_enables_an_account,
    an_admin_deletes_an_account,
    an_admin_records_a_note,
    the_last_admin_cannot_be_disabled_or_deleted,
    other_actions_are_rejected,
}

/// Returns the audit events: kind, account id, detail, address, and whether an event has this
/// request id.
async fn read_events(service: &Service, request_id: &str) -> Vec<Value> {
    let events = service.store().audit_events(recorded_events(), 100).await.unwrap();
    let to_json = |event: &belfry_store::AuditEvent| {
        let has_id = event.request_id.as_deref() == Some(request_id);
        json!([event.kind, event.account_id, event.detail, event.address, has_id])
    };
    events.iter().map(to_json).collect()
}

/// Adds `bob`, and returns a client with his token, his account id and its path in the admin API.
async fn add_bob(service: &Service) -> (TestClient, i64, String) {
    let bob = service.user_client("bob").await;
    let id = account_id(service, "bob").await;
    (bob, id, format!("/api/v1/admin/accounts/{id}"))
}

async fn an_admin_disables_and_enables_an_account(service: Service) {
    let service = &service;
    let admin = admin_client(service, "admin:write:accounts admin:read:accounts").await;
    let (bob, id, path) = add_bob(service).await;
    let verify_credentials = "/api/v1/accounts/verify_credentials";
    assert_eq!(bob.get(verify_credentials).await.status, 200);

    let body = encode_form(&[("type", "disable"), ("text", "spam\nand more")]);
    let disable_response = admin.send(&format!("POST {path}/action"), body).await;
    assert_eq!(disable_response.expect_json(StatusCode::OK), json!({}));
    let request_id = disable_response.header("x-request-id").to_owned();
    let expected = json!(["account_disable", id, "by root: spam and more", "192.0.2.1", true]);
    assert_eq!(read_events(service, &request_id).await, [expected]);
    assert_eq!(
        bob.get(verify_credentials).await.json()["error"],
        "Your login is currently disabled"
    );
    let bobs_account = admin.get(&path).await.expect_json(StatusCode::OK);
    assert_eq!(
        (&bobs_account["disabled"], &bobs_account["username"]),
        (&json!(true), &json!("bob"))
    );

    let enable_response = admin.send(&format!("POST {path}/enable"), "").await;
    let account = enable_response.expect_json(StatusCode::OK);
    assert_eq!(account["disabled"], false);
    assert_eq!(account, admin.get(&path).await.json());
    assert_eq!(bob.get(verify_credentials).await.status, 200);
    let request_id = enable_response.header("x-request-id").to_owned();
    let expected = json!(["account_enable", id, "by root", "192.0.2.1", true]);
    assert!(read_events(service, &request_id).await.contains(&expected));

    // Enabling an enabled account changes nothing.
    let second_response = admin.send(&format!("POST {path}/enable"), "").await;
    assert_eq!(second_response.expect_json(StatusCode::OK), account);
    assert_eq!(read_events(service, "").await.len(), 2);
}

async fn an_admin_deletes_an_account(service: Service) {
    let service = &service;
    let admin = admin_client(service, "admin:write:accounts admin:read:accounts").await;
    let (bob, id, path) = add_bob(service).await;
    let before = admin.get(&path).await.expect_json(StatusCode::OK);
    let delete_response = admin.send(&format!("DELETE {path}"), "").await;
    assert_eq!(delete_response.expect_json(StatusCode::OK), before);
    let request_id = delete_response.header("x-request-id").to_owned();
    let expected = json!(["account_delete", id, "name bob; by root", "192.0.2.1", true]);
    assert_eq!(read_events(service, &request_id).await, [expected]);
    assert_eq!(bob.get("/api/v1/accounts/verify_credentials").await.status, 401);
    for request in ["GET ", "DELETE ", "POST /enable", "POST /action"] {
        let (method, suffix) = request.split_once(' ').unwrap();
        let response = admin.send(&format!("{method} {path}{suffix}"), "type=disable").await;
        assert_eq!(
            response.expect_json(StatusCode::NOT_FOUND),
            json!({ "error": "Record not found" })
        );
    }
    for id in ["x", "0", "-1", "99999999999999999999", "%00", "%31"] {
        let response = admin.get(&format!("/api/v1/admin/accounts/{id}")).await;
        assert_eq!(
            response.expect_json(StatusCode::NOT_FOUND),
            json!({ "error": "Record not found" })
        );
    }
    assert_eq!(read_events(service, "").await.len(), 1);
}

async fn an_admin_records_a_note(service: Service) {
    let service = &service;
    let admin = admin_client(service, "admin:write").await;
    let (bob, id, path) = add_bob(service).await;
    for (body, detail) in [
        (encode_form(&[("type", "none")]), "by root"),
        (encode_form(&[("type", "none"), ("text", "be nice")]), "by root: be nice"),
    ] {
        let response = admin.send(&format!("POST {path}/action"), body).await;
        assert_eq!(response.expect_json(StatusCode::OK), json!({}));
        let request_id = response.header("x-request-id").to_owned();
        let expected = json!(["account_note", id, detail, "192.0.2.1", true]);
        assert!(read_events(service, &request_id).await.contains(&expected), "{detail}");
    }
    assert_eq!(bob.get("/api/v1/accounts/verify_credentials").await.status, 200);
}

async fn the_last_admin_cannot_be_disabled_or_deleted(service: Service) {
    let service = &service;
    let admin = admin_client(service, "admin:write admin:read").await;
    let path = format!("/api/v1/admin/accounts/{}", account_id(service, "root").await);
    let error =
        json!({ "error": "Validation failed: The last admin cannot be disabled or deleted" });
    let action_request = format!("POST {path}/action");
    let disable_response = admin.send(&action_request, encode_form(&[("type", "disable")])).await;
    assert_eq!(disable_response.expect_json(StatusCode::UNPROCESSABLE_ENTITY), error);
    let delete_response = admin.send(&format!("DELETE {path}"), "").await;
    assert_eq!(delete_response.expect_json(StatusCode::UNPROCESSABLE_ENTITY), error);
    assert_eq!(admin.get(&path).await.json()["disabled"], false);
    assert_eq!(read_events(service, "").await, [Value::Null; 0]);

    // An admin can be disabled if another admin exists.
    service.add_account("other").await;
    set_role(service, "other", Role::Admin).await;
    admin
        .send(&action_request, encode_form(&[("type", "disable")]))
        .await
        .expect_json(StatusCode::OK);
    assert_eq!(admin.get(&path).await.status, 403);
}

async fn other_actions_are_rejected(service: Service) {
    let service = &service;
    let admin = admin_client(service, "admin:write admin:read").await;
    let (_, _, path) = add_bob(service).await;
    let before = admin.get(&path).await.expect_json(StatusCode::OK);
    for action_type in ["suspend", "silence", "sensitive", "Disable", ""] {
        let response =
            admin.send(&format!("POST {path}/action"), encode_form(&[("type", action_type)])).await;
        let error = json!({ "error": "Validation failed: Type is not included in the list" });
        assert_eq!(response.expect_json(StatusCode::UNPROCESSABLE_ENTITY), error, "{action_type}");
    }
    // The comment would be missing in the audit trail.
    let body = encode_form(&[("type", "disable"), ("text[]", "spam")]);
    let response = admin.send(&format!("POST {path}/action"), body).await;
    let error = json!({ "error": "Validation failed: Text must be one value, not a list" });
    assert_eq!(response.expect_json(StatusCode::UNPROCESSABLE_ENTITY), error);
    assert_eq!(admin.get(&path).await.json(), before);
    assert_eq!(read_events(service, "").await, [Value::Null; 0]);
}
