//! `POST /api/v1/apps` and `GET /api/v1/apps/verify_credentials`.

use axum::http::StatusCode;
use belfry::config::RegistrationPolicy;
use belfry_store::AppListFilter;
use serde_json::json;

use crate::support::browser::encode_form;
use crate::support::client::documentation_address;
use crate::support::service::config_with;
use crate::support::{OAuthClient, Service, TestClient, TestResponse};

const REDIRECT_URI: &str = "https://app.example/cb";

async fn register_app(client: &TestClient, fields: &[(&str, &str)]) -> TestResponse {
    let client = client.with_header("content-type", "application/x-www-form-urlencoded");
    client.send("POST /api/v1/apps", encode_form(fields)).await
}

#[tokio::test]
async fn a_registered_app_gets_an_id_a_secret_and_its_data() {
    let service = Service::start().await;
    let response = register_app(
        &service.anonymous_client(),
        &[
            ("client_name", "Tusky"),
            ("redirect_uris", "https://app.example/cb\nurn:ietf:wg:oauth:2.0:oob"),
            ("scopes", "read write"),
            ("website", "https://app.example"),
            ("unknown", "ignored"),
        ],
    )
    .await;
    let app = response.expect_json(StatusCode::OK);
    for key in ["client_id", "client_secret"] {
        assert_eq!(app[key].as_str().unwrap().len(), 64, "{key}");
    }
    let expected = json!({
        "id": app["id"].as_str().unwrap(),
        "name": "Tusky",
        "website": "https://app.example",
        "scopes": ["read", "write"],
        "redirect_uris": ["https://app.example/cb", "urn:ietf:wg:oauth:2.0:oob"],
        "redirect_uri": "https://app.example/cb\nurn:ietf:wg:oauth:2.0:oob",
        "vapid_key": "",
        "client_id": app["client_id"],
        "client_secret": app["client_secret"],
        "client_secret_expires_at": 0,
    });
    assert_eq!(app, expected);
    assert_eq!(response.header("cache-control"), "private, no-store");

    let client_id = app["client_id"].as_str().unwrap();
    let stored_app = service.store().app_by_client_id(client_id).await.unwrap().unwrap();
    let properties = &stored_app.app.properties;
    let grant_types: Vec<_> = properties.grant_types.iter().map(|name| name.as_str()).collect();
    assert_eq!(grant_types, ["authorization_code", "client_credentials"]);
    assert_eq!(properties.auth_method.as_str(), "client_secret");
    assert_eq!((properties.issuer.as_str(), properties.registered_by.as_str()), ("oauth", "api"));
}

/// Existing apps can still get tokens.
#[tokio::test]
async fn when_app_registration_is_closed_only_the_operator_adds_apps() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let closed_config = config_with(|config| config.app_registration = RegistrationPolicy::Closed);
    let service = service.restart(closed_config).await;
    let fields = [("client_name", "A"), ("redirect_uris", REDIRECT_URI)];
    let response = register_app(&service.anonymous_client(), &fields).await;
    let error = "App registration is closed on this server; only its operator can add apps";
    assert_eq!(response.expect_json(StatusCode::FORBIDDEN), json!({ "error": error }));
    let apps = service.store().apps(&AppListFilter::default(), 0, 9).await.unwrap();
    assert_eq!(apps.len(), 1, "nothing was registered");

    let grant = ("grant_type", "client_credentials");
    let fields = [("client_id", &*client.id), ("client_secret", &*client.secret), grant];
    let form_client =
        service.anonymous_client().with_header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(form_client.send("POST /oauth/token", encode_form(&fields)).await.status, 200);
}

#[tokio::test]
async fn all_registration_errors_are_reported_together() {
    let service = Service::start().await;
    let long_uri = format!("https://a.example/{}", "a".repeat(2000));
    for (fields, error) in [
        (vec![], "Validation failed: Application name can't be blank, Redirect URI can't be blank"),
        // An invisible name.
        (
            vec![("client_name", "\u{200b}\u{2060} \u{feff}\u{7f}"), ("redirect_uris", "a.b:/c")],
            "Validation failed: Application name can't be blank",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", "javascript:alert(1)")],
            "Validation failed: Redirect URI is forbidden by the server.",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", "ms-settings://run")],
            "Validation failed: Redirect URI is forbidden by the server.",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", "https://*.a.example/")],
            "Validation failed: Redirect URI cannot contain a wildcard.",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", &*long_uri)],
            "Validation failed: Redirect URI is too long (maximum is 2000 characters)",
        ),
        (
            vec![("client_name", "A"), ("redirect_uris", REDIRECT_URI), ("scopes", "read nope")],
            "Validation failed: Scopes doesn't match those configured on the server: nope is unknown \
             (scopes_supported in /.well-known/oauth-authorization-server).",
        ),
        (
            vec![
                ("client_name", "A"),
                ("redirect_uris", REDIRECT_URI),
                ("website", "javascript:x"),
            ],
            "Validation failed: Application website is not a valid URL",
        ),
    ] {
        let response = register_app(&service.anonymous_client(), &fields).await;
        let body = response.expect_json(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(body, json!({ "error": error }));
    }
    assert!(service.store().apps(&AppListFilter::default(), 0, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_app_signs_in_with_a_scheme_of_its_own() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = OAuthClient::register_with(service.anonymous_client(), "myapp://cb", "read").await;
    let form_client =
        service.anonymous_client().with_header("content-type", "application/x-www-form-urlencoded");
    let client = OAuthClient { http: form_client, ..client };
    let code = client.obtain_code(&mut service.browser(), "alice", &[]).await;
    assert_eq!(client.redeem(&code, &[]).await.status, 200);
}

#[tokio::test]
async fn only_clients_with_a_secret_can_be_registered() {
    let service = Service::start().await;
    let fields = |auth_method| {
        [
            ("client_name", "A"),
            ("redirect_uris", REDIRECT_URI),
            ("token_endpoint_auth_method", auth_method),
        ]
    };
    for auth_method in ["client_secret_basic", "client_secret_post", ""] {
        let app = register_app(&service.anonymous_client(), &fields(auth_method))
            .await
            .expect_json(StatusCode::OK);
        assert_eq!(app["client_secret"].as_str().unwrap().len(), 64, "{auth_method}");
    }
    for auth_method in ["none", "private_key_jwt"] {
        let response = register_app(&service.anonymous_client(), &fields(auth_method)).await;
        let error = "Validation failed: Token endpoint auth method must be client_secret_basic or \
                     client_secret_post (public clients are not supported: register each \
                     installation of the app to get its own secret)";
        let body = response.expect_json(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(body, json!({ "error": error }), "{auth_method}");
    }
    let json_client = service.anonymous_client().with_header("content-type", "application/json");
    let body = json!({
        "client_name": "A", "redirect_uris": REDIRECT_URI, "token_endpoint_auth_method": "none",
    });
    assert_eq!(json_client.send("POST /api/v1/apps", body.to_string()).await.status, 422);
    assert_eq!(service.store().apps(&AppListFilter::default(), 0, 9).await.unwrap().len(), 3);
}

#[tokio::test]
async fn registration_errors_are_translated() {
    let service = Service::start().await;
    let german_client =
        service.anonymous_client().with_header("accept-language", "de-CH, en;q=0.5");
    let response = register_app(&german_client, &[("client_name", "A")]).await;
    let error = response.expect_json(StatusCode::UNPROCESSABLE_ENTITY)["error"].to_string();
    assert!(!error.contains("can't be blank"), "{error}");
    let english_client = german_client.with_header("content-type", "application/json");
    let response = english_client.send("POST /api/v1/apps?lang=en", r#"{"client_name":"A"}"#).await;
    assert_eq!(response.json()["error"], "Validation failed: Redirect URI can't be blank");
}

#[tokio::test]
async fn a_failed_registration_counts_towards_the_reported_rate_limit() {
    let service = Service::start().await;
    let response = register_app(&service.anonymous_client(), &[("client_name", "")]).await;
    assert_eq!(response.status, 422);
    assert_eq!(response.header("x-ratelimit-limit"), "30");
    assert_eq!(response.header("x-ratelimit-remaining"), "29");
    let expected = r#""ip";r=299;t=300, "app_registration";r=29;t=600"#;
    assert_eq!(response.header("ratelimit"), expected);
}

#[tokio::test]
async fn app_registrations_are_limited_per_address() {
    let service = Service::start().await;
    let fields = [("client_name", "A"), ("redirect_uris", REDIRECT_URI)];
    for remaining in (0..30).rev() {
        let response = register_app(&service.anonymous_client(), &fields).await;
        assert_eq!(
            (response.status, response.header("x-ratelimit-remaining")),
            (200, &*remaining.to_string())
        );
    }
    let response = register_app(&service.anonymous_client(), &fields).await;
    assert_eq!(
        response.expect_json(StatusCode::TOO_MANY_REQUESTS),
        json!({ "error": "Too many requests" })
    );
    assert_eq!(
        register_app(&service.anonymous_client().with_address(documentation_address(9)), &fields)
            .await
            .status,
        200
    );
}
