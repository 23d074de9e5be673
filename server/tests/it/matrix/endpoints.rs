//! Tests of the Matrix `versions` endpoint, path prefixes and unsupported methods.

use axum::http::StatusCode;
use serde_json::json;

use super::CLIENT_API;
use crate::rules::start_unlimited;

#[tokio::test]
async fn versions_are_public() {
    let service = start_unlimited().await;
    for path in
        ["/_matrix/client/versions", "/_service/client/versions", "/_matrix/client/r0/versions"]
    {
        let body = service.anonymous_client().get(path).await.expect_json(StatusCode::OK);
        let versions = body["versions"].as_array().unwrap();
        for version in ["r0.6.1", "v1.1", "v1.11"] {
            assert!(versions.contains(&json!(version)), "{path}: {version}");
        }
        assert_eq!(body["unstable_features"], json!({}), "{path}");
    }
}

#[tokio::test]
async fn every_prefix_serves_the_login_and_account_endpoints() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
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
                let response = alice.send(&format!("POST {prefix}/{path}"), "{}").await;
                assert_eq!(response.status, status, "{prefix}/{path}");
            }
            let client = service.user_client("alice").await;
            let response = client.send(&format!("POST {prefix}/logout"), "").await;
            assert_eq!(response.status, 200, "{prefix}");
        }
    }
}

#[tokio::test]
async fn an_unsupported_method_is_rejected() {
    let service = start_unlimited().await;
    for request in
        ["PUT login", "GET register", "GET logout", "POST account/whoami", "POST versions"]
    {
        let (method, path) = request.split_once(' ').unwrap();
        let response =
            service.anonymous_client().send(&format!("{method} {CLIENT_API}/{path}"), "").await;
        assert_eq!(response.status_and_errcode(), (405, "M_UNRECOGNIZED".into()), "{request}");
    }
}
