//! Many members in one request, and rules that change between requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use belfry_core::account::Role;
use belfry_core::rules::{NewRule, NewRuleLimits, RuleDocument, RuleKind, RulePosition, RuleScope};
use belfry_store::{Account, NO_PASSWORD, SaveOutcome, SerializedDocument, Store};
use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    EVALUATE, members, message_event, rule_group, silent_rule, start_with_application_service,
    user_id,
};
use crate::support::{Service, any_events};

/// Adds accounts and returns their names. They have no passwords, because hashing takes long.
pub(crate) async fn add_accounts(service: &Service, count: i64) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|number| format!("person_{number}")).collect();
    let insertions = (1000..).zip(&names).map(|(id, name)| async move {
        let account = Account {
            id,
            name: name.clone(),
            email: None,
            unverified_email: None,
            password_hash: NO_PASSWORD.to_owned(),
            role: Role::User,
            created_at: service.now(),
            signed_in_at: None,
            disabled_at: None,
            delete_at: None,
            credential_version: 0,
        };
        service.store().add_account(&any_events(), &account).await.unwrap();
    });
    join_all(insertions).await;
    names
}

pub(super) async fn add_silent_rule(store: &Store, account_id: i64, word: &str) {
    let mut document = RuleDocument::new(RuleScope::Global);
    let rule = NewRule::parse(
        RuleKind::Content,
        silent_rule(word).to_string().as_bytes(),
        NewRuleLimits::default(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    document.put(RuleKind::Content, word.parse().unwrap(), rule, RulePosition::default()).unwrap();
    let rulesets = store.rulesets_for_update(account_id, Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(
        store.save_document(&rulesets, SerializedDocument::new(document)).await.unwrap(),
        SaveOutcome::Saved
    );
}

/// Every twentieth member has a silent rule for `cake`.
#[tokio::test]
async fn twenty_thousand_members_are_evaluated_in_one_request() {
    const MEMBERS: i64 = 20_000;
    let (service, application_service) = start_with_application_service().await;
    let names = add_accounts(&service, MEMBERS).await;
    let silent_members = (0..MEMBERS).filter(|number| number % 20 == 7);
    join_all(silent_members.map(|number| add_silent_rule(service.store(), 1000 + number, "cake")))
        .await;

    let members: Value = names.iter().map(|name| json!({ "user_id": user_id(name) })).collect();
    let mut body = json!({ "event": message_event("cake!"), "members": members, "all": true });
    let expected_users = |is_silent: bool| -> Vec<String> {
        let members =
            (0..MEMBERS).zip(&names).filter(|(number, _)| (number % 20 == 7) == is_silent);
        members.map(|(_, name)| user_id(name)).collect()
    };
    // The second evaluation uses the cached rules.
    for _ in 0..2 {
        let groups: BTreeMap<_, _> =
            application_service.evaluate(&body).await.into_iter().collect();
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[&Some("cake".to_owned())], expected_users(true));
        assert_eq!(groups[&Some(".m.rule.message".to_owned())], expected_users(false));
    }
    body["all"] = json!(false);
    let notified_groups = application_service.evaluate(&body).await;
    assert_eq!(notified_groups, [(Some(".m.rule.message".to_owned()), expected_users(false))]);
}

#[tokio::test]
async fn a_rule_change_takes_effect_for_the_next_event() {
    let (service, application_service) = start_with_application_service().await;
    let [ann, ben] = [service.user_client("ann").await, service.user_client("ben").await];
    let body =
        json!({ "event": message_event("cake"), "members": members(&["ann", "ben"]), "all": true });
    let unchanged_groups = [rule_group(".m.rule.message", &["ann", "ben"])];
    assert_eq!(application_service.evaluate(&body).await, unchanged_groups);

    ann.put_rule_ok("global/content/cake", &silent_rule("cake")).await;
    let [cake_group, message_group] =
        [rule_group("cake", &["ann"]), rule_group(".m.rule.message", &["ben"])];
    assert_eq!(application_service.evaluate(&body).await, [cake_group, message_group]);

    ben.put_rule_ok("global/content/cake", &silent_rule("cake")).await;
    assert_eq!(application_service.evaluate(&body).await, [rule_group("cake", &["ann", "ben"])]);

    ann.put_rule_ok("global/content/cake/enabled", &json!(false)).await;
    let [message_group, cake_group] =
        [rule_group(".m.rule.message", &["ann"]), rule_group("cake", &["ben"])];
    assert_eq!(application_service.evaluate(&body).await, [message_group, cake_group]);

    for user in [&ann, &ben] {
        user.delete_rule("global/content/cake").await.expect_json(StatusCode::OK);
    }
    assert_eq!(application_service.evaluate(&body).await, unchanged_groups);

    ann.put_rule_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    let [master_group, message_group] =
        [rule_group(".m.rule.master", &["ann"]), rule_group(".m.rule.message", &["ben"])];
    assert_eq!(application_service.evaluate(&body).await, [master_group, message_group]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_takes_effect_while_other_requests_are_evaluated() {
    let (service, application_service) = start_with_application_service().await;
    let ann = service.user_client("ann").await;
    add_accounts(&service, 200).await;
    let body = Arc::new(json!({
        "event": message_event("cake"), "members": members(&["ann", "person_1", "person_2"]),
    }));
    let mut other_requests = JoinSet::new();
    for _ in 0..3 {
        let application_service = application_service.clone();
        let body = Arc::clone(&body);
        other_requests.spawn(async move {
            loop {
                application_service.send_json(EVALUATE, &body).await.expect_json(StatusCode::OK);
            }
        });
    }
    for number in 0..20 {
        let rule = format!("rule_{number}");
        let loud_rule = json!({ "actions": ["notify"], "pattern": "cake" });
        ann.put_rule_ok(&format!("global/content/{rule}"), &loud_rule).await;
        assert_eq!(application_service.evaluate(&body).await[0], rule_group(&rule, &["ann"]));
    }
    other_requests.shutdown().await;
}
