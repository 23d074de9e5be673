//! Conformance cases for the audit trail: events that are stored in the transaction of their
//! change, and counted events.

use belfry_core::audit::{
    AuditClient, AuditKind, AuditOrigin, AuditOutcome, CountedSubject, EventCount, NewAuditEvent,
    NewAuditEvents,
};
use belfry_core::request::RequestId;
use belfry_store::test::{any_events, recorded_events};
use belfry_store::{
    AddAccountError, AuditEvent, AuditFilter, Consent, ExistingAccess, Store, StoreError,
    StoredRequest, WriteOutcome,
};
use jiff::Timestamp;

use super::{
    CONCURRENT_TASKS, account, add_alice_and_app, app, grant, hashed_secret, issue_code,
    run_concurrently, session, timestamp, token,
};

/// Time of every event.
const NOW: i64 = 1_700_000_000;

fn new_event(kind: AuditKind) -> NewAuditEvent {
    let request_id = RequestId::parse(b"request-1").unwrap();
    NewAuditEvent {
        at: timestamp(NOW),
        kind,
        outcome: AuditOutcome::Success,
        origin: AuditOrigin::Client,
        client: Some(AuditClient { address: Some("192.0.2.1".to_owned()), request_id }),
        detail: None,
    }
}

async fn read_events(store: &Store) -> Vec<AuditEvent> {
    store.audit_events(recorded_events(), 1000).await.unwrap()
}

/// Returns the kind, account, app and count of each event, sorted.
async fn summarize_events(store: &Store) -> Vec<(String, Option<i64>, Option<i64>, i64)> {
    let events = read_events(store).await.into_iter();
    let mut summaries: Vec<_> =
        events.map(|event| (event.kind, event.account_id, event.app_id, event.count)).collect();
    summaries.sort();
    summaries
}

fn request(account: i64) -> StoredRequest {
    StoredRequest {
        app_id: 1,
        browser_cookie: hashed_secret("cookie"),
        account_id: Some(account),
        parameters: vec![("client_id".to_owned(), "client".to_owned())],
        expires_at: timestamp(NOW + 60),
    }
}

pub(crate) async fn an_event_is_stored_with_every_change(store: Store) {
    let now = timestamp(NOW);
    let event = |kind| NewAuditEvents::from(new_event(kind));
    let added_app = store.add_app(&event(AuditKind::AppRegister), &app(1, "client")).await.unwrap();
    assert_eq!(added_app, WriteOutcome::Written);
    store.add_account(&event(AuditKind::AccountAdd), &account(7, "alice")).await.unwrap();
    let alice = session(7, NOW + 60);
    let sign_in =
        store.add_session(&event(AuditKind::SignIn), hashed_secret("s"), &alice, 0).await.unwrap();
    assert_eq!(sign_in, WriteOutcome::Written);
    let consent =
        Consent { session: hashed_secret("s").lookup_key, at: timestamp(1), is_implied: false };
    let mut unexpired_grant = grant();
    unexpired_grant.expires_at = timestamp(NOW + 60);
    store
        .add_code(&event(AuditKind::Consent), hashed_secret("c"), &unexpired_grant, consent)
        .await
        .unwrap();
    let code = hashed_secret("c").lookup_key;
    let secret = hashed_secret("redeemed");
    store.redeem_code(&event(AuditKind::TokenIssue), code, secret, now, None).await.unwrap();
    store.add_token(&event(AuditKind::TokenIssue), &token("t", Some(7))).await.unwrap();
    let login = store
        .add_token_for_password(&event(AuditKind::TokenIssue), &token("u", Some(7)), 0)
        .await
        .unwrap();
    assert_eq!(login, WriteOutcome::Written);
    store
        .revoke_token(&event(AuditKind::TokenRevoke), hashed_secret("t").lookup_key, now)
        .await
        .unwrap();
    store.revoke_access(&event(AuditKind::TokenRevoke), 7, 1, now).await.unwrap();
    store.add_request(hashed_secret("r"), &request(7)).await.unwrap();
    let denial = NewAuditEvent { outcome: AuditOutcome::Denied, ..new_event(AuditKind::Consent) };
    let denied_request = store
        .consume_request(Some(&denial.into()), hashed_secret("r"), hashed_secret("cookie"), now)
        .await;
    assert!(denied_request.unwrap().is_some());
    store.end_session(&event(AuditKind::SignOut), 7, hashed_secret("s").lookup_key).await.unwrap();
    store
        .set_password(&event(AuditKind::PasswordChange), 7, "x", ExistingAccess::Keep)
        .await
        .unwrap();
    store.set_account_disabled_at(&event(AuditKind::AccountDisable), 7, Some(now)).await.unwrap();
    store.set_app_disabled_at(&event(AuditKind::AppDisable), 1, Some(now)).await.unwrap();

    let mut expected = vec![
        ("app_register", None, Some(1), 1),
        ("account_add", Some(7), None, 1),
        ("sign_in", Some(7), None, 1),
        ("consent", Some(7), Some(1), 1),
        ("consent", Some(7), Some(1), 1),
        ("token_issue", Some(7), Some(1), 1),
        ("token_issue", Some(7), Some(1), 1),
        ("token_issue", Some(7), Some(1), 1),
        ("token_revoke", Some(7), Some(1), 1),
        ("token_revoke", Some(7), Some(1), 2),
        ("sign_out", Some(7), None, 1),
        ("password_change", Some(7), None, 1),
        ("account_disable", Some(7), None, 1),
        ("app_disable", None, Some(1), 1),
    ];
    expected.sort_unstable();
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(kind, account, app, count)| (kind.to_owned(), account, app, count))
        .collect();
    assert_eq!(summarize_events(&store).await, expected);

    let events = read_events(&store).await;
    let denied_event = events.iter().find(|event| event.outcome == "denied").unwrap();
    let expected = AuditEvent {
        id: denied_event.id.clone(),
        at: now,
        last_at: now,
        kind: "consent".to_owned(),
        outcome: "denied".to_owned(),
        origin: "client".to_owned(),
        address: Some("192.0.2.1".to_owned()),
        request_id: Some("request-1".to_owned()),
        detail: None,
        account_id: Some(7),
        account: Some("alice".to_owned()),
        app_id: Some(1),
        app: Some("Tusky".to_owned()),
        count: 1,
    };
    assert_eq!(*denied_event, expected);
}

pub(crate) async fn simultaneous_events_are_listed_in_change_order(store: Store) {
    let kinds = [AuditKind::SignIn, AuditKind::TokenIssue].repeat(10);
    for pair in kinds.chunks(2) {
        let events = NewAuditEvents::from(new_event(pair[0])).with_event(new_event(pair[1]));
        store.record_events(&events).await.unwrap();
    }
    let events = read_events(&store).await;
    let stored_kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(stored_kinds, ["sign_in", "token_issue"].repeat(10));
}

pub(crate) async fn a_change_without_effect_leaves_no_event(store: Store) {
    add_alice_and_app(&store).await;
    let events = NewAuditEvents::from(new_event(AuditKind::SignIn));
    let now = timestamp(NOW);
    let error = store.add_account(&events, &account(8, "alice")).await.unwrap_err();
    assert!(matches!(error, AddAccountError::NameTaken));
    let error = store.add_account(&events, &account(7, "bob")).await.unwrap_err();
    assert!(matches!(error, AddAccountError::IdTaken));
    assert_eq!(store.add_app(&events, &app(2, "client")).await.unwrap(), WriteOutcome::NotFound);
    assert_eq!(store.add_app(&events, &app(1, "other")).await.unwrap(), WriteOutcome::NotFound);
    let outcome =
        store.add_session(&events, hashed_secret("s"), &session(7, NOW), 1).await.unwrap();
    assert_eq!(outcome, WriteOutcome::NotFound);
    let outcome = store.add_token_for_password(&events, &token("t", Some(7)), 1).await.unwrap();
    assert_eq!(outcome, WriteOutcome::NotFound);
    let consent =
        Consent { session: hashed_secret("none").lookup_key, at: timestamp(1), is_implied: false };
    let outcome = store.add_code(&events, hashed_secret("c"), &grant(), consent).await.unwrap();
    assert_eq!(outcome, WriteOutcome::NotFound);
    issue_code(&store, "used", &grant()).await;
    store
        .redeem_code(
            &any_events(),
            hashed_secret("used").lookup_key,
            hashed_secret("first"),
            timestamp(20),
            None,
        )
        .await
        .unwrap();
    let second_redemption = store
        .redeem_code(
            &events,
            hashed_secret("used").lookup_key,
            hashed_secret("second"),
            timestamp(21),
            None,
        )
        .await;
    assert!(second_redemption.is_err());
    assert_eq!(
        store
            .consume_request(Some(&events), hashed_secret("r"), hashed_secret("cookie"), now)
            .await
            .unwrap(),
        None
    );
    store.revoke_token(&any_events(), hashed_secret("first").lookup_key, now).await.unwrap();
    store.revoke_token(&events, hashed_secret("first").lookup_key, now).await.unwrap();
    store.revoke_token(&events, hashed_secret("unknown").lookup_key, now).await.unwrap();
    assert_eq!(store.revoke_access(&events, 7, 1, now).await.unwrap(), 0);
    store.end_session(&events, 7, hashed_secret("none").lookup_key).await.unwrap();
    store.set_password(&events, 9, "x", ExistingAccess::Keep).await.unwrap();
    store.set_account_disabled_at(&events, 9, Some(now)).await.unwrap();
    store.set_app_disabled_at(&events, 9, Some(now)).await.unwrap();
    // They have this state already.
    for disabled_at in [Some(now), None] {
        store.set_account_disabled_at(&any_events(), 7, disabled_at).await.unwrap();
        store.set_account_disabled_at(&events, 7, disabled_at).await.unwrap();
        store.set_app_disabled_at(&any_events(), 1, disabled_at).await.unwrap();
        store.set_app_disabled_at(&events, 1, disabled_at).await.unwrap();
    }
    // App tokens are counted instead.
    store.add_app_token(&token("app", None)).await.unwrap();
    store.revoke_token(&events, hashed_secret("app").lookup_key, now).await.unwrap();
    assert_eq!(summarize_events(&store).await, []);
}

pub(crate) async fn a_failed_write_leaves_neither_change_nor_event(store: Store) {
    add_alice_and_app(&store).await;
    store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let events = NewAuditEvents::from(new_event(AuditKind::TokenIssue));
    // The token exists already.
    assert!(store.add_token(&events, &token("t", Some(7))).await.is_err());
    assert_eq!(summarize_events(&store).await, []);
    // The event cannot be stored.
    let detail = Some("\0".to_owned());
    let events = NewAuditEvents::from(NewAuditEvent { detail, ..new_event(AuditKind::TokenIssue) });
    assert_eq!(store.add_token(&events, &token("u", Some(7))).await, Err(StoreError::Nul));
    assert_eq!(store.token(hashed_secret("u")).await.unwrap(), None);
    assert_eq!(summarize_events(&store).await, []);
}

fn failed_sign_in(address: &str, hour: i64, count: i64) -> EventCount {
    let subject = CountedSubject {
        address: Some(address.to_owned()),
        ..CountedSubject::new(AuditKind::SignIn, AuditOutcome::Failure)
    };
    let first = timestamp(hour * 3600 + 1);
    let last = timestamp(hour * 3600 + count);
    EventCount { hour, subject, count, first, last }
}

pub(crate) async fn counted_events_with_the_same_hour_and_subject_share_a_row(store: Store) {
    let (store, _) = run_concurrently(store, |store, _| async move {
        store.add_audit_counts(&[failed_sign_in("192.0.2.1", 10, 5)]).await.unwrap();
    })
    .await;
    let other_counts = [failed_sign_in("192.0.2.2", 10, 7), failed_sign_in("192.0.2.1", 11, 3)];
    store.add_audit_counts(&other_counts).await.unwrap();
    let mut rows: Vec<_> = read_events(&store)
        .await
        .into_iter()
        .map(|event| (event.at, event.last_at, event.address.unwrap(), event.count))
        .collect();
    let address = |last_byte: u8| format!("192.0.2.{last_byte}");
    let expected = [
        (timestamp(36_001), timestamp(36_005), address(1), 5 * CONCURRENT_TASKS),
        (timestamp(36_001), timestamp(36_007), address(2), 7),
        (timestamp(39_601), timestamp(39_603), address(1), 3),
    ];
    rows.sort();
    assert_eq!(rows, expected);
}

pub(crate) async fn events_are_listed_by_account_app_and_time(store: Store) {
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    for (second, account_id) in [(100, 7), (200, 8), (300, 7), (400, 8)] {
        let event = NewAuditEvent { at: timestamp(second), ..new_event(AuditKind::TokenIssue) };
        let new_token = token(&format!("t{second}"), Some(account_id));
        store.add_token(&event.into(), &new_token).await.unwrap();
    }
    let times = async |filter, limit| -> Vec<i64> {
        let events = store.audit_events(filter, limit).await.unwrap();
        events.into_iter().map(|event| event.at.as_second()).collect()
    };
    let all_events = recorded_events();
    assert_eq!(times(all_events, 10).await, [100, 200, 300, 400]);
    assert_eq!(times(all_events, 2).await, [300, 400], "the newest events are returned");
    assert_eq!(times(AuditFilter { account: Some(7), ..all_events }, 10).await, [100, 300]);
    assert_eq!(times(AuditFilter { account: Some(9), ..all_events }, 10).await, [0; 0]);
    assert_eq!(times(AuditFilter { app: Some(1), ..all_events }, 1).await, [400]);
    assert_eq!(times(AuditFilter { app: Some(2), ..all_events }, 10).await, [0; 0]);
    let time = |second: i64| Timestamp::from_second(second).ok();
    assert_eq!(times(AuditFilter { since: time(300), ..all_events }, 10).await, [300, 400]);
    assert_eq!(times(AuditFilter { before: time(300), ..all_events }, 10).await, [100, 200]);
    assert_eq!(
        times(AuditFilter { before: time(301), ..all_events }, 1).await,
        [300],
        "the newest events are returned"
    );
    let with_kind = |kind| AuditFilter { kind: Some(kind), ..all_events };
    assert_eq!(times(with_kind(AuditKind::TokenIssue), 10).await.len(), 4);
    assert_eq!(times(with_kind(AuditKind::TokenRevoke), 10).await, [0; 0]);
    let with_outcome = |outcome| AuditFilter { outcome: Some(outcome), ..all_events };
    assert_eq!(times(with_outcome(AuditOutcome::Success), 10).await.len(), 4);
    assert_eq!(times(with_outcome(AuditOutcome::Failure), 10).await, [0; 0]);
    let with_origin = |origin| AuditFilter { origin: Some(origin), ..all_events };
    assert_eq!(times(with_origin(AuditOrigin::Client), 10).await.len(), 4);
    assert_eq!(times(with_origin(AuditOrigin::Page), 10).await, [0; 0]);
    let with_app_name = |name| AuditFilter { app_name: Some(name), ..all_events };
    assert_eq!(times(with_app_name("tusky"), 10).await.len(), 4);
    assert_eq!(times(with_app_name("Tusk"), 10).await, [0; 0]);
}

pub(crate) async fn old_events_are_deleted_in_small_batches(store: Store) {
    add_alice_and_app(&store).await;
    for second in 1..=10 {
        let event = NewAuditEvent { at: timestamp(second), ..new_event(AuditKind::TokenIssue) };
        let new_token = token(&format!("t{second}"), Some(7));
        store.add_token(&event.into(), &new_token).await.unwrap();
    }
    assert_eq!(store.delete_audit_events_before(timestamp(8), 3).await.unwrap(), 3);
    assert_eq!(read_events(&store).await[0].at, timestamp(4), "the oldest are deleted first");
    assert_eq!(store.delete_audit_events_before(timestamp(8), 100).await.unwrap(), 4);
    assert_eq!(store.delete_audit_events_before(timestamp(8), 100).await.unwrap(), 0);
    let times: Vec<i64> =
        read_events(&store).await.iter().map(|event| event.at.as_second()).collect();
    assert_eq!(times, [8, 9, 10]);
}
