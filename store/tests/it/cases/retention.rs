//! Conformance cases for sweeps, which run at times that the cases choose.

use std::time::Duration;

use belfry_core::audit::{AuditKind, AuditOrigin, AuditOutcome, NewAuditEvent, NewAuditEvents};
use belfry_core::oauth::app::App;
use belfry_core::oauth::client::{ClientProperties, Registrar};
use belfry_core::oauth::grant::CodeGrant;
use belfry_core::oauth::issuer_policy::MASTODON;
use belfry_store::test::{any_events, recorded_events};
use belfry_store::{
    AppListFilter, NewToken, RetentionSettings, Store, StoredApp, StoredRequest, SweepOutcome,
};
use jiff::Timestamp;

use super::last_use::{issue_app_token, use_token};
use super::{
    account, add_alice_and_app, add_app, add_session, app, grant, hashed_secret, issue_code,
    run_concurrently, session, timestamp, token,
};

const START: i64 = 1_800_000_000;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

async fn sweep(store: &Store, now: i64) -> SweepOutcome {
    store.sweep(&RetentionSettings::default(), timestamp(now)).await.unwrap()
}

/// Sweeps every five minutes until the clock is trusted, and returns the time of the last sweep.
pub(super) async fn settle(store: &Store, start: i64) -> i64 {
    let mut now = start;
    while let SweepOutcome::ClockUntrusted(until) = sweep(store, now).await {
        assert!(until <= timestamp(start + HOUR));
        now += 5 * MINUTE;
    }
    now
}

/// Sweeps until the clock is trusted, and then at `now`. Returns the number of deleted rows by
/// table.
async fn sweep_trusted_at(store: &Store, now: i64) -> Vec<(&'static str, usize)> {
    settle(store, now - HOUR - MINUTE).await;
    match sweep(store, now).await {
        SweepOutcome::Swept(deleted_counts) => deleted_counts,
        outcome => panic!("{outcome:?}"),
    }
}

fn request(expires_at: Timestamp) -> StoredRequest {
    let browser_cookie = hashed_secret("b");
    let parameters = Vec::new();
    StoredRequest { app_id: 1, browser_cookie, account_id: None, parameters, expires_at }
}

pub(crate) async fn expired_requests_codes_and_sessions_are_deleted_within_minutes(store: Store) {
    add_alice_and_app(&store).await;
    for (name, expires_at) in [("old", START - 3 * MINUTE), ("young", START - MINUTE)] {
        store.add_request(hashed_secret(name), &request(timestamp(expires_at))).await.unwrap();
        issue_code(&store, name, &CodeGrant { expires_at: timestamp(expires_at), ..grant() }).await;
        add_session(&store, hashed_secret(name), &session(7, expires_at)).await;
    }

    sweep_trusted_at(&store, START).await;

    for (name, remains) in [("old", false), ("young", true)] {
        assert_eq!(
            store.code(hashed_secret(name)).await.unwrap().is_some(),
            remains,
            "code {name}"
        );
        let session = store.session(hashed_secret(name), timestamp(5)).await.unwrap();
        assert_eq!(session.is_some(), remains, "session {name}");
        let request =
            store.request(hashed_secret(name), hashed_secret("b"), timestamp(5)).await.unwrap();
        assert_eq!(request.is_some(), remains, "request {name}");
    }
}

pub(crate) async fn revoked_and_expired_tokens_are_deleted_after_30_days(store: Store) {
    add_alice_and_app(&store).await;
    let old = START - 30 * DAY - MINUTE;
    let young = START - 30 * DAY + MINUTE;
    for (name, time) in [("old", old), ("young", young)] {
        let expired_token = NewToken { expires_at: Some(timestamp(time)), ..token(name, None) };
        store.add_app_token(&expired_token).await.unwrap();
        let revoked_name = format!("{name} revoked");
        store.add_token(&any_events(), &token(&revoked_name, Some(7))).await.unwrap();
        store
            .revoke_token(&any_events(), hashed_secret(&revoked_name).lookup_key, timestamp(time))
            .await
            .unwrap();
    }
    store.add_app_token(&token("endless", None)).await.unwrap();

    let deleted_counts = sweep_trusted_at(&store, START).await;

    let tokens =
        deleted_counts.iter().filter(|(table, _)| *table == "tokens").map(|(_, rows)| rows);
    assert_eq!(tokens.sum::<usize>(), 2);
    for (name, remains) in [
        ("old", false),
        ("old revoked", false),
        ("young", true),
        ("young revoked", true),
        ("endless", true),
    ] {
        assert_eq!(store.token(hashed_secret(name)).await.unwrap().is_some(), remains, "{name}");
    }
}

async fn add_app_at(store: &Store, id: i64, client_id: &str, created_at: i64) {
    add_app_registered_by(store, id, client_id, created_at, Registrar::Api).await;
}

async fn add_app_registered_by(
    store: &Store,
    id: i64,
    client_id: &str,
    created_at: i64,
    registrar: Registrar,
) {
    let properties = ClientProperties::new(&MASTODON, registrar);
    let new_app = App { properties, ..app(id, client_id).app };
    add_app(store, &StoredApp::new(new_app, hashed_secret("client secret"), timestamp(created_at)))
        .await;
}

async fn remaining_apps(store: &Store) -> Vec<i64> {
    let apps = store.apps(&AppListFilter::default(), 0, 100).await.unwrap();
    apps.iter().map(|stored_app| stored_app.app.id).collect()
}

pub(crate) async fn apps_that_no_user_authorized_are_deleted_30_days_after_their_last_use(
    store: Store,
) {
    add_alice_and_app(&store).await;
    let old = START - 31 * DAY;
    let young = START - 30 * DAY + MINUTE;
    for (id, client_id) in [
        (2, "unused"),
        (3, "with a user token"),
        (4, "with a code"),
        (5, "with a deleted user token"),
        (6, "with a deleted code"),
        (10, "with tokens that were not used"),
        (11, "with a token that was used"),
        (12, "with a token that was issued recently"),
        (13, "with a deleted token"),
    ] {
        add_app_at(&store, id, client_id, old).await;
    }
    add_app_registered_by(&store, 7, "matrix", old, Registrar::Matrix).await;
    add_app_registered_by(&store, 8, "cli:Command line", old, Registrar::CommandLine).await;
    add_app_at(&store, 9, "young", young).await;
    store.add_token(&any_events(), &NewToken { app_id: 3, ..token("t", Some(7)) }).await.unwrap();
    let code = CodeGrant { app_id: 4, expires_at: timestamp(START + HOUR), ..grant() };
    issue_code(&store, "c", &code).await;
    let expired_at = Some(timestamp(START - 31 * DAY));
    for (app_id, secret, account) in [(5, "deleted", Some(7)), (13, "deleted too", None)] {
        let new_token = NewToken { app_id, expires_at: expired_at, ..token(secret, account) };
        store.add_token(&any_events(), &new_token).await.unwrap();
    }
    let code = CodeGrant { app_id: 6, expires_at: timestamp(START - 31 * DAY), ..grant() };
    issue_code(&store, "deleted", &code).await;
    for (app_id, secret, created_at) in
        [(10, "cached", old), (10, "not cached", old), (11, "used", old), (12, "new", young)]
    {
        issue_app_token(&store, app_id, secret, created_at).await;
    }
    assert!(store.token(hashed_secret("cached")).await.unwrap().is_some());
    use_token(&store, "used", young).await;
    store.flush_uses().await.unwrap();
    // Fills the cache.
    assert!(store.app_by_client_id("unused").await.unwrap().is_some());

    sweep_trusted_at(&store, START).await;
    // The first sweep deleted rows that proved the use of some apps.
    assert!(matches!(sweep(&store, START + MINUTE).await, SweepOutcome::Swept(_)));

    assert_eq!(remaining_apps(&store).await, [3, 4, 5, 6, 7, 8, 9, 11, 12]);
    assert!(store.app_by_client_id("unused").await.unwrap().is_none());
    for (secret, remains) in
        [("cached", false), ("not cached", false), ("used", true), ("new", true), ("t", true)]
    {
        assert_eq!(
            store.token(hashed_secret(secret)).await.unwrap().is_some(),
            remains,
            "{secret}"
        );
    }
}

pub(crate) async fn the_least_recently_used_apps_are_deleted_when_there_are_too_many(store: Store) {
    add_alice_and_app(&store).await;
    for id in 2..9 {
        add_app_at(&store, id, &format!("app {id}"), START - DAY + id).await;
    }
    store.add_token(&any_events(), &NewToken { app_id: 2, ..token("t", Some(7)) }).await.unwrap();
    issue_app_token(&store, 3, "app 3", START - DAY).await;
    issue_app_token(&store, 4, "app 4", START - DAY).await;
    use_token(&store, "app 3", START).await;
    store.flush_uses().await.unwrap();
    let now = settle(&store, START).await + MINUTE;

    let settings = RetentionSettings { max_unauthorized_apps: 3, ..RetentionSettings::default() };
    let SweepOutcome::Swept(deleted_counts) = store.sweep(&settings, timestamp(now)).await.unwrap()
    else {
        panic!("the clock is not trusted, or no sweep is due")
    };

    assert_eq!(deleted_counts.last(), Some(&("apps", 2)));
    // App 2 has a user token; apps 3, 4 and 8 were used last, because the token of app 4 may have
    // been used for an hour after its issue; app 7 is at the cutoff.
    assert_eq!(remaining_apps(&store).await, [2, 3, 4, 7, 8]);
}

pub(crate) async fn the_registration_event_of_an_unused_app_is_deleted_with_it(store: Store) {
    store.add_account(&any_events(), &account(7, "alice")).await.unwrap();
    let event = NewAuditEvent {
        at: timestamp(START - 40 * DAY),
        kind: AuditKind::AppRegister,
        outcome: AuditOutcome::Success,
        origin: AuditOrigin::CommandLine,
        client: None,
        detail: None,
    };
    let events = NewAuditEvents::from(event);
    let mut ids = Vec::new();
    for _ in 0..2 {
        let details = app(1, "client").app.details;
        let (app, _) = store
            .create_app(
                &events,
                timestamp(START - 40 * DAY),
                details,
                ClientProperties::new(&MASTODON, Registrar::Api),
            )
            .await
            .unwrap();
        ids.push(app.id);
    }
    store
        .add_token(&any_events(), &NewToken { app_id: ids[0], ..token("t", Some(7)) })
        .await
        .unwrap();

    sweep_trusted_at(&store, START).await;

    assert_eq!(remaining_apps(&store).await, [ids[0]]);
    let events = store.audit_events(recorded_events(), 10).await.unwrap();
    let apps: Vec<_> = events.iter().map(|event| event.app_id).collect();
    assert_eq!(apps, [Some(ids[0])]);
}

pub(crate) async fn an_app_added_by_the_operator_is_never_deleted_as_unused(store: Store) {
    let old_time = timestamp(START - 90 * DAY);
    let create_app = async |registrar| {
        let details = app(1, "client").app.details;
        store
            .create_app(
                &any_events(),
                old_time,
                details,
                ClientProperties::new(&MASTODON, registrar),
            )
            .await
            .unwrap()
            .0
    };
    let operator_app = create_app(Registrar::Operator).await;
    let unused_app = create_app(Registrar::Api).await;
    sweep_trusted_at(&store, START).await;
    assert!(store.app(operator_app.id).await.unwrap().is_some());
    assert!(store.app(unused_app.id).await.unwrap().is_none());
}

pub(crate) async fn a_sweep_deletes_more_rows_than_fit_in_one_batch(store: Store) {
    add_alice_and_app(&store).await;
    let add_requests = |store: std::sync::Arc<Store>, task: i64| async move {
        for index in 0..40 {
            let handle = hashed_secret(&format!("{task} {index}"));
            store.add_request(handle, &request(timestamp(START - 150))).await.unwrap();
        }
    };
    let (store, _) = run_concurrently(store, add_requests).await;
    let deleted_counts = sweep_trusted_at(&store, START).await;
    assert_eq!(deleted_counts[0], ("requests", 64 * 40));
}

/// The clock is wrong for almost an hour. Later it is correct, but the server has been stopped for
/// a long time.
pub(crate) async fn nothing_is_deleted_within_an_hour_after_a_clock_jump(store: Store) {
    add_alice_and_app(&store).await;
    add_session(&store, hashed_secret("s"), &session(7, START + DAY)).await;
    for name in ["t", "u"] {
        let expiring_token =
            NewToken { expires_at: Some(timestamp(START + DAY)), ..token(name, Some(7)) };
        store.add_token(&any_events(), &expiring_token).await.unwrap();
    }
    let mut now = settle(&store, START).await;

    now += 60 * DAY;
    for minute in 0..59 {
        let outcome = sweep(&store, now + minute * MINUTE).await;
        assert_eq!(outcome, SweepOutcome::ClockUntrusted(timestamp(now + HOUR)), "{minute}");
    }
    // The clock is corrected.
    now = START + 2 * HOUR;
    assert!(matches!(sweep(&store, now).await, SweepOutcome::Swept(_)));
    assert!(store.session(hashed_secret("s"), timestamp(now)).await.unwrap().is_some());
    assert!(store.token(hashed_secret("t")).await.unwrap().is_some());

    // The server was stopped for 60 days: an hour after its start the rows are deleted.
    now += 60 * DAY;
    assert_eq!(sweep(&store, now).await, SweepOutcome::ClockUntrusted(timestamp(now + HOUR)));
    settle(&store, now + 5 * MINUTE).await;
    assert!(store.session(hashed_secret("s"), timestamp(START)).await.unwrap().is_none());
    // `t` is omitted, because it is still cached as an expired token.
    assert!(store.token(hashed_secret("u")).await.unwrap().is_none());
}

pub(crate) async fn only_one_of_several_concurrent_sweeps_runs(store: Store) {
    let now = settle(&store, START).await + MINUTE;
    let (_, outcomes) = run_concurrently(store, |store, _| async move {
        matches!(sweep(&store, now).await, SweepOutcome::Swept(_))
    })
    .await;
    assert_eq!(outcomes.into_iter().filter(|has_run| *has_run).count(), 1);
}

pub(crate) async fn token_and_unused_app_retention_times_are_configurable(store: Store) {
    add_alice_and_app(&store).await;
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    store
        .revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(START - 2 * HOUR))
        .await
        .unwrap();
    add_app_at(&store, 2, "unused", START - 2 * HOUR).await;
    let now = settle(&store, START).await + MINUTE;
    assert!(store.app(2).await.unwrap().is_some());

    let hour = Duration::from_hours(1);
    let settings = RetentionSettings {
        tokens: hour,
        unused_apps: hour,
        audit_events: hour,
        ..RetentionSettings::default()
    };
    store.sweep(&settings, timestamp(now)).await.unwrap();

    assert!(store.token(hashed_secret("t")).await.unwrap().is_none());
    assert!(store.app(2).await.unwrap().is_none());
}
