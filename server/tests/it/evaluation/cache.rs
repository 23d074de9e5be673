//! The rule index that is cached between evaluations.

use std::ops::Range;
use std::time::Duration;

use belfry::evaluation::rule_index::RuleIndexCache;
use belfry_store::Store;
use serde_json::{Value, json};

use super::many::{add_accounts, add_silent_rule};
use super::{
    APPLICATION_SERVICE_SETTINGS, members, message_event, rule_group, start_on,
    start_with_application_service, start_with_settings, user_id,
};
use crate::support::{Service, TestDatabase, any_events};

/// Returns a node on PostgreSQL whose store caches the rules of about forty users, while its rule
/// index has room for hundreds; the store of another node; and a separate connection.
async fn start_with_small_cache() -> Option<(Service, Store, tokio_postgres::Client)> {
    let database = TestDatabase::postgres().await?;
    let url = database.url().unwrap().to_owned();
    let other_store = database.open().await;
    let settings = format!("{APPLICATION_SERVICE_SETTINGS}\n[store]\ncache_bytes = {}\n", 1 << 20);
    let (service, _) = start_on(database, &settings).await;
    while !service.store().is_cache_enabled() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    Some((service, other_store, client))
}

fn evaluation_request(names: &[String]) -> Value {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    json!({ "event": message_event("cake"), "members": members(&names), "all": true })
}

/// Repeats the request until the response is the expected one. The limit is far above the usual
/// number of attempts.
async fn wait_for_groups(
    service: &Service,
    body: &Value,
    expected: &[(Option<String>, Vec<String>)],
) {
    let application_service = service.anonymous_client().with_token("token of product");
    for _ in 0..4000 {
        if application_service.evaluate(body).await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the response was never {expected:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn indexed_users_are_evaluated_without_the_database() {
    let Some((service, other_store, mut client)) = start_with_small_cache().await else { return };
    let mut names = add_accounts(&service, 201).await;
    for number in 0..100 {
        add_silent_rule(service.store(), 1000 + number, "cake").await;
    }
    let user_ids =
        |numbers: Range<usize>| names[numbers].iter().map(|name| user_id(name)).collect();
    let cake_group = (Some("cake".to_owned()), user_ids(0..100));
    let message_group = |end| (Some(".m.rule.message".to_owned()), user_ids(100..end));
    let [before, after] =
        [[cake_group.clone(), message_group(201)], [cake_group, message_group(200)]];
    let body = evaluation_request(&names);
    wait_for_groups(&service, &body, &before).await;
    // Invalidations arrive in order: after this invalidation, all earlier ones have arrived, and
    // only this account has to be read again.
    other_store.set_account_disabled_at(&any_events(), 1200, Some(service.now())).await.unwrap();
    wait_for_groups(&service, &body, &after).await;
    names.pop();
    let body = evaluation_request(&names);
    wait_for_groups(&service, &body, &after).await;

    let lock = client.transaction().await.unwrap();
    let lock_tables = "lock table accounts, rulesets in access exclusive mode";
    lock.batch_execute(lock_tables).await.unwrap();
    let application_service = service.anonymous_client().with_token("token of product");
    assert_eq!(
        application_service.evaluate(&body).await,
        after,
        "cached rules are used while the tables are locked"
    );
    lock.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_on_another_node_take_effect() {
    let Some((service, other_store, _)) = start_with_small_cache().await else { return };
    let body = evaluation_request(&add_accounts(&service, 2).await);
    let message_group = rule_group(".m.rule.message", &["person_1"]);
    wait_for_groups(&service, &body, &[rule_group(".m.rule.message", &["person_0", "person_1"])])
        .await;
    add_silent_rule(&other_store, 1000, "cake").await;
    wait_for_groups(&service, &body, &[rule_group("cake", &["person_0"]), message_group.clone()])
        .await;
    other_store.set_account_disabled_at(&any_events(), 1000, Some(service.now())).await.unwrap();
    wait_for_groups(&service, &body, &[message_group]).await;
}

#[tokio::test]
async fn a_first_rule_and_a_disabled_account_take_effect_immediately() {
    let (service, application_service) = start_with_application_service().await;
    let names = add_accounts(&service, 3).await;
    let store = service.store();
    let body = evaluation_request(&names);
    let message_rule = ".m.rule.message";
    assert_eq!(
        application_service.evaluate(&body).await,
        [rule_group(message_rule, &["person_0", "person_1", "person_2"])]
    );

    add_silent_rule(store, 1001, "cake").await;
    let [message_group, cake_group] =
        [rule_group(message_rule, &["person_0", "person_2"]), rule_group("cake", &["person_1"])];
    assert_eq!(
        application_service.evaluate(&body).await,
        [message_group.clone(), cake_group.clone()]
    );

    store.set_account_disabled_at(&any_events(), 1001, Some(service.now())).await.unwrap();
    assert_eq!(application_service.evaluate(&body).await, std::slice::from_ref(&message_group));
    store.set_account_disabled_at(&any_events(), 1001, None).await.unwrap();
    assert_eq!(application_service.evaluate(&body).await, [message_group, cake_group]);
}

#[tokio::test]
async fn an_index_that_overflows_repeatedly_has_the_same_results() {
    const USERS: usize = 12;
    // The index may use an eighth of this, enough for the rules of a few users.
    for bytes in [0, 4_000, 8_000] {
        let settings = format!("{APPLICATION_SERVICE_SETTINGS}\n[store]\ncache_bytes = {bytes}\n");
        let (service, application_service) = start_with_settings(&settings).await;
        let names = add_accounts(&service, 12).await;
        for number in 0..8 {
            add_silent_rule(service.store(), 1000 + number, "cake").await;
        }
        for (first, count) in
            (0..USERS).flat_map(|first| (1..=USERS).map(move |count| (first, count)))
        {
            let indices = (0..count).map(|number| (first + number) % USERS);
            let requested_names: Vec<String> =
                indices.clone().map(|index| names[index].clone()).collect();
            let mut actual: Vec<(String, bool)> = Vec::new();
            for (rule, users) in
                application_service.evaluate(&evaluation_request(&requested_names)).await
            {
                let is_silenced = rule.as_deref() == Some("cake");
                actual.extend(users.into_iter().map(|user| (user, is_silenced)));
            }
            let mut expected: Vec<_> =
                indices.map(|index| (user_id(&names[index]), index < 8)).collect();
            actual.sort();
            expected.sort();
            assert_eq!(actual, expected, "{bytes} bytes, {count} from {first}");
        }
    }
}

#[tokio::test]
async fn stale_users_are_missing_from_the_cache() {
    let service = Service::start().await;
    let store = service.store();
    add_accounts(&service, 4).await;
    let [ann, ben, cat, dan] = [1000, 1001, 1002, 1003];
    for account in [ann, ben, cat] {
        add_silent_rule(store, account, "cake").await;
    }
    let [bytes_with_rule, bytes_without] = {
        let cache = RuleIndexCache::new(1 << 20);
        let snapshots = store.rulesets_for_accounts(&[ann, dan], service.now()).await.unwrap();
        [ann, dan].map(|account| cache.insert(account, &snapshots[&account]).bytes)
    };
    assert!(
        bytes_with_rule > bytes_without + store.rulesets(ann, service.now()).await.unwrap().bytes()
    );
    // Enough for two users with rules and one without.
    let cache = RuleIndexCache::new(2 * bytes_with_rule + bytes_without);
    let cached_bytes = || {
        [ann, ben, cat, dan]
            .map(|account| cache.get(store, account, service.now()).map(|rules| rules.bytes))
    };
    let insert = async |account| {
        let snapshots = store.rulesets_for_accounts(&[account], service.now()).await.unwrap();
        cache.insert(account, &snapshots[&account])
    };
    assert_eq!(cached_bytes(), [None; 4]);
    for account in [ann, dan, ben, ann] {
        assert_eq!(insert(account).await.rules.is_some(), account != dan);
    }
    assert_eq!(
        cached_bytes(),
        [Some(bytes_with_rule), Some(bytes_with_rule), None, Some(bytes_without)]
    );

    // A changed user is missing. Others that share the epoch counter may be missing too.
    add_silent_rule(store, dan, "tea").await;
    assert_eq!(cached_bytes()[3], None);

    // One more user exceeds the size, and replaces some of the others.
    insert(cat).await;
    let remaining = cached_bytes()[..2].iter().flatten().count();
    assert!(remaining >= 1, "not all others are evicted");
    for account in [ann, ben] {
        assert!(insert(account).await.rules.is_some());
    }
}

#[tokio::test]
async fn a_full_index_evicts_single_users() {
    const USERS: i64 = 60;
    let service = Service::start().await;
    let store = service.store();
    add_accounts(&service, USERS).await;
    let accounts: Vec<i64> = (1000..1000 + USERS).collect();
    let snapshots = store.rulesets_for_accounts(&accounts, service.now()).await.unwrap();
    let bytes = RuleIndexCache::new(1 << 20).insert(1000, &snapshots[&1000]).bytes;
    let cache = RuleIndexCache::new(50 * bytes);
    for _ in 0..3 {
        for account in &accounts {
            cache.insert(*account, &snapshots[account]);
            let lookups = accounts.iter().map(|account| cache.get(store, *account, service.now()));
            let cached = lookups.flatten().count();
            let inserted = usize::try_from(account - 999).unwrap();
            assert!(cached <= 50 && cached >= inserted.min(45), "{cached} after {inserted}");
        }
    }
}
