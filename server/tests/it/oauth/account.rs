//! The account page: access to it, and its contents.

use axum::http::StatusCode;
use belfry_store::NewToken;
use serde_json::json;

use super::pages::assert_security_headers;
use crate::support::browser::{encode_form, visible_text};
use crate::support::oauth_client::{CALLBACK, expect_token};
use crate::support::{Browser, OAuthClient, Service, TestResponse, any_events};

pub(super) const ACCOUNT: &str = "/oauth/account";

/// Starts a service; returns it with a registered app, and a browser with a session of Alice.
pub(super) async fn start_signed_in() -> (Service, OAuthClient, Browser) {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    browser.sign_in(&page, "alice").await.assert_page(200, "@alice:ring.example");
    (service, client, browser)
}

pub(super) async fn register_app(service: &Service, name: &str, website: &str) -> OAuthClient {
    let form_client =
        service.anonymous_client().with_header("content-type", "application/x-www-form-urlencoded");
    let fields = [
        ("client_name", name),
        ("website", website),
        ("redirect_uris", CALLBACK),
        ("scopes", "read write push"),
    ];
    let app = form_client
        .send("POST /api/v1/apps", encode_form(&fields))
        .await
        .expect_json(StatusCode::OK);
    let string_field = |key: &str| app[key].as_str().unwrap().to_owned();
    let id = string_field("client_id");
    let secret = string_field("client_secret");
    OAuthClient { http: form_client, id, secret, redirect_uri: CALLBACK.to_owned() }
}

pub(super) async fn authorize_app(
    client: &OAuthClient,
    browser: &mut Browser,
    name: &str,
    scope: &str,
) -> String {
    let code = client.obtain_code(browser, name, &[("scope", scope)]).await;
    expect_token(&client.redeem(&code, &[]).await)
}

#[tokio::test]
async fn a_signed_out_user_signs_in_first_and_returns() {
    let service = Service::start().await;
    service.add_account("alice").await;
    for path in [ACCOUNT, "/oauth/account/"] {
        let mut browser = service.browser();
        let response = browser.get(path).await;
        assert_eq!((response.status, response.header("location")), (303, "/oauth/sign_in"));
        assert_eq!(response.header("cache-control"), "no-store");
        let page = browser.follow(&response).await;
        page.assert_page(200, "name=\"password\"");
        let fields = [("username", "alice"), ("password", "correct horse alice")];
        let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
        assert_eq!((response.status, response.header("location")), (303, ACCOUNT));
        browser.get(path).await.assert_page(200, "<bdi>@alice:ring.example</bdi>");
        // The sign-in page redirects a user who is signed in.
        assert_eq!(browser.get("/oauth/sign_in").await.header("location"), ACCOUNT);
    }
}

#[tokio::test]
async fn a_form_sent_after_the_session_ended_leads_back_to_its_page() {
    let (service, client, mut browser) = start_signed_in().await;
    authorize_app(&client, &mut browser, "alice", "read").await;
    let page = browser.get(ACCOUNT).await;
    service.execute_sql("delete from sessions");
    let response = browser.submit(&page, "/oauth/account/remove_app", &[("app", "1")]).await;
    let notice = "Nothing was saved, because you were no longer signed in.";
    assert_eq!(response.header("location"), "/oauth/sign_in?notice=not-saved");
    let page = browser.follow(&response).await;
    page.assert_page(200, notice);
    browser.sign_in(&page, "alice").await.assert_page(200, notice);
    // A form without the session cookie, which browsers delete when it expires.
    let response = service.browser().post("/oauth/account/remove_app", &[("app", "1")]).await;
    assert_eq!(response.header("location"), "/oauth/sign_in?notice=not-saved");
}

/// The page to return to and the notice are names from fixed lists.
#[tokio::test]
async fn signing_in_redirects_only_to_account_pages() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let fields = [("username", "alice"), ("password", "correct horse alice")];
    for (query, action, target) in [
        ("?return_to=security", "?return_to=security", "/oauth/account/security"),
        ("?return_to=devices&lang=de", "?lang=de&#38;return_to=devices", "/oauth/account/devices"),
        ("?return_to=overview", "", ACCOUNT),
        ("?notice=saved", "?notice=saved", "/oauth/account?notice=saved"),
        ("?return_to=//evil.example", "", ACCOUNT),
        ("?return_to=%2Foauth%2Fsign_out", "", ACCOUNT),
        ("?notice=%3Cb%3Eevil&return_to=", "", ACCOUNT),
    ] {
        let mut browser = service.browser();
        let page = browser.get(&format!("/oauth/sign_in{query}")).await;
        page.assert_page(200, &format!(" action=\"/oauth/sign_in{action}\">"));
        assert!(!page.text.contains("evil"), "{page:?}");
        let mut fields: Vec<(&str, &str)> = fields.into();
        let csrf = page.hidden_fields(&format!("/oauth/sign_in{action}"))[0].1.clone();
        fields.push(("csrf", &csrf));
        // The form on the error page after a wrong password has the same action.
        let path = format!("/oauth/sign_in{}", action.replace("&#38;", "&"));
        let error_page = browser.post(&path, &[("csrf", &csrf), ("username", "alice")]).await;
        error_page.assert_page(401, &format!(" action=\"/oauth/sign_in{action}\">"));
        let response = browser.post(&path, &fields).await;
        assert_eq!(response.header("location"), target, "{query}");
        // A double submit and a bookmark of the sign-in page redirect to the same page.
        assert_eq!(browser.post(&path, &fields).await.header("location"), target, "{query}");
        let location = browser.get(&path).await.header("location").to_owned();
        assert_eq!(location.replace("?lang=de", ""), target, "{query}");
    }
}

#[tokio::test]
async fn only_the_language_is_preserved_in_the_redirect() {
    let service = Service::start().await;
    let redirect_location = async |query: &str| {
        let response = service.browser().get(&format!("{ACCOUNT}?{query}")).await;
        assert_eq!(response.status, 303);
        response.header("location").to_owned()
    };
    assert_eq!(redirect_location("lang=pt-BR").await, "/oauth/sign_in?lang=pt");
    // Other parameters could be used for an open redirect.
    for query in ["lang=//evil.example", "lang=x%0d%0aSet-Cookie:a=b", "next=//evil.example"] {
        assert_eq!(redirect_location(query).await, "/oauth/sign_in", "{query}");
    }
    let page = service.browser().get("/oauth/sign_in?lang=pt").await;
    page.assert_page(200, "<html lang=\"pt-BR\"");
}

#[tokio::test]
async fn the_page_lists_the_apps_with_permissions_and_dates() {
    let (service, client, mut browser) = start_signed_in().await;
    browser.get(ACCOUNT).await.assert_page(200, "No app has access to your account.");
    let elk_client = register_app(&service, "Elk", "https://elk.example/about").await;
    authorize_app(&client, &mut browser, "alice", "read:notifications").await;
    service.clock.advance(86_400);
    authorize_app(&client, &mut browser, "alice", "push").await;
    authorize_app(&elk_client, &mut browser, "alice", "write:media").await;

    let page = browser.get(ACCOUNT).await;
    assert!(!page.text.contains("No app has access"));
    let elk_text = "Elk|elk.example|Upload pictures, sounds and videos|Since|2027-01-16|· Not used yet|Remove access";
    let tusky_text = "Tusky|See your notifications and the rules for them|\
                 Send you push notifications, see the messages in them, and see and change the rules for them|\
                 Since|2027-01-15|· Not used yet|Signed in 2 times|\
                 Since|2027-01-16|· Not used yet|Sign out|\
                 Since|2027-01-15|· Not used yet|Sign out|Remove access";
    let page_text = visible_text(&page);
    // The confirmation is folded below the button that opens it.
    let confirmation =
        "An app that you remove loses its access immediately. You can allow it again later.";
    assert!(
        page_text.contains(&format!("{elk_text}|{confirmation}|Remove access|{tusky_text}")),
        "{page_text}"
    );

    // Disabled apps and other accounts' apps are not listed.
    let elk_id = service.store().app_by_client_id(&elk_client.id).await.unwrap().unwrap().app.id;
    service.store().set_app_disabled_at(&any_events(), elk_id, Some(service.now())).await.unwrap();
    assert!(!browser.get(ACCOUNT).await.text.contains("Elk"));
    service.add_account("bob").await;
    let mut bob = service.browser();
    let page = bob.get("/oauth/sign_in").await;
    bob.sign_in(&page, "bob").await.assert_page(200, "No app has access to your account.");
}

#[tokio::test]
async fn an_app_with_expired_tokens_is_not_listed() {
    let (service, _client, mut browser) = start_signed_in().await;
    let alice_id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    service.issue_token(None, "read").await;
    let token = NewToken {
        secret: belfry_runtime::random::split_token(service.now()).hashed_secret(),
        app_id: 1,
        account_id: Some(alice_id),
        scopes: "read".parse().unwrap(),
        created_at: service.now(),
        expires_at: service.now().checked_add(std::time::Duration::from_mins(1)).ok(),
        device: None,
    };
    service.store().add_token(&any_events(), &token).await.unwrap();
    browser.get(ACCOUNT).await.assert_page(200, "Tests");
    service.clock.advance(60);
    browser.get(ACCOUNT).await.assert_page(200, "No app has access to your account.");
}

#[tokio::test]
async fn a_matrix_device_is_listed_by_its_name() {
    let (service, _client, mut browser) = start_signed_in().await;
    let log_in = async |device: serde_json::Value| {
        let mut body = json!({
            "type": "m.login.password",
            "user": "alice",
            "password": "correct horse alice",
        });
        body.as_object_mut().unwrap().append(&mut device.as_object().unwrap().clone());
        let client = service.anonymous_client();
        let response = client.send("POST /_matrix/client/v3/login", body.to_string()).await;
        assert_eq!(response.status, 200);
    };
    log_in(json!({ "initial_device_display_name": "Element on Pixel" })).await;
    let page = browser.get(ACCOUNT).await;
    let page_text = visible_text(&page);
    let expected = "Apps with access|Element on Pixel|You signed in there with your password.|";
    assert!(page_text.contains(expected), "{page_text}");

    let evil_name = "<script>\u{202e}";
    log_in(json!({ "device_id": "LAPTOP", "initial_device_display_name": evil_name })).await;
    log_in(json!({ "device_id": "TABLET" })).await;
    let page = browser.get(ACCOUNT).await;
    for name in ["Element on Pixel", "\u{2068}&#60;script&#62;\u{2069}"] {
        assert!(page.text.contains(name), "{name}: {}", page.text);
    }
    assert!(visible_text(&page).contains("Matrix clients|Apps in which you signed in"));
    browser.get(ACCOUNT).await.assert_page(200, "Signed in 3 times");
}

#[tokio::test]
async fn names_are_escaped_and_isolated() {
    let (service, _client, mut browser) = start_signed_in().await;
    let evil_name = "<script>alert(1)</script>{{7*7}}<img src=x onerror=alert(1)>";
    let client = register_app(&service, evil_name, "https://xn--pple-43d.example/").await;
    authorize_app(&client, &mut browser, "alice", "push").await;
    let page = browser.get(ACCOUNT).await;
    assert_security_headers(&page, "'self'");
    for tag in ["<script>", "<img", "onerror=alert(1)>"] {
        assert!(!page.text.contains(tag), "{tag}: {}", page.text);
    }
    for text in ["{{7*7}}", "&#60;script&#62;", "&#60;img", "xn--pple-43d"] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    // The page contains only first-strong isolates, all closed.
    for control in ['\u{202a}', '\u{202e}', '\u{2066}', '\u{2067}'] {
        assert!(!page.text.contains(control));
    }
    assert_eq!(page.text.matches('\u{2068}').count(), page.text.matches('\u{2069}').count());
}

#[tokio::test]
async fn the_page_has_security_headers_is_not_cached_and_is_rate_limited() {
    let (_service, client, mut browser) = start_signed_in().await;
    authorize_app(&client, &mut browser, "alice", "read").await;
    let page = browser.get(ACCOUNT).await;
    assert_security_headers(&page, "'self'");
    let scripts: Vec<&str> = page.text.split("<script src=\"/oauth/static/").skip(1).collect();
    let file_names = scripts.iter().filter_map(|script| Some(script.rsplit_once(".js\"")?.0));
    let names: Vec<&str> = file_names.filter_map(|name| Some(name.rsplit_once('-')?.0)).collect();
    assert_eq!(names, ["press-guard", "local-times"], "the page loads only these scripts");
    let second_page = browser.get(ACCOUNT).await;
    let remaining_requests =
        |response: &TestResponse| response.header("x-ratelimit-remaining").parse::<u32>().unwrap();
    assert_eq!(page.header("x-ratelimit-limit"), "300");
    assert_eq!(remaining_requests(&page) - remaining_requests(&second_page), 1);
    for name in ["x-ratelimit-reset", "ratelimit", "ratelimit-policy"] {
        assert_ne!(page.header(name), "", "{name}");
    }
}

// A newer release may have issued the token.
#[tokio::test]
async fn an_unknown_scope_does_not_hide_known_scopes() {
    let (service, client, mut browser) = start_signed_in().await;
    let app_id = service.store().app_by_client_id(&client.id).await.unwrap().unwrap().app.id;
    let alice_id = service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let token = NewToken {
        secret: belfry_runtime::random::split_token(service.now()).hashed_secret(),
        app_id,
        account_id: Some(alice_id),
        scopes: "read".parse().unwrap(),
        created_at: service.now(),
        expires_at: None,
        device: None,
    };
    service.store().add_token(&any_events(), &token).await.unwrap();
    service.execute_sql("update grants set scopes = 'bells:ring read'");
    browser.get(ACCOUNT).await.assert_page(200, "See everything in your account");
}

/// The apps have many tokens, and long names full of characters that are escaped in HTML.
#[tokio::test]
async fn each_page_lists_50_apps_and_stays_below_a_megabyte() {
    let (service, _, mut browser) = start_signed_in().await;
    service.execute_sql(
        "with recursive numbers (n) as (select 100 union all select n + 1 from numbers where n < 219)
         insert into apps (id, client_id, secret, name, redirect_uris, scopes, created_at, used_at,
         auth_method, grant_types, registered_by, issuer) select n, 'client' || n, '', 'App ' || n ||
         replace(hex(zeroblob(30)), '0', '&'), '[]', 'read', 0, 0, 'client_secret',
         'authorization_code', 'api', 'oauth' from numbers;
         insert into grants (account_id, app_id, id, scopes, redirect_uri, device_id, device_name,
         created_at, pending_until) select a.id, p.id, 'g', 'read', '', '',
         replace(hex(zeroblob(50)), '0', '&'), 0, 0 from accounts a, apps p where p.id < 220;
         with recursive numbers (n) as (select 100 union all select n + 1 from numbers where n < 300)
         insert into tokens (lookup, digest, app_id, account_id, scopes, created_at, grant_id)
         select '00000000000000000000000000' || p.id || n, '', p.id, a.id, 'read', 0, 'g'
         from numbers, accounts a, apps p where p.id < 220",
    );
    for (query, listed_apps, links) in [
        ("", 100..150, vec!["/oauth/account?page=2"]),
        ("?page=2", 150..200, vec!["/oauth/account", "/oauth/account?page=3"]),
        ("?page=3", 200..220, vec!["/oauth/account?page=2"]),
        ("?page=9", 200..220, vec!["/oauth/account?page=2"]),
    ] {
        let page = browser.get(&format!("{ACCOUNT}{query}")).await;
        page.assert_page(200, "Signed in 100+ times");
        let html = &page.text;
        assert!(html.len() < 1_000_000, "{}", html.len());
        for app in 100..220 {
            assert_eq!(
                html.contains(&format!("App {app}")),
                listed_apps.contains(&app),
                "{query} {app}"
            );
        }
        let pager = html.split("class=\"pager\"").nth(1).unwrap();
        let hrefs: Vec<&str> = pager
            .split("href=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .take(links.len())
            .collect();
        assert_eq!(hrefs, links, "{query}");
    }
}
