//! Many members in one request, and rules that change between requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use belfry_core::oauth::account::Role;
use belfry_core::rules::{Document, NewRule, NewRuleLimits, Position, RuleKind, RuleScope};
use belfry_store::{Account, SaveOutcome, SerializedDocument, Store};
use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    EVALUATE, PRODUCT, group, members, message, silent_rule, user_id, with_product, with_settings,
};
use crate::support::{Service, any_events};

/// Adds accounts and returns their names. The accounts have no password hash, which would take long
/// to compute.
pub(crate) async fn add_accounts(service: &Service, count: i64) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|number| format!("person_{number}")).collect();
    let adding = (1000..).zip(&names).map(|(id, name)| async move {
        let account = Account {
            id,
            name: name.clone(),
            email: None,
            unverified_email: None,
            password: "none".to_owned(),
            role: Role::User,
            created_at: service.now(),
            signed_in_at: None,
            disabled_at: None,
            delete_at: None,
            credential_version: 0,
        };
        service.store().add_account(&any_events(), &account).await.unwrap();
    });
    join_all(adding).await;
    names
}

/// Adds a silent rule for a word to an account.
pub(super) async fn add_silent_rule(store: &Store, account: i64, word: &str) {
    let mut document = Document::new(RuleScope::Global);
    let rule = NewRule::read(
        RuleKind::Content,
        silent_rule(word).to_string().as_bytes(),
        NewRuleLimits::default(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    document.put(RuleKind::Content, word.parse().unwrap(), rule, Position::default()).unwrap();
    let rulesets = store.rulesets_for_update(account, Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(
        store.save_ruleset(&rulesets, SerializedDocument::new(document)).await.unwrap(),
        SaveOutcome::Saved
    );
}

/// Evaluates an event for many members, of whom every twentieth has a silent rule for `cake`.
async fn evaluate_twenty_thousand_members(settings: &str) {
    const MEMBERS: i64 = 20_000;
    let (service, product) = with_settings(settings).await;
    let names = add_accounts(&service, MEMBERS).await;
    let quiet = (0..MEMBERS).filter(|number| number % 20 == 7);
    join_all(quiet.map(|number| add_silent_rule(service.store(), 1000 + number, "cake"))).await;

    let members: Value = names.iter().map(|name| json!({ "user_id": user_id(name) })).collect();
    let mut body = json!({ "event": message("cake!"), "members": members, "all": true });
    let expected = |quiet: bool| -> Vec<String> {
        let chosen = (0..MEMBERS).zip(&names).filter(|(number, _)| (number % 20 == 7) == quiet);
        chosen.map(|(_, name)| user_id(name)).collect()
    };
    for _again in 0..2 {
        let groups: BTreeMap<_, _> = product.groups(&body).await.into_iter().collect();
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[&Some("cake".to_owned())], expected(true));
        assert_eq!(groups[&Some(".m.rule.message".to_owned())], expected(false));
    }
    body["all"] = json!(false);
    let notified = product.groups(&body).await;
    assert_eq!(notified, [(Some(".m.rule.message".to_owned()), expected(false))]);
}

#[tokio::test]
async fn twenty_thousand_members_are_evaluated_in_one_request() {
    evaluate_twenty_thousand_members(PRODUCT).await;
}

#[tokio::test]
async fn without_a_cache_the_results_are_the_same() {
    evaluate_twenty_thousand_members(&format!("{PRODUCT}\n[store]\ncache_bytes = 0\n")).await;
}

#[tokio::test]
async fn a_rule_change_takes_effect_for_the_next_event() {
    let (service, product) = with_product().await;
    let [ann, ben] = [service.user_client("ann").await, service.user_client("ben").await];
    let body =
        json!({ "event": message("cake"), "members": members(&["ann", "ben"]), "all": true });
    let both = [group(".m.rule.message", &["ann", "ben"])];
    assert_eq!(product.groups(&body).await, both);

    ann.put_ok("global/content/cake", &silent_rule("cake")).await;
    let [quiet, loud] = [group("cake", &["ann"]), group(".m.rule.message", &["ben"])];
    assert_eq!(product.groups(&body).await, [quiet, loud]);

    ben.put_ok("global/content/cake", &silent_rule("cake")).await;
    assert_eq!(product.groups(&body).await, [group("cake", &["ann", "ben"])]);

    ann.put_ok("global/content/cake/enabled", &json!(false)).await;
    let [loud, quiet] = [group(".m.rule.message", &["ann"]), group("cake", &["ben"])];
    assert_eq!(product.groups(&body).await, [loud, quiet]);

    for user in [&ann, &ben] {
        user.delete("global/content/cake").await.expect_json(StatusCode::OK);
    }
    assert_eq!(product.groups(&body).await, both);

    ann.put_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    let [off, loud] = [group(".m.rule.master", &["ann"]), group(".m.rule.message", &["ben"])];
    assert_eq!(product.groups(&body).await, [off, loud]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_takes_effect_while_other_requests_are_evaluated() {
    let (service, product) = with_product().await;
    let ann = service.user_client("ann").await;
    add_accounts(&service, 200).await;
    let body = Arc::new(json!({
        "event": message("cake"), "members": members(&["ann", "person_1", "person_2"]),
    }));
    let mut others = JoinSet::new();
    for _other in 0..3 {
        let (product, body) = (product.clone(), Arc::clone(&body));
        others.spawn(async move {
            loop {
                product.send_json(EVALUATE, &body).await.expect_json(StatusCode::OK);
            }
        });
    }
    for turn in 0..20 {
        let rule = format!("rule_{turn}");
        let loud = json!({ "actions": ["notify"], "pattern": "cake" });
        ann.put_ok(&format!("global/content/{rule}"), &loud).await;
        assert_eq!(product.groups(&body).await[0], group(&rule, &["ann"]));
    }
    others.shutdown().await;
}

#[tokio::test]
async fn evaluate_and_explain_have_the_same_results() {
    let (service, product) = with_product().await;
    let mut people = Vec::new();
    for (name, kind, rule) in [
        ("ann", "content/tea", json!({ "actions": ["notify"], "pattern": "t?a" })),
        ("ben", "room/!r:x", json!({ "actions": [] })),
        ("cat", "sender/@bob:elsewhere.example", json!({ "actions": ["notify", "coalesce"] })),
        (
            "dan",
            "underride/few",
            json!({
                "actions": [{ "set_tweak": "sound", "value": "bell" }, "notify"],
                "conditions": [{ "kind": "room_member_count", "is": "<9" }],
            }),
        ),
        (
            "eve",
            "override/type",
            json!({
                "actions": ["dont_notify"],
                "conditions": [{ "kind": "event_match", "key": "type", "pattern": "m.*" }],
            }),
        ),
    ] {
        let user = service.user_client(name).await;
        user.put_ok(&format!("global/{kind}"), &rule).await;
        people.push((name, user));
    }
    let names: Vec<&str> = people.iter().map(|(name, _)| *name).collect();
    let mut invite = message("");
    invite["type"] = json!("m.room.member");
    invite["state_key"] = json!(user_id("ann"));
    invite["content"] = json!({ "membership": "invite" });
    for event in [message("tea?"), message("dan"), message(""), invite, json!({})] {
        let room = json!({ "member_count": 5 });
        let mut body = json!({ "event": event, "room": room });
        let mut alone = Vec::new();
        for (name, user) in &people {
            let mut explanation = user.explain(&body).await;
            explanation.as_object_mut().unwrap().remove("walk");
            alone.push((user_id(name), explanation));
        }
        body["members"] = members(&names);
        body["all"] = json!(true);
        let response = product.send_json(EVALUATE, &body).await.expect_json(StatusCode::OK);
        let mut together = Vec::new();
        for group in response["groups"].as_array().unwrap() {
            let mut result = group.clone();
            let users = result.as_object_mut().unwrap().remove("users").unwrap();
            for user in users.as_array().unwrap() {
                together.push((user.as_str().unwrap().to_owned(), result.clone()));
            }
        }
        together.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(together, alone, "{event}");
    }
}
