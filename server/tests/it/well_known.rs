//! `/.well-known/security.txt`, `/.well-known/change-password` and profile links.

use belfry::config::Config;

use crate::support::Service;

#[tokio::test]
async fn security_txt_has_the_configured_contact() {
    let settings = "[security]\ncontact = ['mailto:security@ring.example', 'https://ring.example/report']\n\
        expires = 2027-11-01T00:00:00Z\npolicy = 'https://ring.example/policy'\n";
    let service = Service::start_with(toml::from_str::<Config>(settings).unwrap()).await;
    for path in ["/.well-known/security.txt", "/.well-known/security.txt/"] {
        let response = service.anonymous_client().get(path).await;
        assert_eq!(response.status, 200, "{path}");
        assert_eq!(response.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(
            response.text,
            "Contact: mailto:security@ring.example\nContact: https://ring.example/report\n\
             Policy: https://ring.example/policy\nExpires: 2027-11-01T00:00:00Z\n\
             Canonical: https://ring.example/.well-known/security.txt\n"
        );
    }
}

#[tokio::test]
async fn without_a_contact_there_is_no_security_txt() {
    let service = Service::start().await;
    assert_eq!(service.anonymous_client().get("/.well-known/security.txt").await.status, 404);
}

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
