//! `/.well-known/change-password` and profile links.

use crate::support::Service;

/// A different response for existing names would reveal which names exist.
#[tokio::test]
async fn every_profile_link_redirects_to_the_account_page() {
    let service = Service::start().await;
    service.user_client("alice").await;
    let get_profile = async |name: &str| {
        let response = service.anonymous_client().get(&format!("/@{name}")).await;
        (response.status, response.header("location").to_owned(), response.text)
    };
    let alice_redirect = get_profile("alice").await;
    assert_eq!((alice_redirect.0, &*alice_redirect.1), (303, "/oauth/account"));
    assert_eq!(get_profile("nobody").await, alice_redirect);
}

/// Password managers open this path after they have checked that an unknown path returns 404.
#[tokio::test]
async fn change_password_redirects_to_the_security_page() {
    let service = Service::start().await;
    let response = service.anonymous_client().get("/.well-known/change-password").await;
    assert_eq!((response.status, response.header("location")), (303, "/oauth/account/security"));
    let unknown_path =
        "/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200";
    assert_eq!(service.anonymous_client().get(unknown_path).await.status, 404);
}
