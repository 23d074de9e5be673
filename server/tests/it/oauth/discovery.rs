//! Server metadata, instance information and nodeinfo.

use axum::http::StatusCode;
use belfry::config::RegistrationPolicy;
use serde_json::{Value, json};

use crate::support::Service;
use crate::support::service::config_with;

/// All scopes, in the order of the metadata.
const SCOPES: &str = "read write write:accounts write:blocks write:bookmarks write:conversations \
    write:favourites write:filters write:follows write:lists write:media write:mutes \
    write:notifications write:reports write:statuses read:accounts read:blocks read:bookmarks \
    read:favourites read:filters read:follows read:lists read:mutes read:notifications \
    read:search read:statuses follow push profile admin:read admin:read:accounts \
    admin:read:reports admin:read:domain_allows admin:read:domain_blocks admin:read:ip_blocks \
    admin:read:email_domain_blocks admin:read:canonical_email_blocks admin:write \
    admin:write:accounts admin:write:reports admin:write:domain_allows admin:write:domain_blocks \
    admin:write:ip_blocks admin:write:email_domain_blocks admin:write:canonical_email_blocks";

#[tokio::test]
async fn the_metadata_has_exactly_these_fields() {
    let config_with_documentation = config_with(|config| {
        config.oauth.documentation_url = "https://docs.example/".parse().ok();
    });
    let service = Service::start_with(config_with_documentation).await;
    let response = service.anonymous_client().get("/.well-known/oauth-authorization-server").await;
    let expected = json!({
        "issuer": "https://ring.example/",
        "service_documentation": "https://docs.example/",
        "authorization_endpoint": "https://ring.example/oauth/authorize",
        "token_endpoint": "https://ring.example/oauth/token",
        "app_registration_endpoint": "https://ring.example/api/v1/apps",
        "revocation_endpoint": "https://ring.example/oauth/revoke",
        "userinfo_endpoint": "https://ring.example/oauth/userinfo",
        "introspection_endpoint": "https://ring.example/oauth/introspect",
        "scopes_supported": SCOPES.split_whitespace().collect::<Vec<_>>(),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "fragment", "form_post"],
        "code_challenge_methods_supported": ["S256"],
        "grant_types_supported": ["authorization_code", "client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "authorization_response_iss_parameter_supported": true,
    });
    assert_eq!(response.expect_json(StatusCode::OK), expected);
}

#[tokio::test]
async fn without_a_documentation_url_the_metadata_names_the_openapi_document() {
    let service = Service::start().await;
    let metadata = service.anonymous_client().get("/.well-known/oauth-authorization-server").await;
    let documentation = metadata.expect_json(StatusCode::OK)["service_documentation"].clone();
    assert_eq!(documentation, "https://ring.example/openapi.json");
    assert_eq!(service.anonymous_client().get("/openapi.json").await.status, 200);
}

#[tokio::test]
async fn the_metadata_names_no_registration_endpoint_while_app_registration_is_closed() {
    let closed_config = config_with(|config| config.app_registration = RegistrationPolicy::Closed);
    let get_metadata = async |service: &Service| {
        let response =
            service.anonymous_client().get("/.well-known/oauth-authorization-server").await;
        response.expect_json(StatusCode::OK)
    };
    let mut expected = get_metadata(&Service::start().await).await;
    expected.as_object_mut().unwrap().remove("app_registration_endpoint").unwrap();
    let service = Service::start_with(closed_config).await;
    assert_eq!(get_metadata(&service).await, expected);
    for path in ["/api/v1/instance", "/api/v2/instance", "/.well-known/nodeinfo"] {
        let open_response = Service::start().await.anonymous_client().get(path).await;
        let closed_response = service.anonymous_client().get(path).await;
        assert_eq!(
            closed_response.expect_json(StatusCode::OK),
            open_response.expect_json(StatusCode::OK),
            "{path}"
        );
    }
}

// Host header injection.
#[tokio::test]
async fn request_headers_do_not_change_the_urls() {
    let service = Service::start().await;
    let forging_client = service
        .anonymous_client()
        .with_header("host", "evil.example")
        .with_header("x-forwarded-host", "evil.example")
        .with_header("forwarded", "host=evil.example");
    for path in ["/.well-known/oauth-authorization-server", "/api/v2/instance", "/api/v1/instance"]
    {
        let response = forging_client.get(path).await;
        assert_eq!(response.status, 200);
        assert!(!response.text.contains("evil"), "{path}");
    }
}

#[tokio::test]
async fn a_trailing_slash_is_ignored() {
    let service = Service::start().await;
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/nodeinfo",
        "/api/v1/instance",
        "/api/v2/instance",
        "/oauth/userinfo",
        "/oauth/authorize",
    ] {
        let (without_slash, with_slash) = (
            service.anonymous_client().get(&format!("{path}?x=/")).await,
            service.anonymous_client().get(&format!("{path}/?x=/")).await,
        );
        assert_eq!(
            (without_slash.status, without_slash.text),
            (with_slash.status, with_slash.text),
            "{path}"
        );
        assert_ne!(without_slash.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_instance_has_the_fields_that_clients_read_first() {
    let config_with_title = config_with(|config| {
        config.instance.title = "Ringers".to_owned();
        config.instance.description = "We ring".to_owned();
    });
    let service = Service::start_with(config_with_title).await;
    let v1 = service.anonymous_client().get("/api/v1/instance").await.expect_json(StatusCode::OK);
    let v2 = service.anonymous_client().get("/api/v2/instance").await.expect_json(StatusCode::OK);
    assert_eq!((&v1["uri"], &v2["domain"]), (&json!("ring.example"), &json!("ring.example")));
    for instance in [&v1, &v2] {
        assert_eq!(instance["title"], "Ringers");
        assert_eq!(instance["description"], "We ring");
        // Clients use discovery and PKCE from 4.3.0 on.
        assert!(instance["version"].as_str().unwrap().starts_with("4.3.0 (compatible; Belfry "));
        assert_eq!(instance["rules"], json!([]));
        assert!(instance["configuration"]["statuses"]["max_characters"].is_number());
    }
    assert_eq!(v1["registrations"], true);
    assert_eq!(v2["registrations"]["enabled"], true);
    let thumbnail_url = v2["thumbnail"]["url"].as_str().unwrap();
    assert_eq!(v1["thumbnail"], thumbnail_url);
}

#[tokio::test]
async fn nodeinfo_links_to_its_document() {
    let service = Service::start().await;
    let links =
        service.anonymous_client().get("/.well-known/nodeinfo").await.expect_json(StatusCode::OK);
    let href = links["links"][0]["href"].as_str().unwrap();
    let path = href.strip_prefix("https://ring.example").unwrap();
    let nodeinfo = service.anonymous_client().get(path).await.expect_json(StatusCode::OK);
    assert_eq!(
        (&nodeinfo["version"], &nodeinfo["software"]["name"]),
        (&json!("2.0"), &json!("belfry"))
    );
    assert_eq!(nodeinfo["openRegistrations"], Value::Bool(true));
}
