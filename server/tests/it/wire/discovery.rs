//! Snapshots of the documents that clients read first: metadata, instance and nodeinfo.

use crate::support::Service;
use crate::support::service::config_with;

async fn assert_document(name: &str, path: &str) {
    let config_with_documentation = config_with(|config| {
        config.instance.title = "Ringers".into();
        config.instance.description = "We ring".into();
        config.oauth.documentation_url = "https://docs.example/".parse().ok();
    });
    let service = Service::start_with(config_with_documentation).await;
    service.anonymous_client().exchange(&format!("GET {path}"), "").await.assert_snapshot(name);
}

#[tokio::test]
async fn oauth_metadata_matches_its_snapshot() {
    assert_document("oauth_metadata", "/.well-known/oauth-authorization-server").await;
}

#[tokio::test]
async fn instance_v1_matches_its_snapshot() {
    assert_document("instance_v1", "/api/v1/instance").await;
}

#[tokio::test]
async fn instance_v2_matches_its_snapshot() {
    assert_document("instance_v2", "/api/v2/instance").await;
}

#[tokio::test]
async fn nodeinfo_links_match_their_snapshot() {
    assert_document("nodeinfo_links", "/.well-known/nodeinfo").await;
}

#[tokio::test]
async fn nodeinfo_matches_its_snapshot() {
    assert_document("nodeinfo", "/nodeinfo/2.0").await;
}

#[tokio::test]
async fn preflight_response_matches_its_snapshot() {
    let service = Service::start().await;
    service
        .anonymous_client()
        .exchange("OPTIONS /oauth/token", "")
        .await
        .assert_snapshot("preflight");
}
