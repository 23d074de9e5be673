//! The OpenAPI document. A unit test of the router compares it with the routes.

use axum::http::StatusCode;
use belfry::config::Config;
use serde_json::json;

use crate::interop::python;
use crate::support::Service;

const DOCUMENT_PATH: &str = "/openapi.json";

#[tokio::test]
async fn the_document_names_the_server_and_a_configured_segment() {
    let config: Config = toml::from_str("name_segments = ['_ring']").unwrap();
    let service = Service::start_with(config).await;
    let document = service.anonymous_client().get(DOCUMENT_PATH).await.expect_json(StatusCode::OK);
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(document["servers"], json!([{ "url": "https://ring.example" }]));
    let flow = &document["components"]["securitySchemes"]["oauth2"]["flows"]["authorizationCode"];
    assert_eq!(flow["tokenUrl"], "https://ring.example/oauth/token");
    let paths = document["paths"].as_object().unwrap();
    let rule_path = "/_ring/client/v3/pushrules/{scope}/{kind}/{rule_id}";
    assert!(paths[rule_path]["put"].is_object());
    assert!(!paths.keys().any(|path| path.contains("_matrix")));
}

#[tokio::test]
async fn the_document_is_revalidated_and_readable_by_any_origin() {
    let client = Service::start().await.anonymous_client();
    let response = client.get(DOCUMENT_PATH).await;
    assert_eq!(response.header("cache-control"), "max-age=0");
    assert_eq!(response.header("access-control-allow-origin"), "*");
    let etag = response.header("etag");
    for (known_etag, status) in [(&*format!("W/{etag}, \"a\""), 304), ("\"a\"", 200)] {
        let client = client.with_header("if-none-match", known_etag);
        assert_eq!(client.get(DOCUMENT_PATH).await.status, status, "{known_etag}");
    }
}

/// The document conforms to OpenAPI, the recorded responses in `wire/` conform to the document, and
/// `docs/api.md` is generated from it.
#[tokio::test]
async fn the_document_is_valid_and_describes_the_recorded_responses() {
    let service = Service::start().await;
    let dir = tempfile::tempdir().unwrap();
    let document_file = dir.path().join("openapi.json");
    std::fs::write(&document_file, service.anonymous_client().get(DOCUMENT_PATH).await.text)
        .unwrap();
    let document_file = document_file.to_str().unwrap();
    let snapshots = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/wire/snapshots");
    python::run_script(include_str!("openapi/validate.py"), &[document_file, snapshots]);
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/api.md");
    python::run_script(include_str!("openapi/reference.py"), &[document_file, page]);
}
