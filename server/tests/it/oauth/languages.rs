//! Choosing a language with the links at the foot of a page.

use crate::support::{Browser, Service, TestResponse};

const LANGUAGE_COOKIE: &str = "__Host-belfry-lang";

#[track_caller]
fn language_link(page: &TestResponse, lang: &str) -> String {
    let footer = page.text.split("<footer>").nth(1).unwrap_or_else(|| panic!("{page:?}"));
    let link = footer.split("<a href=\"").find(|link| link.contains(&format!("lang={lang}&#38;")));
    link.unwrap().split('"').next().unwrap().replace("&#38;", "&").replace("&#39;", "'")
}

/// Follows a page's link to a language. The link may be relative to the page's path.
async fn choose_language(
    browser: &mut Browser,
    path: &str,
    page: &TestResponse,
    lang: &str,
) -> TestResponse {
    let page_url = url::Url::parse("https://ring.example").unwrap().join(path).unwrap();
    let url = page_url.join(&language_link(page, lang)).unwrap();
    assert_eq!(url.host_str(), Some("ring.example"));
    browser.get(&url[url::Position::BeforePath..]).await
}

#[track_caller]
fn assert_lang(page: &TestResponse, lang: &str) {
    assert!(page.text.contains(&format!("<html lang=\"{lang}\"")), "{page:?}");
}

#[tokio::test]
async fn a_chosen_language_is_remembered() {
    let service = Service::start().await;
    service.add_account("alice").await;
    for path in ["/", "/oauth/sign_in", "/oauth/sign_up", "/oauth/sign_out", "/nowhere?a=1"] {
        let mut browser = service.browser();
        let page = browser.get(path).await;
        assert_lang(&page, "en");
        let german_page = choose_language(&mut browser, path, &page, "de").await;
        assert_lang(&german_page, "de");
        let cookies =
            german_page.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap());
        let cookie = format!(
            "{LANGUAGE_COOKIE}=de; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(cookies.filter(|value| *value == cookie).count(), 1, "{path}");
        for path in ["/", "/oauth/sign_in", "/nowhere", "/oauth/authorize"] {
            assert_lang(&browser.get(path).await, "de");
        }
        // The session has the language as well, even if the cookie is missing.
        let page = browser.get("/oauth/sign_in").await;
        assert_lang(&browser.sign_in(&page, "alice").await, "de");
        browser.cookies.remove(LANGUAGE_COOKIE);
        assert_lang(&browser.get("/oauth/account").await, "de");
    }
}

#[tokio::test]
async fn an_authorization_continues_in_the_chosen_language() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut browser = service.browser();
    let path = client.authorize_path(&[("lang", "fr"), ("state", "a&b\"<")]);
    let page = browser.get(&path).await;
    assert_lang(&page, "fr");
    let page = choose_language(&mut browser, &path, &page, "de").await;
    assert_lang(&page, "de");
    let wrong_credentials = [("username", "alice"), ("password", "wrong")];
    let page = browser.submit(&page, "/oauth/sign_in?lang=de", &wrong_credentials).await;
    assert_lang(&page, "de");
    // A person without an account can sign up and continue the authorization request.
    let after_link = page.text.split("href=\"/oauth/sign_up?").nth(1).unwrap();
    let query = after_link.split('"').next().unwrap().replace("&#38;", "&");
    let sign_up_path = format!("/oauth/sign_up?{query}");
    let sign_up_page = browser.get(&sign_up_path).await;
    assert_lang(&sign_up_page, "de");
    let italian_page = choose_language(&mut browser, &sign_up_path, &sign_up_page, "it").await;
    assert_lang(&italian_page, "it");
    let page = browser.sign_in(&page, "alice").await;
    assert_lang(&page, "de");
    let decision = [("decision", "allow")];
    let response = browser.submit(&page, "/oauth/authorize?lang=de", &decision).await;
    let parameters = response.redirect_parameters(&client.redirect_uri);
    assert_eq!(parameters["state"], "a&b\"<");
    client.redeem(&parameters["code"], &[]).await.expect_json(axum::http::StatusCode::OK);
    // An app's parameter takes precedence over the user's choice.
    assert_lang(
        &browser.get(&client.authorize_path(&[("lang", "fr"), ("scope", "read write")])).await,
        "fr",
    );
}

#[tokio::test]
async fn only_a_link_on_this_server_chooses_a_language() {
    let service = Service::start().await;
    let mut browser = service.browser();
    for (path, site) in [
        ("/oauth/sign_in?lang=de", "same-origin"),
        ("/oauth/sign_in?lang=xx&remember=1", "same-origin"),
        ("/oauth/sign_in?lang=de%0d%0aa&remember=1", "same-origin"),
        ("/oauth/sign_in?lang=de&remember=1", "cross-site"),
        ("/nowhere?lang=de&remember=1", "same-site"),
    ] {
        browser.fetch_site = Some(site);
        browser.get(path).await;
        assert!(!browser.cookies.contains_key(LANGUAGE_COOKIE), "{path}");
    }
    for value in ["xx", "<script>", "de; a=b"] {
        browser.cookies.insert(LANGUAGE_COOKIE.to_owned(), value.to_owned());
        let page = browser.get("/oauth/sign_in").await;
        assert_lang(&page, if value.starts_with("de") { "de" } else { "en" });
        assert!(!page.text.contains("<script>"), "{value}");
    }
}

#[tokio::test]
async fn language_links_stay_on_this_server_and_escape_the_repeated_query() {
    let service = Service::start().await;
    let mut browser = service.browser();
    for path in [
        "//evil.example/",
        "/\\evil.example/?a=b",
        "/nowhere?next=https://evil.example",
        "/nowhere?&&lang=fr&remember=1&a",
        "/oauth/authorize?client_id=%22%3E%3Cscript%3E&state='",
    ] {
        let page = browser.get(path).await;
        assert!(!page.text.contains("><script>") && !page.text.contains("state='"), "{page:?}");
        let link = language_link(&page, "pl");
        assert!(link.starts_with('?'), "{link}");
        assert_eq!(link.matches("lang=").count(), 1, "{link}");
        let page = browser.get(&format!("/nowhere{link}")).await;
        assert_lang(&page, "pl");
        browser.cookies.clear();
    }
    // A page that is the response to a form cannot be opened again.
    let error_page = browser.post("/oauth/authorize", &[("decision", "allow")]).await;
    error_page.assert_page(403, "This form could not be checked");
    assert_eq!(language_link(&error_page, "pl"), "/?lang=pl&remember=1");
    let long_path = format!("/nowhere?a={}", "b".repeat(5000));
    let page = browser.get(&long_path).await;
    assert_eq!(language_link(&page, "pl"), "/?lang=pl&remember=1");
    assert!(!page.text.contains("bbb"), "a long query is not repeated");
}

#[tokio::test]
async fn a_signed_in_person_chooses_a_language_on_the_same_page() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    for path in [
        "/",
        "/oauth/account",
        "/oauth/account/notifications?profile=phone",
        "/oauth/account/security",
        &*client.authorize_path(&[("force_login", "true")]),
    ] {
        let mut browser = service.browser().sign_in_as("alice").await;
        let mut page = browser.get(path).await;
        if path.contains("force_login") {
            // The authorization continues, and does not begin again with the password.
            page = browser.sign_in(&page, "alice").await;
        }
        assert_lang(&page, "en");
        let headings = page.text.matches("<h2").count();
        let german_page = choose_language(&mut browser, path, &page, "de").await;
        assert_lang(&german_page, "de");
        assert_eq!(german_page.text.matches("<h2").count(), headings, "{path}");
        assert_lang(&browser.get("/oauth/account/devices").await, "de");
    }
}

/// The response to a form cannot be opened again, but the page with the form can.
#[tokio::test]
async fn language_links_below_a_rejected_form_open_its_page() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let mut browser = service.browser().sign_in_as("alice").await;
    for (path, action, fields) in [
        ("/oauth/account/security", "/oauth/account/security/password", &[][..]),
        (
            "/oauth/account/notifications",
            "/oauth/account/notifications",
            &[("change", "keyword"), ("word", "")],
        ),
    ] {
        let page = browser.get(path).await;
        let error_page = browser.submit(&page, action, fields).await;
        assert!([401, 422].contains(&error_page.status), "{error_page:?}");
        assert_eq!(language_link(&error_page, "pl"), format!("{path}?lang=pl&remember=1"));
    }
}
