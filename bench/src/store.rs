//! The store alone: durable writes per second, with 1, 16 and 64 callers, and the CPU of each.
//!
//! SQLite in the present folder; also the PostgreSQL that `BELFRY_TEST_POSTGRES` names. A write
//! is a token issued, as the token endpoint does it.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use belfry::config::Database;
use belfry::random;
use belfry::store::{NewToken, Options, Store};
use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::fill::app;
use crate::process::cpu_seconds;
use crate::row;

const LENGTH: Duration = Duration::from_secs(3);

/// Prints the figures.
pub(crate) async fn measure() -> Result<(), Box<dyn Error>> {
    measure_one("SQLite", &Database::Sqlite("belfry.db".into())).await?;
    if let Ok(url) = std::env::var("BELFRY_TEST_POSTGRES") {
        measure_one("PostgreSQL", &Database::Postgres(url.parse()?)).await?;
    }
    Ok(())
}

async fn measure_one(name: &str, database: &Database) -> Result<(), Box<dyn Error>> {
    let now = Timestamp::UNIX_EPOCH;
    let store = Arc::new(Store::open(database, &Options::default(), now).await?);
    store.add_app(&app(now)).await?;
    let mut alone = None;
    for callers in [1, 16, 64] {
        let cpu = cpu_seconds();
        let writes = write(&store, callers).await;
        let cpu = (cpu_seconds() - cpu) / writes * 1e6;
        let rate = writes / LENGTH.as_secs_f64();
        let name = format!("{name}, {callers} callers");
        row(&name, format_args!("{rate:.0}"), "durable writes/s");
        row(&name, format_args!("{cpu:.1}"), "µs CPU of ours per write");
        let alone = *alone.get_or_insert(rate);
        row(&name, format_args!("{:.1}", rate / alone), "times one caller");
    }
    Ok(())
}

/// How many writes were acknowledged.
async fn write(store: &Arc<Store>, callers: usize) -> f64 {
    let (stop, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut all = JoinSet::new();
    let began = Instant::now();
    for _ in 0..callers {
        let (store, stop, writes) = (Arc::clone(store), Arc::clone(&stop), Arc::clone(&writes));
        all.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                store.add_token(&token()).await.expect("the database takes it");
                writes.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tokio::time::sleep(LENGTH).await;
    stop.store(true, Ordering::Relaxed);
    all.join_all().await;
    let length = began.elapsed().as_secs_f64() / LENGTH.as_secs_f64();
    f64::from(u32::try_from(writes.load(Ordering::Relaxed)).unwrap_or(u32::MAX)) / length
}

fn token() -> NewToken {
    NewToken {
        digest: random::secret().digest(),
        app: 1,
        account: None,
        scopes: "read".to_owned(),
        created_at: Timestamp::UNIX_EPOCH,
        expires_at: None,
    }
}
