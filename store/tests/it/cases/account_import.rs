//! Conformance cases for the import of accounts.

use std::collections::HashMap;

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::import::{AccountFileReader, ImportLimits, ImportedAccount};
use belfry_core::rules::{
    NewRule, NewRuleLimits, RuleDocument, RuleKind, RuleLimits, RulePosition, RuleScope,
};
use belfry_store::test::{any_events, recorded_events};
use belfry_store::{AccountListFilter, AddAccountError, Store, StoreError};
use jiff::Timestamp;

use super::{account, add_alice_and_app, run_concurrently, timestamp};

/// A time later than that of the test accounts.
const NOW: i64 = 1_800_000_000;

fn document(scope: &str, id: &str) -> RuleDocument {
    let mut document = RuleDocument::new(scope.parse::<RuleScope>().unwrap());
    let rule = NewRule::parse(
        RuleKind::Room,
        br#"{"actions":["notify"]}"#,
        NewRuleLimits::default(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    document.put(RuleKind::Room, id.parse().unwrap(), rule, RulePosition::default()).unwrap();
    document
}

/// Returns an account like [`account`], with these rulesets.
pub(crate) fn import_with_rulesets(name: &str, rulesets: Vec<RuleDocument>) -> ImportedAccount {
    let rules = RuleLimits { rules: 0, bytes: 0 };
    let limits = ImportLimits { rules, rule: NewRuleLimits::default() };
    let line = format!(r#"{{"name":"{name}","email":"{name}@example.org"}}"#);
    let mut file = AccountFileReader::new(limits, HashMap::new(), timestamp(1_700_000_000));
    let mut imported = file.parse_line(line.as_bytes()).unwrap().unwrap();
    imported.password_hash = Some(account(0, name).password_hash);
    imported.rulesets = rulesets;
    imported
}

/// Returns an account with a global ruleset and one for a device.
fn import_with_two_rulesets(name: &str) -> ImportedAccount {
    import_with_rulesets(name, vec![document("global", name), document("device/phone", "other")])
}

async fn read_documents(store: &Store, account: i64) -> Vec<RuleDocument> {
    store.rulesets(account, timestamp(5)).await.unwrap().documents().cloned().collect()
}

/// Imports more accounts than the command imports in one transaction.
pub(crate) async fn imported_accounts_are_read_back_with_their_rules(store: Store) {
    let names: Vec<String> = (0..600).map(|number| format!("n{number:03}")).collect();
    let imports = names.iter().map(|name| import_with_two_rulesets(name)).collect();
    let outcomes = store.import_accounts(&any_events(), timestamp(NOW), imports).await.unwrap();
    assert_eq!(outcomes.len(), 600);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let added_accounts = store.accounts(&AccountListFilter::default(), "", 1000).await.unwrap();
    assert!(
        added_accounts.is_sorted_by_key(|account| account.id),
        "ids are in the order of the list"
    );
    assert_eq!(
        added_accounts.iter().map(|account| &account.name).collect::<Vec<_>>(),
        names.iter().collect::<Vec<_>>()
    );
    for added_account in [&added_accounts[0], &added_accounts[599]] {
        assert_eq!(*added_account, account(added_account.id, &added_account.name));
        let documents =
            [document("device/phone", "other"), document("global", &added_account.name)];
        assert_eq!(read_documents(&store, added_account.id).await, documents);
    }
    assert!(
        store.import_accounts(&any_events(), timestamp(NOW), Vec::new()).await.unwrap().is_empty()
    );
}

pub(crate) async fn an_import_does_not_change_existing_accounts(store: Store) {
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "gone")).await.unwrap();
    store.delete_account(&any_events(), 8, timestamp(50)).await.unwrap();
    let mut same_name = import_with_two_rulesets("alice");
    same_name.email = None;
    same_name.password_hash = Some("other".to_owned());
    let mut same_email = import_with_two_rulesets("bob");
    same_email.email = Some("alice@example.org".to_owned());
    let imports = vec![
        import_with_two_rulesets("carol"),
        same_name,
        same_email,
        import_with_two_rulesets("gone"),
        import_with_two_rulesets("dave"),
    ];
    let outcomes = store.import_accounts(&any_events(), timestamp(NOW), imports).await.unwrap();
    let [carol, same_name, same_email, reserved, dave] = &outcomes[..] else { panic!() };
    assert!(carol.is_ok() && dave.is_ok());
    assert!(matches!(same_name, Err(AddAccountError::NameTaken)));
    assert!(matches!(same_email, Err(AddAccountError::EmailTaken)));
    assert!(matches!(reserved, Err(AddAccountError::NameReserved)));
    assert_eq!(store.account(7).await.unwrap(), Some(account(7, "alice")));
    assert_eq!(read_documents(&store, 7).await, []);
    let names: Vec<String> = store
        .accounts(&AccountListFilter::default(), "", 10)
        .await
        .unwrap()
        .into_iter()
        .map(|account| account.name)
        .collect();
    assert_eq!(names, ["alice", "carol", "dave"]);
}

pub(crate) async fn every_imported_account_has_an_audit_event(store: Store) {
    add_alice_and_app(&store).await;
    let detail = Some("import".to_owned());
    let event = NewAuditEvent {
        detail,
        ..NewAuditEvent::for_command(timestamp(NOW), AuditKind::AccountAdd)
    };
    let imports = ["alice", "bob", "carol"].map(import_with_two_rulesets).into();
    store.import_accounts(&event.into(), timestamp(NOW), imports).await.unwrap();
    let mut events: Vec<_> = store
        .audit_events(recorded_events(), 10)
        .await
        .unwrap()
        .into_iter()
        .map(|event| (event.account.unwrap(), event.kind, event.detail.unwrap()))
        .collect();
    events.sort();
    let expected = ["bob", "carol"].map(|name| [name, "account_add", "import"].map(str::to_owned));
    assert_eq!(events, expected.map(|[name, kind, detail]| (name, kind, detail)));
}

pub(crate) async fn only_one_concurrent_import_adds_an_account(store: Store) {
    let (store, outcomes) = run_concurrently(store, |store, _| async move {
        let imports = ["alice", "bob"].map(import_with_two_rulesets).into();
        store.import_accounts(&any_events(), timestamp(NOW), imports).await.unwrap()
    })
    .await;
    let success_count =
        |index: usize| outcomes.iter().filter(|outcome| outcome[index].is_ok()).count();
    assert_eq!((success_count(0), success_count(1)), (1, 1));
    for account in store.accounts(&AccountListFilter::default(), "", 10).await.unwrap() {
        assert_eq!(read_documents(&store, account.id).await.len(), 2);
    }
}

pub(crate) async fn an_import_with_text_that_cannot_be_stored_adds_nothing(store: Store) {
    let mut with_nul = import_with_two_rulesets("bob");
    with_nul.password_hash = Some("a\0".to_owned());
    let outcome = store
        .import_accounts(
            &any_events(),
            timestamp(NOW),
            vec![import_with_two_rulesets("alice"), with_nul],
        )
        .await;
    assert_eq!(outcome.unwrap_err(), StoreError::Nul);
    assert_eq!(store.accounts(&AccountListFilter::default(), "", 10).await.unwrap(), []);
}
