//! What is kept of the rules between evaluations: it saves reading, and nobody sees it otherwise.

use std::ops::Range;
use std::time::Duration;

use belfry::rule_index::{EvaluatedMember, RuleIndexCache};
use belfry::store::Store;
use belfry_core::rules::evaluate::Member;
use belfry_core::rules::index::RuleIndex;
use serde_json::{Value, json};

use super::many::{people, silence};
use super::{PRODUCT, group, id, members, message, on, with_product, with_settings};
use crate::support::{Service, TestDatabase};

/// A node on PostgreSQL whose store remembers the rules of some forty people and no more, while
/// the audience has a place for hundreds; another node; and a connection of nobody's.
async fn forgetful() -> Option<(Service, Store, tokio_postgres::Client)> {
    let database = TestDatabase::postgres().await?;
    let url = database.url().unwrap().to_owned();
    let other = database.open().await;
    let settings = format!("{PRODUCT}\n[store]\ncache_bytes = {}\n", 1 << 20);
    let (service, _) = on(database, &settings).await;
    while !service.store().is_cache_enabled() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    Some((service, other, client))
}

fn question(names: &[String]) -> Value {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    json!({ "event": message("cake"), "members": members(&names), "all": true })
}

/// Asks until the answer is this one. The bound is far above what it takes.
async fn comes(service: &Service, body: &Value, expected: &[(Option<String>, Vec<String>)]) {
    let product = service.anyone().bearing("token of product");
    for _ in 0..4000 {
        if product.groups(body).await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{expected:?} did not come");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_judged_before_is_judged_without_the_database() {
    let Some((service, other, mut client)) = forgetful().await else { return };
    let mut names = people(&service, 201).await;
    for number in 0..100 {
        silence(service.store(), 1000 + number, "cake").await;
    }
    let ids = |numbers: Range<usize>| names[numbers].iter().map(|name| id(name)).collect();
    let quiet = (Some("cake".to_owned()), ids(0..100));
    let loud = |to| (Some(".m.rule.message".to_owned()), ids(100..to));
    let [before, after] = [[quiet.clone(), loud(201)], [quiet, loud(200)]];
    let body = question(&names);
    comes(&service, &body, &before).await;
    // Changes are heard in their order: who hears of this one has heard of all others, and has
    // nothing to read again but what this one made stale.
    other.disable_account(1200, Some(service.now())).await.unwrap();
    comes(&service, &body, &after).await;
    names.pop();
    let body = question(&names);
    comes(&service, &body, &after).await;

    let lock = client.transaction().await.unwrap();
    let both = "lock table accounts, rulesets in access exclusive mode";
    lock.batch_execute(both).await.unwrap();
    let product = service.anyone().bearing("token of product");
    assert_eq!(product.groups(&body).await, after, "though nobody can read the tables");
    lock.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_node_changes_counts_soon() {
    let Some((service, other, _)) = forgetful().await else { return };
    let body = question(&people(&service, 2).await);
    let one = group(".m.rule.message", &["person_1"]);
    comes(&service, &body, &[group(".m.rule.message", &["person_0", "person_1"])]).await;
    silence(&other, 1000, "cake").await;
    comes(&service, &body, &[group("cake", &["person_0"]), one.clone()]).await;
    other.disable_account(1000, Some(service.now())).await.unwrap();
    comes(&service, &body, &[one]).await;
}

#[tokio::test]
async fn a_first_rule_and_a_disabled_account_count_at_once() {
    let (service, product) = with_product().await;
    let names = people(&service, 3).await;
    let store = service.store();
    let body = question(&names);
    let message = ".m.rule.message";
    assert_eq!(
        product.groups(&body).await,
        [group(message, &["person_0", "person_1", "person_2"])]
    );

    silence(store, 1001, "cake").await;
    let [loud, quiet] = [group(message, &["person_0", "person_2"]), group("cake", &["person_1"])];
    assert_eq!(product.groups(&body).await, [loud.clone(), quiet.clone()]);

    store.disable_account(1001, Some(service.now())).await.unwrap();
    assert_eq!(product.groups(&body).await, std::slice::from_ref(&loud));
    store.disable_account(1001, None).await.unwrap();
    assert_eq!(product.groups(&body).await, [loud, quiet]);
}

#[tokio::test]
async fn an_audience_that_is_full_again_and_again_gives_the_same_verdicts() {
    const MANY: usize = 12;
    // The audience takes an eighth of it: the rules of a few.
    for bytes in [0, 4_000, 8_000] {
        let settings = format!("{PRODUCT}\n[store]\ncache_bytes = {bytes}\n");
        let (service, product) = with_settings(&settings).await;
        let names = people(&service, 12).await;
        for number in 0..8 {
            silence(service.store(), 1000 + number, "cake").await;
        }
        for (first, many) in (0..MANY).flat_map(|first| (1..=MANY).map(move |many| (first, many))) {
            let places = (0..many).map(|number| (first + number) % MANY);
            let asked: Vec<String> = places.clone().map(|place| names[place].clone()).collect();
            let mut found: Vec<(String, bool)> = Vec::new();
            for (rule, users) in product.groups(&question(&asked)).await {
                let quiet = rule.as_deref() == Some("cake");
                found.extend(users.into_iter().map(|user| (user, quiet)));
            }
            let mut expected: Vec<_> = places.map(|place| (id(&names[place]), place < 8)).collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{bytes} bytes, {many} from {first}");
        }
    }
}

async fn listener(store: &Store, account: i64, name: &'static str) -> EvaluatedMember<'static> {
    let brought = store.rulesets_for_accounts(&[account]).await.unwrap().pop();
    EvaluatedMember { user_id: name, member: Member::default(), account, brought }
}

fn nothing(account: i64, name: &'static str) -> EvaluatedMember<'static> {
    EvaluatedMember { user_id: name, member: Member::default(), account, brought: None }
}

#[tokio::test]
async fn whoever_is_thought_known_and_is_not_must_bring_rules() {
    let service = Service::start().await;
    let store = service.store();
    people(&service, 4).await;
    for account in [1000, 1001, 1002] {
        silence(store, account, "cake").await;
    }
    let [ann, ben, cat, dan] =
        [(1000, "@ann:x"), (1001, "@ben:x"), (1002, "@cat:x"), (1003, "@dan:x")];
    let bytes = store.rulesets(1000).await.unwrap().bytes();
    // Those of two people with rules and one without fit.
    let audience = RuleIndexCache::new(2 * bytes + 3 * 64);
    let known = || audience.known(store, &[ann.0, ben.0, cat.0, dan.0]);
    let ask = |listeners: &[EvaluatedMember<'_>]| audience.with(store, listeners, RuleIndex::len);
    assert_eq!(known(), [None; 4]);
    assert_eq!(ask(&[nothing(ann.0, ann.1)]), Err(vec![0]));

    let all = [listener(store, ann.0, ann.1).await, listener(store, dan.0, dan.1).await];
    assert_eq!(ask(&all), Ok(1));
    assert_eq!(ask(&[listener(store, ben.0, ben.1).await]), Ok(2));
    assert_eq!(known(), [Some(bytes), Some(bytes), None, Some(0)]);
    let three = [nothing(dan.0, dan.1), nothing(ann.0, ann.1), nothing(ben.0, ben.1)];
    assert_eq!(ask(&three), Ok(2));

    // After a change, and for others too who happen to be counted together with this one.
    silence(store, dan.0, "tea").await;
    assert!(ask(&three).is_err_and(|missing| missing.contains(&0)));

    // One more is too many. Only who brings rules is in it then.
    let full = [nothing(ann.0, ann.1), listener(store, cat.0, cat.1).await, nothing(ben.0, ben.1)];
    assert_eq!(ask(&full), Err(vec![0, 2]));
    assert_eq!(known(), [None, None, Some(bytes), None]);
    let [ann, ben] = [listener(store, ann.0, ann.1).await, listener(store, ben.0, ben.1).await];
    let [_, cat, _] = full;
    assert_eq!(ask(&[ann, cat, ben]), Ok(3), "those of one call are all in it");
}
