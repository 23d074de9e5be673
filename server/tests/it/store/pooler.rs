//! PgBouncer between Belfry and PostgreSQL.

use std::time::Duration;

use belfry::store::{Database, Options, Store, StoreError};
use test_engines::{EngineError, PgBouncer};

use super::cases::rulesets::save;
use super::cases::{at, hashed, token, with_alice};
use super::nodes::{connect, connect_to, wait_until};
use crate::support::TestDatabase;
use crate::support::databases::options;
use crate::support::process::run;
use crate::support::skip::report_skipped;

/// A database behind a PgBouncer with this pool mode, and the direct way to it.
struct Pooled {
    direct: TestDatabase,
    url: String,
    _pooler: PgBouncer,
}

impl Pooled {
    async fn start(pool_mode: &str) -> Option<Self> {
        let direct = TestDatabase::postgres().await?;
        let mut url = url::Url::parse(direct.url().unwrap()).unwrap();
        let pooler = match PgBouncer::start(url.port().unwrap(), pool_mode) {
            Err(EngineError::Missing(_)) => {
                report_skipped("PgBouncer", "run `cargo xtask test`, which installs it");
                return None;
            }
            started => started.unwrap(),
        };
        url.set_port(Some(pooler.port)).unwrap();
        Some(Self { direct, url: url.into(), _pooler: pooler })
    }

    async fn open(&self, options: &Options) -> Result<Store, StoreError> {
        Store::open(&Database::Postgres(self.url.parse().unwrap()), options, at(0)).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_work_through_a_pooler_in_session_mode() {
    let Some(pooled) = Pooled::start("session").await else { return };
    let one = pooled.open(&options()).await.unwrap();
    let other = pooled.open(&options()).await.unwrap();
    wait_until("both caches are enabled", async || {
        one.is_cache_enabled() && other.is_cache_enabled()
    })
    .await;
    with_alice(&one).await;
    one.add_token(&token("t", Some(7))).await.unwrap();
    let revoked = async || other.token(hashed("t")).await.unwrap().unwrap().revoked_at.is_some();
    assert!(!revoked().await, "and it is cached now");
    one.revoke_token(hashed("t").lookup, at(1)).await.unwrap();
    wait_until("the other node invalidated its cache", revoked).await;
    assert!(save(&other, "global", Some("rule")).await);
    wait_until("rules of the other node are read", async || {
        !one.rulesets(7, at(5)).await.unwrap().is_empty()
    })
    .await;
}

/// Cancel requests pass the pooler, and so do the timeouts on the server.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_times_out_is_cancelled_through_a_pooler() {
    let Some(pooled) = Pooled::start("session").await else { return };
    let short_timeout = Options { timeout: Duration::from_secs(1), ..options() };
    let store = pooled.open(&short_timeout).await.unwrap();
    let mut client = connect(&pooled.direct).await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table tokens in access exclusive mode").await.unwrap();
    for _ in 0..2 {
        let read = store.token(hashed("t")).await.unwrap_err();
        assert!(matches!(read, StoreError::Unavailable(_)), "{read}");
    }
    let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' \
                   and application_name = 'belfry' and datname = current_database()";
    let waiting: i64 = lock.query_one(waiting, &[]).await.unwrap().get(0);
    assert_eq!(waiting, 0);
    lock.rollback().await.unwrap();
    assert_eq!(store.token(hashed("t")).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_without_sessions_is_rejected() {
    for pool_mode in ["transaction", "statement"] {
        let Some(pooled) = Pooled::start(pool_mode).await else { return };
        let error = pooled.open(&options()).await.err().unwrap();
        let StoreError::Open { reason, .. } = &error else { panic!("{error}") };
        assert!(reason.contains("pool_mode = session"), "{reason}");

        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &["doctor", "--database", &pooled.url]);
        let report = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{report}");
        assert!(report.contains("pool_mode = session"), "{report}");

        // It is not an outage, for whose end a server waits.
        let serve = ["serve", "--listen", "127.0.0.1:0", "--database", &pooled.url];
        let output = run(folder.path(), &serve);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("pool_mode = session"), "{message}");
        assert!(!message.contains("waiting for the database"), "{message}");

        // Another client of the pooler gets a server connection as it was.
        let client = connect_to(&pooled.url).await;
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
