//! The tokens of each app on the account page.

use axum::http::StatusCode;
use serde_json::json;

use super::{lookup_key, read_events, sign_in_alice};
use crate::support::browser::visible_text;
use crate::support::{Service, TestResponse, on_both_engines};

const ACCOUNT_PATH: &str = "/oauth/account";
const REVOKE_TOKEN_PATH: &str = "/oauth/account/revoke_token";
const RULES_PATH: &str = "/_matrix/client/v3/pushrules/";

/// Returns the ids of the tokens on a page, in order.
fn token_ids_on(page: &TestResponse) -> Vec<String> {
    let buttons = page.text.split("name=\"token\" value=\"").skip(1);
    buttons.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

async fn a_token_is_revoked_and_the_others_stay_valid(service: Service) {
    let mut browser = sign_in_alice(&service).await;
    let login = json!({
        "type": "m.login.password", "user": "alice", "password": "correct horse alice",
    });
    let mut devices = Vec::new();
    for _ in 0..3 {
        let request = "POST /_matrix/client/v3/login";
        let response = service.anonymous_client().send(request, login.to_string()).await;
        let token =
            response.expect_json(StatusCode::OK)["access_token"].as_str().unwrap().to_owned();
        devices.push(service.anonymous_client().with_token(&token));
    }
    service.clock.advance(7200);
    devices[1].get(RULES_PATH).await.expect_json(StatusCode::OK);
    service.state.flush_uses().await;
    service.clock.advance(3 * 3600);
    let page = browser.get(ACCOUNT_PATH).await;
    let text = visible_text(&page);
    let expected = "Since|2027-01-15|· Last used 3 hours ago|Signed in 3 times|\
                 Since|2027-01-15|· Last used 3 hours ago|Sign out|\
                 Since|2027-01-15|· Not used yet|Sign out|\
                 Since|2027-01-15|· Not used yet|Sign out|Remove access";
    assert!(text.contains(expected), "{text}");

    let used_token_id = token_ids_on(&page).remove(0);
    // The second submit has no effect.
    for _ in 0..2 {
        let response = browser.submit(&page, REVOKE_TOKEN_PATH, &[("token", &used_token_id)]).await;
        browser.follow(&response).await.assert_page(200, "That sign-in of the app has ended.");
    }
    let mut is_valid = Vec::new();
    for device in &devices {
        is_valid.push(device.get(RULES_PATH).await.status == 200);
    }
    assert_eq!(is_valid, [true, false, true]);
    // One click removes the others.
    let page = browser.get(ACCOUNT_PATH).await;
    let app_field = page.text.split("name=\"app\" value=\"").nth(1).unwrap();
    let app_id = app_field.split('"').next().unwrap();
    browser.submit(&page, "/oauth/account/remove_app", &[("app", app_id)]).await;
    for device in &devices {
        assert_eq!(device.get(RULES_PATH).await.status, 401);
    }
    let events = read_events(&service, "alice").await;
    let revocations = ["token_revoke success 1", "token_revoke success 2"];
    assert_eq!(events[events.len() - 2..], revocations, "{events:?}");
}

on_both_engines! {
    crate::security::start_with_defaults:
    a_token_is_revoked_and_the_others_stay_valid,
}

#[tokio::test]
async fn another_accounts_token_is_not_revoked() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let bob = service.user_client("bob").await;
    for _ in 0..2 {
        service.user_client("alice").await;
    }
    let page = browser.get(ACCOUNT_PATH).await;
    let bobs_token_id = lookup_key(bob.token());
    for value in [&*bobs_token_id, "", "nonsense", &"f".repeat(1000)] {
        let response = browser.submit(&page, REVOKE_TOKEN_PATH, &[("token", value)]).await;
        assert_eq!(response.status, 303);
    }
    bob.get(RULES_PATH).await.expect_json(StatusCode::OK);
    assert_eq!(token_ids_on(&browser.get(ACCOUNT_PATH).await).len(), 2);
}

/// Anyone who sees a page with the secret of a token could use the token.
#[tokio::test]
async fn the_page_has_no_secrets_and_a_bounded_number_of_tokens() {
    let service = Service::start().await;
    let mut browser = sign_in_alice(&service).await;
    let mut tokens = Vec::new();
    for _ in 0..12 {
        tokens.push(service.user_client("alice").await.token().to_owned());
    }
    let page = browser.get(ACCOUNT_PATH).await;
    assert_eq!(token_ids_on(&page).len(), 10);
    page.assert_page(200, "Only the 10 used last are shown here.");
    for token in tokens {
        assert!(!page.text.contains(&token));
        let secret = &token[token.len() - 43..];
        assert!(!page.text.contains(secret));
    }
}
