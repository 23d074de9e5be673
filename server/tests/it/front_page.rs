//! The front page, and the settings for the appearance of the pages.

use axum::http::StatusCode;
use belfry::config::Config;
use serde_json::json;

use crate::support::Service;
use crate::support::process::{run_belfry, run_successfully};

#[tokio::test]
async fn browsers_get_the_front_page_and_api_clients_do_not() {
    let service = Service::start().await;
    let mut browser = service.browser();
    let page = browser.get("/").await;
    page.assert_page(200, "<a class=\"button\" href=\"/oauth/sign_in\">Sign in</a>");
    for text in [
        "<title>Welcome · Belfry</title>",
        "href=\"/oauth/sign_up\">Create an account</a>",
        "Here you decide which apps may use your account",
        "<a href=\"/openapi.json\">",
    ] {
        assert!(page.text.contains(text), "{text}: {page:?}");
    }
    assert!(!page.text.contains("Documentation"), "no URL is configured: {page:?}");
    assert!(browser.cookies.is_empty(), "a page without a form needs no cookie");
    assert_eq!(page.header("cache-control"), "no-store");
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    browser.get("/?lang=ar").await.assert_page(200, "href=\"/oauth/sign_in?lang=ar\"");
    browser.get("/?lang=%ff").await.assert_page(400, "cannot be answered");

    let error = json!({
        "error": "There is nothing at this path; /openapi.json describes the API, and \
                  /oauth/account is the account page",
    });
    for accept in ["*/*", "application/json"] {
        let api_client = service.anonymous_client().with_header("accept", accept);
        assert_eq!(api_client.get("/").await.expect_json(StatusCode::NOT_FOUND), error, "{accept}");
    }
    assert_eq!(service.anonymous_client().get("/").await.expect_json(StatusCode::NOT_FOUND), error);
}

#[tokio::test]
async fn the_front_page_links_signed_in_users_to_their_account() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in?lang=de").await;
    browser.sign_in(&page, "alice").await;
    let page = browser.get("/").await;
    page.assert_page(200, "<a class=\"button\" href=\"/oauth/account\">Zu deinem Konto</a>");
    assert!(page.text.contains("\u{2068}alice\u{2069}") && !page.text.contains("/oauth/sign_in"));
}

#[tokio::test]
async fn the_front_page_has_no_sign_up_link_if_registration_is_closed() {
    let config = toml::from_str::<Config>("registration = 'closed'").unwrap();
    let page = Service::start_with(config).await.browser().get("/").await;
    page.assert_page(200, "href=\"/oauth/sign_in\"");
    assert!(!page.text.contains("Create an account"), "{page:?}");
}

#[tokio::test]
async fn the_configured_description_links_and_accent_are_used() {
    let settings = "[instance]\ntitle = 'Bell Ringers'\naccent = '#8A2B57'\n\
        description = '''Rings <every> bell.\n\nOnly at noon.'''\n\
        [oauth]\ndocumentation_url = 'https://ring.example/docs'\n";
    let service = Service::start_with(toml::from_str::<Config>(settings).unwrap()).await;
    let page = service.browser().get("/").await;
    for text in [
        " · Bell Ringers</title>",
        ">Rings &#60;every&#62; bell.</p>\n<p dir=\"auto\">Only at noon.</p>",
        "href=\"https://ring.example/docs\"",
    ] {
        page.assert_page(200, text);
    }
    // The path of the style sheet with the accent differs from the default path.
    let style_path = |text: &str| {
        let link = text.split("<link rel=\"stylesheet\" href=\"").nth(1).unwrap();
        link.split('"').next().unwrap().to_owned()
    };
    let path = style_path(&page.text);
    assert_eq!(style_path(&service.browser().get("/oauth/sign_in").await.text), path);
    assert_ne!(path, style_path(&Service::start().await.browser().get("/").await.text));
    let response = service.anonymous_client().get(&path).await;
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, "text/css; charset=utf-8")
    );
    assert_eq!(response.header("cache-control"), "public, max-age=31536000, immutable");
    assert!(response.text.contains("\n:root { --accent: #8a2b57; }"), "{}", response.text);
}

#[test]
fn config_check_and_serve_reject_an_accent_with_insufficient_contrast() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("belfry.toml");
    std::fs::write(&file, "[instance]\naccent = \"#8a2b57\"\n").unwrap();
    let settings = run_successfully(dir.path(), &["config", "check"]);
    let line = settings.lines().find(|line| line.starts_with("accent = ")).unwrap();
    assert!(line.starts_with("accent = \"#8a2b57\" ") && line.contains("belfry.toml"), "{line}");

    std::fs::write(&file, "[instance]\naccent = \"#40c0b0\"\n").unwrap();
    for command in [&["config", "check"][..], &["serve"]] {
        let output = run_belfry(dir.path(), command);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        for text in ["instance.accent: \"#40c0b0\" has a contrast of 2.0:1", "4.5:1", "line 2"] {
            assert!(error.contains(text), "{text}: {error}");
        }
    }
}
