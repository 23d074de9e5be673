//! Pages: security headers, form size, escaping, branding and static files.

use serde_json::json;

use crate::support::oauth_client::CALLBACK;
use crate::support::service::config_with;
use crate::support::{OAuthClient, Service, TestResponse};

/// Asserts the headers against framing, injection, caching and referrer leaks.
#[track_caller]
pub(crate) fn assert_security_headers(page: &TestResponse, form_action: &str) {
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
         base-uri 'none'; frame-ancestors 'none'; form-action {form_action}"
    );
    for (name, value) in [
        ("content-security-policy", policy.as_str()),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-opener-policy", "same-origin"),
        ("strict-transport-security", "max-age=31536000"),
        ("cache-control", "no-store"),
        // No CORS.
        ("access-control-allow-origin", ""),
    ] {
        assert_eq!(page.header(name), value, "{name}");
    }
    assert!(!page.text.contains("<script>") && !page.text.contains("style="), "{page:?}");
}

#[tokio::test]
async fn a_form_has_at_most_64_kib_even_if_other_bodies_may_be_larger() {
    let service =
        Service::start_with(config_with(|config| config.http.max_body_bytes = 1024 * 1024)).await;
    service.add_account("alice").await;
    let mut browser = service.browser().sign_in_as("alice").await;
    let page = browser.get("/oauth/account/notifications").await;
    for (length, status) in [(60_000, 200), (100_000, 413)] {
        let long_text = "a".repeat(length);
        let fields = [("change", "try"), ("text", &*long_text)];
        let response = browser.submit(&page, "/oauth/account/notifications", &fields).await;
        assert_eq!(response.status, status, "{length}: {response:?}");
    }
    let registration = json!({ "client_name": "a".repeat(100_000), "redirect_uris": CALLBACK });
    let json_client = service.anonymous_client().with_header("content-type", "application/json");
    let response = json_client.send("POST /api/v1/apps", registration.to_string()).await;
    assert_eq!(response.status, 422, "{response:?}");
}

#[tokio::test]
async fn every_page_has_security_headers() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut browser = service.browser();

    assert_security_headers(&browser.get("/oauth/authorize").await, "'self'");
    assert_security_headers(&browser.get("/oauth/authorize/native").await, "'self'");
    assert_security_headers(&browser.get("/oauth/authorize/resume").await, "'self'");
    assert_security_headers(&browser.get("/oauth/sign_in").await, "'self'");
    assert_security_headers(&browser.get("/oauth/sign_out").await, "'self'");
    assert_security_headers(&browser.post("/oauth/authorize", &[]).await, "'self'");
    let page = browser.get(&client.authorize_path(&[("response_mode", "form_post")])).await;
    assert_security_headers(&page, "'self' https:");
    let error_page =
        browser.submit(&page, "/oauth/sign_in", &[("username", "a"), ("password", "b")]).await;
    assert_security_headers(&error_page, "'self' https:");
    let page = browser.sign_in(&page, "alice").await;
    assert_security_headers(&page, "'self' https:");
    let form_post_page = browser.decide(&page, "allow").await;
    form_post_page.assert_page(200, CALLBACK);
    assert_security_headers(&form_post_page, "'self' https:");
    assert_security_headers(&browser.get("/oauth/account").await, "'self'");

    let page = browser.get(&client.authorize_path(&[])).await;
    let response = browser.decide(&page, "allow").await;
    for (name, value) in [("referrer-policy", "no-referrer"), ("cache-control", "no-store")] {
        assert_eq!(response.header(name), value, "{name} of a redirect");
    }
}

#[tokio::test]
async fn early_presses_are_ignored_after_navigation_from_outside_this_server() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut browser = service.browser().sign_in_as("alice").await;
    let consent_path = client.authorize_path(&[]);
    for path in [&*consent_path, "/oauth/account", "/oauth/account/security"] {
        for (site, ignores_early_input) in [
            (Some("same-origin"), false),
            (Some("same-site"), true),
            (Some("cross-site"), true),
            (Some("none"), true),
            (None, true),
        ] {
            browser.fetch_site = site;
            let page = browser.get(path).await;
            page.assert_page(200, "<form method=\"post\"");
            assert_eq!(
                page.text.contains(" data-pause-at-load>"),
                ignores_early_input || path == consent_path,
                "{path} {site:?}"
            );
        }
    }
    for path in ["/oauth/sign_in", "/oauth/sign_up"] {
        let page = service.browser().get(path).await;
        assert!(page.text.contains(" data-without-pause>"), "{path}");
    }
}

#[tokio::test]
async fn hsts_is_not_sent_for_localhost_and_ip_addresses() {
    for (base_url, hsts) in [
        ("https://ring.example:8443", "max-age=31536000"),
        ("https://mylocalhost", "max-age=31536000"),
        ("https://localhost", ""),
        ("https://localhost:8443", ""),
        ("https://ring.localhost", ""),
        ("https://192.0.2.1", ""),
        ("https://[2001:db8::1]:8443", ""),
    ] {
        let config_with_url = config_with(|config| {
            config.base_url = Some(base_url.parse().unwrap());
        });
        let response = Service::start_with(config_with_url)
            .await
            .anonymous_client()
            .get("/oauth/sign_in")
            .await;
        assert_eq!(response.header("strict-transport-security"), hsts, "{base_url}");
    }
}

#[tokio::test]
async fn hsts_is_sent_with_every_response_if_base_url_is_https() {
    let plain_config = config_with(|config| {
        config.base_url = Some("http://ring.example".parse().unwrap());
    });
    let plain_service = Service::start_with(plain_config).await;
    let service = Service::start().await;
    for request in [
        "GET /oauth/sign_in",
        "GET /oauth/authorize",
        "POST /oauth/token",
        "GET /api/v2/instance",
        "OPTIONS /api/v1/apps",
        "GET /_matrix/client/v3/pushrules/",
        "GET /.well-known/oauth-authorization-server",
        "GET /oauth/static/nothing",
        "GET /healthz",
        "GET /nowhere",
    ] {
        let response = service.anonymous_client().send(request, "").await;
        assert_eq!(response.header("strict-transport-security"), "max-age=31536000", "{request}");
        let response = plain_service.anonymous_client().send(request, "").await;
        assert_eq!(response.header("strict-transport-security"), "", "{request}");
    }
}

#[tokio::test]
async fn an_app_name_is_escaped() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let json_client = service.anonymous_client().with_header("content-type", "application/json");
    let body = serde_json::json!({
        "client_name": "<img src=x onerror=alert(1)>{{7*7}}",
        "redirect_uris": CALLBACK,
    });
    let app = json_client.send("POST /api/v1/apps", body.to_string()).await.json();
    let client = OAuthClient {
        id: app["client_id"].as_str().unwrap().to_owned(),
        ..service.register_client().await
    };
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[])).await;
    let consent_page = browser.sign_in(&page, "alice").await;
    for page in [page, consent_page] {
        assert!(!page.text.contains("<img"), "{page:?}");
        assert!(page.text.contains("{{7*7}}"), "{page:?}");
    }
}

#[tokio::test]
async fn static_files_have_their_type_and_are_cached_forever() {
    let service = Service::start().await;
    let page = service.anonymous_client().get("/oauth/sign_in").await;
    let mut types = Vec::new();
    for reference in page.text.split(['"', '\'']).filter(|text| text.starts_with("/oauth/static/"))
    {
        let file = service.anonymous_client().get(reference).await;
        assert_eq!(file.status, 200, "{reference}");
        types.push(file.header("content-type").to_owned());
        assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
    }
    types.dedup();
    let text_type = |name: &str| format!("text/{name}; charset=utf-8");
    assert_eq!(types, [text_type("css"), "image/svg+xml".to_owned(), text_type("javascript")]);
    for path in ["/oauth/static/nothing.css", "/oauth/static/..%2fCargo.toml", "/oauth/static/"] {
        assert_eq!(service.anonymous_client().get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_configured_title_and_password_reset_link_are_shown() {
    let service = Service::start_with(config_with(|config| {
        config.instance.title = "Acme <Chat>".to_owned();
        config.instance.password_reset_url = Some("https://acme.example/reset".parse().unwrap());
    }))
    .await;
    let mut browser = service.browser();
    for path in ["/oauth/sign_in", "/oauth/sign_out", "/oauth/authorize", "/oauth/account/none"] {
        let page = browser.get(path).await;
        assert!(page.text.contains(" · Acme &#60;Chat&#62;</title>"), "{path}: {page:?}");
        assert!(page.text.contains("<bdi>Acme &#60;Chat&#62;</bdi>"), "{path}: {page:?}");
    }
    let page = browser.get("/oauth/sign_in").await;
    assert!(page.text.contains("<a href=\"https://acme.example/reset\""), "{page:?}");
    let instance = service.anonymous_client().get("/api/v2/instance").await.json();
    assert_eq!(instance["title"], "Acme <Chat>");
}
