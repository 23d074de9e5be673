//! Server metadata, instance information and nodeinfo.

use axum::http::StatusCode;
use belfry::config::RegistrationPolicy;

use crate::support::Service;
use crate::support::service::config_with;

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
