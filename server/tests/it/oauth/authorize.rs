//! `GET /oauth/authorize`: validation, error pages, and responses to the app.

use super::start_with_alice;
use crate::support::client::documentation_address;
use crate::support::oauth_client::CALLBACK;
use crate::support::service::config_with;
use crate::support::{Browser, OAuthClient, Service};

// RFC 6749, section 4.1.2.1.
#[tokio::test]
async fn an_invalid_client_or_redirect_uri_never_causes_a_redirect() {
    let (service, client, mut browser) = start_with_alice().await;
    let loopback_uris = "http://127.0.0.1/cb\nhttp://localhost/cb";
    let native_client =
        OAuthClient::register_with(service.anonymous_client(), loopback_uris, "read").await;
    // The responses are the same with and without a session.
    for is_signed_in in [false, true] {
        if is_signed_in {
            client.obtain_code(&mut browser, "alice", &[]).await;
        }
        for redirect_uri in [
            "https://evil.example/cb",
            "https://app.example/cb/",
            "https://app.example@evil.example/cb",
            "https://app.example/cb\r\nX: y",
            // Registered by another app.
            "http://127.0.0.1/cb",
            "",
        ] {
            let page =
                browser.get(&client.with_redirect_uri(redirect_uri).authorize_path(&[])).await;
            page.assert_page(400, "invalid_request");
        }
        for redirect_uri in ["http://127.0.0.1:1/other", "http://localhost:4000/cb"] {
            browser
                .get(&native_client.with_redirect_uri(redirect_uri).authorize_path(&[]))
                .await
                .assert_page(400, "invalid_request");
        }
        let second_redirect_uri = [("redirect_uri", CALLBACK)];
        browser
            .get(&client.authorize_path(&second_redirect_uri))
            .await
            .assert_page(400, "invalid_request");
        let unknown_client = OAuthClient { id: "unknown".to_owned(), ..client.clone() };
        let page = browser.get(&unknown_client.authorize_path(&[])).await;
        page.assert_page(401, "invalid_client");
        // A challenge would open the browser's password dialog.
        assert_eq!(page.header("www-authenticate"), "");
        let second_client_id = [("client_id", "other")];
        browser.get(&client.authorize_path(&second_client_id)).await.assert_page(400, "client_id");
        browser.get("/oauth/authorize").await.assert_page(400, "client_id");
    }
}

/// Approves the app and redeems its code, which gives it a user token.
async fn approve_and_redeem(client: &OAuthClient, browser: &mut Browser) {
    let code = client.obtain_code(browser, "alice", &[]).await;
    assert_eq!(client.redeem(&code, &[]).await.status, 200);
}

#[tokio::test]
async fn an_error_is_sent_to_an_app_that_the_user_has_approved() {
    let (_service, client, mut browser) = start_with_alice().await;
    approve_and_redeem(&client, &mut browser).await;
    let challenge = ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    for (extra_parameters, error) in [
        (vec![("scope", "nope")], "invalid_scope"),
        (vec![("scope", "admin:write")], "invalid_scope"),
        (vec![("scope", "read  write")], "invalid_scope"),
        (vec![("scope[]", "read")], "invalid_request"),
        (vec![("scope", "read"), ("scope", "read")], "invalid_request"),
        (vec![("response_mode", "web_message")], "invalid_request"),
        (vec![challenge], "invalid_request"),
        (vec![challenge, ("code_challenge_method", "plain")], "invalid_request"),
        (vec![challenge, ("code_challenge_method", "s256")], "invalid_request"),
        (vec![("code_challenge", "short"), ("code_challenge_method", "S256")], "invalid_request"),
    ] {
        let extra_parameters: Vec<_> =
            [("state", "s")].into_iter().chain(extra_parameters).collect();
        // Without a session, the error is sent only after sign-in.
        let mut other_browser = Browser::new(client.http.clone());
        let page = other_browser.get(&client.authorize_path(&extra_parameters)).await;
        page.assert_page(200, "name=\"password\"");
        let response = other_browser.sign_in(&page, "alice").await;
        let parameters = response.redirect_parameters(CALLBACK);
        assert_eq!(parameters["error"], error, "{extra_parameters:?}");
        assert_eq!((&*parameters["state"], &*parameters["iss"]), ("s", "https://ring.example/"));
        assert!(!parameters["error_description"].is_empty());
        assert_eq!(parameters.get("code"), None);
        // With a session, the error is sent without a sign-in.
        let response = browser.get(&client.authorize_path(&extra_parameters)).await;
        assert_eq!(response.redirect_parameters(CALLBACK)["error"], error);
    }
    for response_type in ["token", "id_token", "code token", "Code", "code "] {
        let url = client.authorize_path(&[]).replace(
            "response_type=code",
            &format!("response_type={}", response_type.replace(' ', "%20")),
        );
        let response = browser.get(&url).await;
        assert_eq!(
            response.redirect_parameters(CALLBACK)["error"],
            "unsupported_response_type",
            "{response_type}"
        );
    }
}

#[tokio::test]
async fn pkce_can_be_required() {
    let service = Service::start_with(config_with(|config| config.oauth.require_pkce = true)).await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut browser = service.browser();
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let pkce = [
        ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
        ("code_challenge_method", "S256"),
    ];
    let code = client.obtain_code(&mut browser, "alice", &pkce).await;
    assert_eq!(client.redeem(&code, &[("code_verifier", verifier)]).await.status, 200);
    let parameters = browser.get(&client.authorize_path(&[])).await.redirect_parameters(CALLBACK);
    assert_eq!(parameters["error"], "invalid_request");
    assert_eq!(parameters["error_description"], "Missing required parameter: code_challenge.");
}

// RFC 9700, section 4.11.2.
#[tokio::test]
async fn an_error_is_not_sent_to_an_app_that_the_user_never_approved() {
    let (service, client, mut browser) = start_with_alice().await;
    approve_and_redeem(&client, &mut browser).await;
    let evil_client = OAuthClient::register_with(
        service.anonymous_client(),
        "https://evil.example/cb\nurn:ietf:wg:oauth:2.0:oob",
        "read",
    )
    .await;
    let invalid_scope = [("scope", "nope"), ("state", "\"><script>")];
    let link = "href=\"https://evil.example/cb?error=invalid_scope&#38;error_description=";
    // With a session, repeatedly, and after a sign-in.
    let mut other_browser = service.browser();
    let sign_in_page = other_browser.get(&evil_client.authorize_path(&invalid_scope)).await;
    let after_sign_in = other_browser.sign_in(&sign_in_page, "alice").await;
    for page in [
        browser.get(&evil_client.authorize_path(&invalid_scope)).await,
        browser.get(&evil_client.authorize_path(&invalid_scope)).await,
        after_sign_in,
    ] {
        page.assert_page(400, link);
        page.assert_page(400, "Back to \u{2068}Tusky\u{2069}");
        page.assert_page(400, "<bdi>evil.example</bdi>");
        assert!(!page.text.contains("<script>"), "{page:?}");
    }
    let form_post = [("scope", "nope"), ("response_mode", "form_post")];
    let page = browser.get(&evil_client.authorize_path(&form_post)).await;
    page.assert_page(400, "Back to \u{2068}Tusky\u{2069}");
    assert_eq!(page.hidden_fields("https://evil.example/cb")[0].1, "invalid_scope");
    let submit_script = "<script src=\"/oauth/static/submit-";
    assert!(!page.text.contains(submit_script), "the form is submitted automatically: {page:?}");
    let out_of_band = evil_client.with_redirect_uri("urn:ietf:wg:oauth:2.0:oob");
    browser
        .get(&out_of_band.authorize_path(&invalid_scope))
        .await
        .assert_page(400, "invalid_scope");

    // A valid request needs consent. After a denial, errors are still not sent to the app.
    let page = browser.get(&evil_client.authorize_path(&[])).await;
    let denial = browser.decide(&page, "deny").await;
    assert_eq!(denial.redirect_parameters("https://evil.example/cb")["error"], "access_denied");
    browser.get(&evil_client.authorize_path(&invalid_scope)).await.assert_page(400, link);
}

#[tokio::test]
async fn an_approved_request_returns_code_state_and_issuer() {
    let (_service, client, mut browser) = start_with_alice().await;
    let page = browser.get(&client.authorize_path(&[("state", "s t&u=v#é\"")])).await;
    let page = browser.sign_in(&page, "alice").await;
    page.assert_page(200, "Tusky");
    let response = browser.decide(&page, "allow").await;
    let parameters = response.redirect_parameters(CALLBACK);
    assert_eq!(parameters.keys().collect::<Vec<_>>(), ["code", "iss", "state"]);
    assert_eq!(parameters["state"], "s t&u=v#é\"");
    assert_eq!(parameters["iss"], "https://ring.example/");
    assert_eq!(client.redeem(&parameters["code"], &[]).await.status, 200);
}

#[tokio::test]
async fn new_authorization_requests_are_limited_per_address() {
    let (service, client, mut browser) = start_with_alice().await;
    for request in 0..60 {
        let page = service.browser().get(&client.authorize_path(&[])).await;
        page.assert_page(200, "name=\"password\"");
        assert_eq!(page.header("x-ratelimit-remaining"), (59 - request).to_string());
    }
    let page = service.browser().get(&client.authorize_path(&[])).await;
    page.assert_page(429, "Too many requests");
    page.assert_page(429, "Please try again in 5 minutes.");
    assert_eq!(page.header("retry-after"), "300");
    assert!(page.header("ratelimit").contains("\"authorization_request\";r=0"), "{page:?}");
    // Requests that store nothing are not limited: other pages, errors, and requests that are
    // already approved.
    browser
        .get(&client.with_redirect_uri("https://evil.example/").authorize_path(&[]))
        .await
        .assert_page(400, "invalid_request");
    let mut browser_elsewhere =
        Browser::new(service.anonymous_client().with_address(documentation_address(9)));
    approve_and_redeem(&client, &mut browser_elsewhere).await;
    for _ in 0..70 {
        assert_eq!(browser_elsewhere.get(&client.authorize_path(&[])).await.status, 303);
    }
    service.clock.advance(300);
    browser.get(&client.authorize_path(&[])).await.assert_page(200, "name=\"password\"");
}

#[tokio::test]
async fn the_oldest_requests_are_deleted_when_too_many_are_pending() {
    let service =
        Service::start_with_state(config_with(|_| {}), |state| state.max_pending_requests = 3)
            .await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut sign_in_pages = Vec::new();
    for _ in 0..5 {
        let mut browser = service.browser();
        let page = browser.get(&client.authorize_path(&[])).await;
        sign_in_pages.push((browser, page));
        service.clock.advance(1);
    }
    for (index, (mut browser, page)) in sign_in_pages.into_iter().enumerate() {
        let fields = [("username", "alice"), ("password", "correct horse alice")];
        let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
        if index < 2 {
            response.assert_page(400, "no longer open");
        } else {
            browser.follow(&response).await.assert_page(200, "decision");
        }
    }
}

#[tokio::test]
async fn form_post_mode_posts_codes_and_errors_from_a_page() {
    let (_service, client, mut browser) = start_with_alice().await;
    let form_post = [("response_mode", "form_post"), ("state", "\"><script>alert(1)</script>")];
    let page = browser.get(&client.authorize_path(&form_post)).await;
    let page = browser.sign_in(&page, "alice").await;
    let response = browser.decide(&page, "allow").await;
    response.assert_page(200, "action=\"https://app.example/cb\"");
    assert!(!response.text.contains("<script>alert"), "{response:?}");
    let fields = response.hidden_fields(CALLBACK);
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["code", "state", "iss"]);
    let policy = response.header("content-security-policy");
    assert!(policy.ends_with("form-action 'self' https:"), "{policy}");
    assert_eq!(response.header("cache-control"), "no-store");
    assert_eq!(client.redeem(&fields[0].1, &[]).await.status, 200);

    let invalid_scope = [("response_mode", "form_post"), ("scope", "nope")];
    let response = browser.get(&client.authorize_path(&invalid_scope)).await;
    let fields = response.hidden_fields(CALLBACK);
    assert_eq!(fields[0], ("error".to_owned(), "invalid_scope".to_owned()));
}

// RFC 8252, section 7.
#[tokio::test]
async fn native_apps_get_the_response_at_loopback_ports_and_private_schemes() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let uris = "http://127.0.0.1/cb\nhttp://[::1]/cb\ncom.example.app:/cb";
    let client = OAuthClient::register_with(service.anonymous_client(), uris, "read").await;
    for (uri, sources) in [
        ("http://127.0.0.1:51234/cb", "'self' https: http:"),
        ("http://[::1]:51234/cb", "'self' https: http:"),
        ("com.example.app:/cb", "'self' https: com.example.app:"),
    ] {
        let mut browser = service.browser();
        let client = client.with_redirect_uri(uri);
        let page = browser.get(&client.authorize_path(&[])).await;
        let page = browser.sign_in(&page, "alice").await;
        // Chrome also applies the form-action of the form's page to the redirect.
        let policy = page.header("content-security-policy");
        assert!(policy.ends_with(&format!("form-action {sources}")), "{policy}");
        let response = browser.decide(&page, "allow").await;
        assert!(response.redirect_parameters(uri).contains_key("code"));
    }
}

#[tokio::test]
async fn only_get_and_post_are_allowed() {
    let (service, client, _) = start_with_alice().await;
    // HEAD must not issue a code, which would be lost.
    for method in ["HEAD", "PUT", "DELETE", "TRACE", "PATCH"] {
        let response = service
            .anonymous_client()
            .send(&format!("{method} {}", client.authorize_path(&[])), "")
            .await;
        assert_eq!((response.status, response.header("allow")), (405, "GET,POST"), "{method}");
        let resume_request = format!("{method} /oauth/authorize/resume?request=x");
        let response = service.anonymous_client().send(&resume_request, "").await;
        assert_eq!((response.status, response.header("allow")), (405, "GET"), "{method}");
    }
}

#[tokio::test]
async fn a_client_that_accepts_json_gets_a_json_error() {
    let (service, client, _) = start_with_alice().await;
    let json_client = service.anonymous_client().with_header("accept", "application/json");
    let path = client.with_redirect_uri("https://evil.example/").authorize_path(&[]);
    let response = json_client.get(&path).await;
    assert_eq!(response.status, 400);
    assert_eq!(response.json()["error"], "invalid_request");
}
