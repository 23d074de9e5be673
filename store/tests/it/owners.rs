//! Rows whose account or app is deleted while they are being inserted.

use std::ops::Range;

use belfry_core::rules::{NewRule, NewRuleLimits, RuleKind, RuleLimits, RulePosition, RuleScope};
use belfry_store::test::{TestDatabase, any_events, execute_sql};
use belfry_store::{
    Database, NewDelivery, NewToken, RetentionSettings, RuleWriter, Store, StoredRequest,
    SweepOutcome, WriteOutcome,
};

use super::cases::deliveries::{delivery, store_deliveries};
use super::cases::receivers::{add_receiver, pusher};
use super::cases::{account, add_alice_and_app, add_app, app, hashed_secret, timestamp, token};
use super::nodes::{connect, wait_until};

const START: i64 = 1_800_000_000;
const MINUTE: i64 = 60;

/// Adds alice's first rule.
async fn add_rule(store: Store) {
    let limits = RuleLimits { rules: 1000, bytes: 1 << 20 };
    let writer = RuleWriter::new(store, limits);
    let change = writer.change_document(7, RuleScope::Global, timestamp(5), |document| {
        let limits = NewRuleLimits { bytes: 1 << 16, conditions: 64 };
        let new_rule =
            NewRule::parse(RuleKind::Room, br#"{"actions":[]}"#, limits, timestamp(5)).unwrap();
        document.put(RuleKind::Room, "rule".parse().unwrap(), new_rule, RulePosition::default())
    });
    change.await.unwrap();
}

fn request() -> StoredRequest {
    let browser_cookie = hashed_secret("b");
    let parameters = Vec::new();
    let expires_at = timestamp(START + 600 * MINUTE);
    StoredRequest { app_id: 1, browser_cookie, account_id: None, parameters, expires_at }
}

/// Indices of the sweeps in the first hour, in which nothing is deleted because the clock is not
/// trusted yet, and of the first sweep after it.
const SETTLING_SWEEPS: Range<i64> = 0..13;
/// Indices of the sweeps that delete the orphans.
const LATER_SWEEPS: Range<i64> = 13..20;

/// Sweeps every five minutes, and returns the number of tokens, rulesets, requests and deliveries
/// that were deleted.
async fn sweep(store: &Store, sweeps: Range<i64>) -> usize {
    let mut row_count = 0;
    for index in sweeps {
        let now = timestamp(START + 5 * index * MINUTE);
        let outcome = store.sweep(&RetentionSettings::default(), now).await.unwrap();
        if let SweepOutcome::Swept(deleted_counts) = outcome {
            let tables = ["tokens", "rulesets", "requests", "deliveries"];
            let counts = deleted_counts.iter().filter(|(table, _)| tables.contains(table));
            row_count += counts.map(|(_, count)| count).sum::<usize>();
        }
    }
    row_count
}

async fn count_rows(database: &TestDatabase, table: &str) -> i64 {
    let select = format!("select count(*) from {table}");
    match &database.database {
        Database::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.query_row(&select, [], |row| row.get(0)).unwrap()
        }
        Database::Postgres(_) => {
            connect(database).await.query_one(&select, &[]).await.unwrap().get(0)
        }
    }
}

/// Deletes the owner while an insert is blocked: another session holds a row with the same key, so
/// the insert waits after it has checked that its owner exists.
async fn insert_during_deletion(
    database: &TestDatabase,
    insert_same_key: &str,
    insert: impl Future<Output = ()> + Send + 'static,
    delete: impl Future<Output = ()>,
) {
    let blocker = connect(database).await;
    let monitor = connect(database).await;
    blocker.batch_execute(&format!("begin; {insert_same_key}")).await.unwrap();
    let insert = tokio::spawn(insert);
    let count_waiting = "select count(*) from pg_stat_activity where datname = current_database() \
                   and wait_event_type = 'Lock' and query like '%insert into%'";
    wait_until("the insert waits", async || {
        monitor.query_one(count_waiting, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
    delete.await;
    blocker.batch_execute("rollback").await.unwrap();
    insert.await.unwrap();
}

fn insert_token_sql(name: &str) -> String {
    format!(
        "insert into tokens (lookup, digest, app_id, scopes, created_at) \
         values ('{}', '', 1, '', 0)",
        hashed_secret(name).lookup_key.to_text()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_inserted_during_the_deletion_of_their_owner_are_swept() {
    const INSERT_RULESET: &str = "insert into rulesets (account_id, scope, version, document) \
                           values (7, 'global', 1, '')";
    let insert_request = format!(
        "insert into requests (lookup, digest, app_id, browser, parameters, expires_at) \
         values ('{}', '', 1, '', '', 0)",
        hashed_secret("r").lookup_key.to_text()
    );
    let delivery =
        NewDelivery { expires_at: timestamp(START + 600 * MINUTE), ..delivery(7, 5, "$e") };
    let insert_delivery = format!(
        "insert into deliveries (id, dedup_key, account_id, receiver_id, protocol, origin, \
         event_id, details, created_at, expires_at) values ('', '{}', 8, 1, '', '', '', '', 0, 0)",
        delivery.dedup_key.to_text()
    );
    for (table, insert_same_key, owner) in [
        ("tokens", insert_token_sql("t"), "app"),
        ("rulesets", INSERT_RULESET.to_owned(), "account"),
        ("requests", insert_request, "app"),
        ("deliveries", insert_delivery, "account"),
    ] {
        let Some(database) = TestDatabase::postgres().await else { return };
        let store = database.open().await;
        add_alice_and_app(&store).await;
        add_receiver(&store, &pusher(7, 5, "a")).await;
        let inserting_store = store.clone();
        let delivery = delivery.clone();
        let insert = async move {
            match table {
                "tokens" => {
                    // An app token, because inserting an account's token locks the account and
                    // would block the deletion.
                    let outcome = inserting_store.add_app_token(&token("t", None)).await.unwrap();
                    assert_eq!(outcome, WriteOutcome::Written);
                }
                "rulesets" => add_rule(inserting_store).await,
                "deliveries" => {
                    let stored = store_deliveries(&inserting_store, "m", &[delivery], START).await;
                    assert_eq!(stored.new.len(), 1);
                }
                _ => {
                    let outcome =
                        inserting_store.add_request(hashed_secret("r"), &request()).await.unwrap();
                    assert_eq!(outcome, WriteOutcome::Written);
                }
            }
        };
        let delete = async {
            match owner {
                "account" => {
                    store.delete_account(&any_events(), 7, timestamp(50)).await.unwrap();
                }
                _ => drop(store.delete_app(&any_events(), 1).await.unwrap()),
            }
        };
        insert_during_deletion(&database, &insert_same_key, insert, delete).await;
        assert_eq!(count_rows(&database, table).await, 1, "{table} of the {owner}");
        assert!(store.token(hashed_secret("t")).await.unwrap().is_none(), "the token is not valid");
        store.assert_queue_is_consistent().await;

        assert_eq!(sweep(&store, SETTLING_SWEEPS).await, 0, "{table} of the {owner}");
        assert_eq!(sweep(&store, LATER_SWEEPS).await, 1, "{table} of the {owner}");
        assert_eq!(count_rows(&database, table).await, 0, "{table} of the {owner}");
        assert_eq!(count_rows(&database, "deleted_owners").await, 0);
    }
}

/// A sweep deletes the app because it is unused, while a token is issued to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_issued_while_an_unused_app_is_deleted_is_swept() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = database.open().await;
    add_app(&store, &app(1, "client")).await;
    let inserting_store = store.clone();
    let insert = async move {
        assert!(inserting_store.add_token(&any_events(), &token("t", None)).await.is_ok());
    };
    let delete = async {
        sweep(&store, SETTLING_SWEEPS).await;
        assert!(store.app(1).await.unwrap().is_none());
    };
    insert_during_deletion(&database, &insert_token_sql("t"), insert, delete).await;
    assert_eq!(count_rows(&database, "tokens").await, 1);
    assert_eq!(sweep(&store, LATER_SWEEPS).await, 1);
    assert_eq!(count_rows(&database, "tokens").await, 0);
}

/// Only rows of deleted owners are swept, and not before all transactions that began before the
/// deletion have ended.
async fn assert_orphans_are_swept_after_ten_minutes(database: TestDatabase) {
    let store = database.open().await;
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(8, "bob")).await.unwrap();
    // This account has the id of a deleted app.
    store.add_account(&any_events(), &account(1, "carol")).await.unwrap();
    add_app(&store, &app(2, "other")).await;
    store
        .add_token(&any_events(), &NewToken { app_id: 2, ..token("of bob", Some(8)) })
        .await
        .unwrap();
    let settings = RetentionSettings::default();
    let sweep_at = async |minute: i64| {
        let outcome = store.sweep(&settings, timestamp(START + minute * MINUTE)).await.unwrap();
        matches!(outcome, SweepOutcome::Swept(_))
    };
    for minute in (0..60).step_by(5) {
        assert!(!sweep_at(minute).await);
    }
    store.delete_account(&any_events(), 7, timestamp(50)).await.unwrap();
    store.delete_app(&any_events(), 1).await.unwrap();
    // Inserted as if by a concurrent transaction.
    let columns = "(lookup, digest, app_id, account_id, scopes, created_at)";
    for (lookup, app, account) in [("a", "1", "8"), ("b", "1", "null"), ("c", "2", "7")] {
        let values = format!("('{lookup}', '', {app}, {account}, '', 0)");
        execute_sql(&database, &format!("insert into tokens {columns} values {values}")).await;
    }
    // SQLite detects the writes of this other connection, which invalidate the whole cache.
    tokio::time::sleep(Store::VISIBILITY_DELAY).await;
    let carols_rules = store.rulesets_for_accounts(&[1], timestamp(START)).await.unwrap();
    for (minute, tokens, owners) in [(60, 4, 2), (65, 4, 2), (69, 4, 2), (70, 1, 0), (75, 1, 0)] {
        assert!(sweep_at(minute).await, "{minute}");
        assert_eq!(count_rows(&database, "tokens").await, tokens, "{minute}");
        assert_eq!(count_rows(&database, "deleted_owners").await, owners, "{minute}");
    }
    assert!(store.token(hashed_secret("of bob")).await.unwrap().is_some());
    assert!(store.are_rulesets_current(1, carols_rules[&1].epoch), "only app 1 was deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_swept_after_ten_minutes_on_sqlite() {
    assert_orphans_are_swept_after_ten_minutes(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_swept_after_ten_minutes_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    assert_orphans_are_swept_after_ten_minutes(database).await;
}
