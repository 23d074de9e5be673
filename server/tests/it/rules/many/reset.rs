//! Reset of all rules, or of the rules in one scope.

use axum::http::StatusCode;
use serde_json::json;

use super::add_rules;
use crate::rules::pushrules_path;
use crate::support::{Service, on_both_engines};

on_both_engines! {
    crate::rules::start_unlimited_on:
    reset_deletes_all_rules_or_those_in_one_scope,
}

async fn reset_deletes_all_rules_or_those_in_one_scope(service: Service) {
    let alice = service.user_client("alice").await;
    let initial_rulesets = alice.get_rules("").await;
    let empty_export = alice.export().await;
    add_rules(&alice).await;
    let full_export = alice.export().await;
    let reset = async |body: &str| {
        let response =
            alice.send(&format!("POST {}", pushrules_path("reset")), body.to_owned()).await;
        assert_eq!(response.expect_json(StatusCode::OK), json!({}), "{body}");
    };
    reset(r#"{"scope":"device/unknown"}"#).await;
    assert_eq!(alice.export().await, full_export);

    reset(r#"{"scope":"device/phone"}"#).await;
    let mut expected = full_export.clone();
    expected["device"] = json!({});
    assert_eq!(alice.export().await, expected);

    alice.import(&full_export).await;
    reset(r#"{"scope":"global"}"#).await;
    let mut expected = empty_export.clone();
    expected["device"] = full_export["device"].clone();
    assert_eq!(alice.export().await, expected);

    for body in ["", "{}"] {
        alice.import(&full_export).await;
        reset(body).await;
        assert_eq!(alice.export().await, empty_export);
        assert_eq!(
            alice.get_rules("").await,
            initial_rulesets,
            "the rules are those of a new user"
        );
        reset(body).await;
    }

    alice.import(&full_export).await;
    for (body, errcode) in [
        (r#"{"scpoe":"device/phone"}"#, "M_BAD_JSON"),
        (r#"{"scope":null}"#, "M_BAD_JSON"),
        (r#"{"scope":"phone"}"#, "M_INVALID_PARAM"),
        ("[]", "M_BAD_JSON"),
        (" ", "M_NOT_JSON"),
        ("scope=global", "M_NOT_JSON"),
    ] {
        let response = alice.send(&format!("POST {}", pushrules_path("reset")), body).await;
        assert_eq!(response.status_and_errcode(), (400, errcode.into()), "{body}");
    }
    assert_eq!(alice.export().await, full_export);
}
