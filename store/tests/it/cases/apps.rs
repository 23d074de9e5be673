//! Conformance cases for apps.

use belfry_core::oauth::client::PreviousSecret;
use belfry_core::oauth::client::{AuthMethod, ClientProperties, GrantType, Issuer, Registrar};
use belfry_core::oauth::grant::CodeGrant;
use belfry_core::oauth::scope::Scopes;
use belfry_store::test::any_events;
use belfry_store::{AppListFilter, AppTokens, EnabledState, NewToken, Store, WriteOutcome};

use super::{add_alice_and_app, add_app, app, grant, hashed_secret, issue_code, timestamp, token};

pub(crate) async fn an_app_is_read_back_as_it_was_added(store: Store) {
    let mut full_app = app(1, "client");
    let mut bare_app = app(2, "bare");
    bare_app.app.details.website = None;
    bare_app.app.details.redirect_uris.clear();
    let previous =
        PreviousSecret { secret: hashed_secret("previous secret"), until: timestamp(50) };
    full_app.secrets.previous = Some(previous);
    full_app.retained_at = Some(timestamp(40));
    full_app.last_used_at = Some(timestamp(50));
    full_app.disabled_at = Some(timestamp(45));
    full_app.app.properties = ClientProperties {
        auth_method: AuthMethod::None,
        grant_types: vec![GrantType::ClientCredentials],
        registered_by: Registrar::Operator,
        issuer: Issuer::OAuth,
    };
    bare_app.app.properties.grant_types.clear();
    bare_app.app.details.scopes = Scopes::from_stored("read bells:ring");
    add_app(&store, &full_app).await;
    add_app(&store, &bare_app).await;

    assert_eq!(store.app(1).await.unwrap(), Some(full_app.clone()));
    for source in ["from the database", "from the cache"] {
        let app = async |client_id| store.app_by_client_id(client_id).await.unwrap();
        assert_eq!(app("client").await.as_deref(), Some(&full_app), "{source}");
        assert_eq!(app("bare").await.as_deref(), Some(&bare_app), "{source}");
    }
    assert_eq!(store.app_by_client_id("other").await.unwrap(), None);
    assert_eq!(store.app(3).await.unwrap(), None);
}

pub(crate) async fn a_client_id_can_only_be_used_once(store: Store) {
    add_app(&store, &app(1, "client")).await;
    assert_eq!(
        store.add_app(&any_events(), &app(2, "client")).await.unwrap(),
        WriteOutcome::NotFound
    );
    assert_eq!(
        store.add_app(&any_events(), &app(1, "other")).await.unwrap(),
        WriteOutcome::NotFound
    );
    assert_eq!(store.apps(&AppListFilter::default(), 0, 10).await.unwrap().len(), 1);
}

pub(crate) async fn apps_are_listed_in_pages(store: Store) {
    for id in 1..=3 {
        add_app(&store, &app(id, &format!("client{id}"))).await;
    }
    let ids = async |after| {
        let page = store.apps(&AppListFilter::default(), after, 2).await.unwrap();
        page.into_iter().map(|stored_app| stored_app.app.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(0).await, [1, 2]);
    assert_eq!(ids(2).await, [3]);
}

pub(crate) async fn a_disabled_app_is_reported_immediately_even_by_its_tokens(store: Store) {
    let disabled_at = async || {
        let app = store.app_by_client_id("client").await.unwrap();
        app.unwrap().disabled_at
    };
    add_alice_and_app(&store).await;
    assert_eq!(disabled_at().await, None);
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    assert_eq!(store.token(hashed_secret("t")).await.unwrap().unwrap().app_disabled_at, None);

    assert_eq!(
        store.set_app_disabled_at(&any_events(), 1, Some(timestamp(50))).await.unwrap(),
        WriteOutcome::Written
    );

    assert_eq!(store.app(1).await.unwrap().unwrap().disabled_at, Some(timestamp(50)));
    assert_eq!(disabled_at().await, Some(timestamp(50)));
    assert_eq!(
        store.token(hashed_secret("t")).await.unwrap().unwrap().app_disabled_at,
        Some(timestamp(50))
    );
    assert_eq!(
        store.set_app_disabled_at(&any_events(), 2, Some(timestamp(50))).await.unwrap(),
        WriteOutcome::NotFound
    );
}

pub(crate) async fn apps_are_listed_by_state_name_and_use(store: Store) {
    add_alice_and_app(&store).await;
    for (id, client_id, name) in [
        (2, "two", "Ice Cubes"),
        (3, "three", "Tusky 100%"),
        (4, "cli:Bot", "Bot"),
        (5, "five", "With a code"),
        (6, "six", "With a token"),
        (7, "seven", "Operator's"),
    ] {
        let mut new_app = app(id, client_id);
        name.clone_into(&mut new_app.app.details.name);
        new_app.retained_at = [4, 7].contains(&id).then_some(timestamp(1));
        add_app(&store, &new_app).await;
    }
    store.set_app_disabled_at(&any_events(), 2, Some(timestamp(50))).await.unwrap();
    issue_code(&store, "c", &CodeGrant { app_id: 5, ..grant() }).await;
    store.add_app_token(&NewToken { app_id: 6, ..token("t", None) }).await.unwrap();

    let no_filter = AppListFilter::default;
    let with_name = |text: &str| AppListFilter { name: Some(text.to_owned()), ..no_filter() };
    let with_state = |state| AppListFilter { state: Some(state), ..no_filter() };
    let unused = AppListFilter { only_unused: true, ..no_filter() };
    for (filter, expected) in [
        (no_filter(), &[1, 2, 3, 4, 5, 6, 7][..]),
        (with_state(EnabledState::Active), &[1, 3, 4, 5, 6, 7]),
        (with_state(EnabledState::Disabled), &[2]),
        (with_name("tusky"), &[1, 3]),
        (with_name("CUBES"), &[2]),
        (with_name("100%"), &[3]),
        (with_name("%"), &[3]),
        (with_name("_"), &[]),
        (with_name(""), &[1, 2, 3, 4, 5, 6, 7]),
        (unused.clone(), &[1, 2, 3]),
        (AppListFilter { name: Some("tusky".to_owned()), ..unused }, &[1, 3]),
    ] {
        // Read in pages of one row.
        let mut ids = Vec::new();
        let mut after = 0;
        while let [stored_app] = &store.apps(&filter, after, 1).await.unwrap()[..] {
            after = stored_app.app.id;
            ids.push(after);
        }
        assert_eq!(ids, expected, "{filter:?}");
    }
}

pub(crate) async fn a_rotation_replaces_the_secret_and_accepts_the_previous_one_for_some_time(
    store: Store,
) {
    add_app(&store, &app(1, "client")).await;
    add_app(&store, &app(2, "other")).await;
    let secrets = async || {
        let cached_secrets = store.app_by_client_id("client").await.unwrap().unwrap().secrets;
        assert_eq!(store.app(1).await.unwrap().unwrap().secrets, cached_secrets);
        cached_secrets
    };
    assert_eq!(secrets().await, hashed_secret("client secret").into());
    for (new_secret, until, previous_secret) in [
        ("second", Some(timestamp(100)), Some("client secret")),
        ("third", Some(timestamp(50)), Some("second")),
        ("fourth", None, None),
        ("fifth", Some(timestamp(70)), Some("fourth")),
    ] {
        let outcome = store
            .rotate_app_secret(&any_events(), 1, hashed_secret(new_secret), until)
            .await
            .unwrap();
        assert_eq!(outcome, WriteOutcome::Written);
        let stored_secrets = secrets().await;
        assert_eq!(stored_secrets.current, hashed_secret(new_secret));
        let expected = previous_secret
            .zip(until)
            .map(|(secret, until)| PreviousSecret { secret: hashed_secret(secret), until });
        assert_eq!(stored_secrets.previous, expected, "{new_secret}");
    }
    let other_app = store.app(2).await.unwrap().unwrap();
    assert_eq!(other_app, app(2, "other"), "other apps are unchanged");
    let outcome =
        store.rotate_app_secret(&any_events(), 3, hashed_secret("new"), None).await.unwrap();
    assert_eq!(outcome, WriteOutcome::NotFound);
}

pub(crate) async fn an_apps_valid_tokens_are_counted(store: Store) {
    add_alice_and_app(&store).await;
    let read_tokens = async |now| store.app_tokens(1, timestamp(now)).await.unwrap();
    assert_eq!(read_tokens(1).await, AppTokens { valid_count: 0, last_issued_at: None });
    for (secret, account, created_at, expires_at) in [
        ("of alice", Some(7), 10, None),
        ("of the app", None, 30, None),
        ("expiring", Some(7), 20, Some(timestamp(100))),
        ("revoked", Some(7), 40, None),
    ] {
        let created_at = timestamp(created_at);
        let new_token = NewToken { created_at, expires_at, ..token(secret, account) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    }
    store
        .revoke_token(&any_events(), hashed_secret("revoked").lookup_key, timestamp(50))
        .await
        .unwrap();
    assert_eq!(
        read_tokens(99).await,
        AppTokens { valid_count: 3, last_issued_at: Some(timestamp(40)) }
    );
    assert_eq!(
        read_tokens(100).await,
        AppTokens { valid_count: 2, last_issued_at: Some(timestamp(40)) }
    );
}
