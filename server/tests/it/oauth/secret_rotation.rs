//! Rotation of client secrets: the old secret is accepted until it expires.

use belfry::config::Config;
use belfry_runtime::random;
use jiff::SignedDuration;

use crate::support::oauth_client::{oauth_error, status_and_error};
use crate::support::{OAuthClient, Service, TestDatabase, any_events};

const GRANT: (&str, &str) = ("grant_type", "client_credentials");

/// Replaces the secret as `belfry app secret` does, and returns a client with the new secret.
async fn rotate_secret(
    service: &Service,
    client: &OAuthClient,
    keep_old_seconds: Option<i64>,
) -> OAuthClient {
    let app = service.store().app_by_client_id(&client.id).await.unwrap().unwrap();
    let secret = random::split_token(service.now());
    let old_expires_at =
        keep_old_seconds.map(|seconds| service.now() + SignedDuration::from_secs(seconds));
    service
        .store()
        .rotate_app_secret(&any_events(), app.app.id, secret.hashed_secret(), old_expires_at)
        .await
        .unwrap();
    OAuthClient { secret: secret.reveal().to_owned(), ..client.clone() }
}

/// Returns whether the app can authenticate, and asserts that this is the same at every endpoint.
async fn can_authenticate(client: &OAuthClient) -> bool {
    let token_response = client.post("/oauth/token", &[GRANT]).await;
    if token_response.status != 200 {
        let invalid_client = oauth_error(401, "invalid_client");
        assert_eq!(status_and_error(&token_response), invalid_client);
        let introspection = client.post("/oauth/introspect", &[("token", "x")]).await;
        assert_eq!(status_and_error(&introspection), invalid_client);
        let revocation = client.post("/oauth/revoke", &[("token", "x")]).await;
        assert_eq!(status_and_error(&revocation), oauth_error(403, "unauthorized_client"));
        return false;
    }
    let token = token_response.json()["access_token"].as_str().unwrap().to_owned();
    let introspection = client.post("/oauth/introspect", &[("token", &token)]).await;
    assert_eq!(introspection.json()["active"], true);
    assert_eq!(client.post("/oauth/revoke", &[("token", &token)]).await.status, 200);
    true
}

async fn assert_a_replaced_secret_is_accepted_until_its_expiry(database: TestDatabase) {
    let service = Service::start_on(database, Config::default()).await;
    let with_first_secret = service.register_client().await;
    assert!(can_authenticate(&with_first_secret).await);

    let with_second_secret = rotate_secret(&service, &with_first_secret, Some(3600)).await;
    assert!(
        can_authenticate(&with_second_secret).await && can_authenticate(&with_first_secret).await
    );
    service.clock.advance(3599);
    assert!(
        can_authenticate(&with_first_secret).await,
        "it is accepted a second before its expiry"
    );
    service.clock.advance(1);
    assert!(!can_authenticate(&with_first_secret).await, "it is rejected at its expiry");
    assert!(can_authenticate(&with_second_secret).await);

    let with_third_secret = rotate_secret(&service, &with_second_secret, Some(3600)).await;
    let with_fourth_secret = rotate_secret(&service, &with_third_secret, Some(3600)).await;
    assert!(!can_authenticate(&with_second_secret).await, "only one old secret is accepted");
    assert!(
        can_authenticate(&with_third_secret).await && can_authenticate(&with_fourth_secret).await
    );

    let with_fifth_secret = rotate_secret(&service, &with_fourth_secret, None).await;
    assert!(
        !can_authenticate(&with_third_secret).await && !can_authenticate(&with_fourth_secret).await
    );
    assert!(can_authenticate(&with_fifth_secret).await);
}

#[tokio::test]
async fn a_replaced_secret_is_accepted_until_its_expiry_on_sqlite() {
    assert_a_replaced_secret_is_accepted_until_its_expiry(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_secret_is_accepted_until_its_expiry_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_a_replaced_secret_is_accepted_until_its_expiry(database).await;
    }
}

#[tokio::test]
async fn a_disabled_apps_old_and_new_secrets_are_rejected() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let rotated_client = rotate_secret(&service, &client, Some(3600)).await;
    let app = service.store().app_by_client_id(&client.id).await.unwrap().unwrap();
    service
        .store()
        .set_app_disabled_at(&any_events(), app.app.id, Some(service.now()))
        .await
        .unwrap();
    assert!(!can_authenticate(&client).await && !can_authenticate(&rotated_client).await);
}
