//! PgBouncer between Belfry and PostgreSQL.

use std::time::Duration;

use belfry_store::test::{self, PooledDatabase, any_events, options};
use belfry_store::{Database, Options, Store, StoreError};

use super::cases::rulesets::save_rule;
use super::cases::{add_alice_and_app, hashed_secret, timestamp, token};
use super::nodes::{connect, wait_until};

async fn open(pooled: &PooledDatabase, options: &Options) -> Result<Store, StoreError> {
    Store::open(&Database::Postgres(pooled.url.parse().unwrap()), options, timestamp(0)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_invalidate_caches_through_a_pooler_in_session_mode() {
    let Some(pooled) = PooledDatabase::start("session").await else { return };
    let node = open(&pooled, &options()).await.unwrap();
    let other_node = open(&pooled, &options()).await.unwrap();
    wait_until("both caches are enabled", async || {
        node.is_cache_enabled() && other_node.is_cache_enabled()
    })
    .await;
    add_alice_and_app(&node).await;
    node.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
    let is_revoked =
        async || other_node.token(hashed_secret("t")).await.unwrap().unwrap().revoked_at.is_some();
    // Fills the cache.
    assert!(!is_revoked().await);
    node.revoke_token(&any_events(), hashed_secret("t").lookup_key, timestamp(1)).await.unwrap();
    wait_until("the other node invalidated its cache", is_revoked).await;
    assert!(save_rule(&other_node, "global", Some("rule")).await);
    wait_until("rules of the other node are read", async || {
        !node.rulesets(7, timestamp(5)).await.unwrap().is_empty()
    })
    .await;
}

/// The pooler forwards cancel requests and the session's timeout settings.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_times_out_is_cancelled_through_a_pooler() {
    let Some(pooled) = PooledDatabase::start("session").await else { return };
    let short_timeout = Options { timeout: Duration::from_secs(1), ..options() };
    let store = open(&pooled, &short_timeout).await.unwrap();
    let mut client = connect(&pooled.direct).await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table tokens in access exclusive mode").await.unwrap();
    for _ in 0..2 {
        let error = store.token(hashed_secret("t")).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    }
    let select = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' \
                  and application_name = 'belfry' and datname = current_database()";
    let waiting_count: i64 = lock.query_one(select, &[]).await.unwrap().get(0);
    assert_eq!(waiting_count, 0);
    lock.rollback().await.unwrap();
    assert_eq!(store.token(hashed_secret("t")).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_in_transaction_or_statement_mode_is_rejected() {
    for pool_mode in ["transaction", "statement"] {
        let Some(pooled) = PooledDatabase::start(pool_mode).await else { return };
        let error = open(&pooled, &options()).await.err().unwrap();
        let StoreError::Open { reason, .. } = &error else { panic!("{error}") };
        assert!(reason.contains("pool_mode = session"), "{reason}");

        // Another client of the pooler gets an unchanged server connection.
        let client = test::connect_postgres(&pooled.url).await;
        for (setting, default) in [("statement_timeout", "0"), ("lock_timeout", "0")] {
            let rows = client.simple_query(&format!("show {setting}")).await.unwrap();
            let value = rows.iter().find_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            });
            assert_eq!(value.as_deref(), Some(default), "{setting}");
        }
    }
}
