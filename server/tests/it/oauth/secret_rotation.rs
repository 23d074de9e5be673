//! Rotation of client secrets: the old one is accepted for some time.

use belfry::config::Config;
use belfry_runtime::random;
use jiff::SignedDuration;

use crate::support::oauth_client::{expect_error, oauth_error};
use crate::support::{OAuthClient, Service, TestDatabase, any_events};

const GRANT: (&str, &str) = ("grant_type", "client_credentials");

/// Replaces the secret as `belfry app secret` does, and returns the app with the new one.
async fn rotate(service: &Service, client: &OAuthClient, keep_old: Option<i64>) -> OAuthClient {
    let app = service.store().app_by_client_id(&client.id).await.unwrap().unwrap();
    let secret = random::secret(service.now());
    let until = keep_old.map(|seconds| service.now() + SignedDuration::from_secs(seconds));
    service
        .store()
        .rotate_app_secret(&any_events(), app.app.id, secret.hashed(), until)
        .await
        .unwrap();
    OAuthClient { secret: secret.reveal().to_owned(), ..client.clone() }
}

/// Returns whether the app can authenticate, and asserts that this is the same at every endpoint.
async fn can_authenticate(client: &OAuthClient) -> bool {
    let issued = client.post("/oauth/token", &[GRANT]).await;
    if issued.status != 200 {
        let rejected = oauth_error(401, "invalid_client");
        assert_eq!(expect_error(&issued), rejected);
        let introspected = client.post("/oauth/introspect", &[("token", "x")]).await;
        assert_eq!(expect_error(&introspected), rejected);
        let revoked = client.post("/oauth/revoke", &[("token", "x")]).await;
        assert_eq!(expect_error(&revoked), oauth_error(403, "unauthorized_client"));
        return false;
    }
    let token = issued.json()["access_token"].as_str().unwrap().to_owned();
    let introspected = client.post("/oauth/introspect", &[("token", &token)]).await;
    assert_eq!(introspected.json()["active"], true);
    assert_eq!(client.post("/oauth/revoke", &[("token", &token)]).await.status, 200);
    true
}

async fn a_replaced_secret_is_accepted_until_its_expiry(database: TestDatabase) {
    let service = Service::start_on(database, Config::default()).await;
    let first = service.register_client().await;
    assert!(can_authenticate(&first).await);

    let second = rotate(&service, &first, Some(3600)).await;
    assert!(can_authenticate(&second).await && can_authenticate(&first).await);
    service.clock.advance(3599);
    assert!(can_authenticate(&first).await, "a second before its expiry");
    service.clock.advance(1);
    assert!(!can_authenticate(&first).await, "at its expiry");
    assert!(can_authenticate(&second).await);

    let third = rotate(&service, &second, Some(3600)).await;
    let fourth = rotate(&service, &third, Some(3600)).await;
    assert!(!can_authenticate(&second).await, "only one old secret is accepted");
    assert!(can_authenticate(&third).await && can_authenticate(&fourth).await);

    let fifth = rotate(&service, &fourth, None).await;
    assert!(!can_authenticate(&third).await && !can_authenticate(&fourth).await);
    assert!(can_authenticate(&fifth).await);
}

#[tokio::test]
async fn a_replaced_secret_is_accepted_until_its_expiry_on_sqlite() {
    a_replaced_secret_is_accepted_until_its_expiry(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_secret_is_accepted_until_its_expiry_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        a_replaced_secret_is_accepted_until_its_expiry(database).await;
    }
}

#[tokio::test]
async fn the_old_secret_of_a_disabled_app_is_rejected() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let new = rotate(&service, &client, Some(3600)).await;
    let app = service.store().app_by_client_id(&client.id).await.unwrap().unwrap();
    service
        .store()
        .set_app_disabled_at(&any_events(), app.app.id, Some(service.now()))
        .await
        .unwrap();
    assert!(!can_authenticate(&client).await && !can_authenticate(&new).await);
}
