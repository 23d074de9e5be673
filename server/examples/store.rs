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
use belfry::store::{App, NewToken, Options, Store};
use jiff::Timestamp;
use tokio::task::JoinSet;

const LENGTH: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    measure("SQLite", &Database::Sqlite("belfry.db".into())).await?;
    if let Ok(url) = std::env::var("BELFRY_TEST_POSTGRES") {
        measure("PostgreSQL", &Database::Postgres(url.parse()?)).await?;
    }
    Ok(())
}

async fn measure(name: &str, database: &Database) -> Result<(), Box<dyn Error>> {
    let now = Timestamp::UNIX_EPOCH;
    let store = Arc::new(Store::open(database, &Options::default(), now).await?);
    store.add_app(&app(now)).await?;
    let mut alone = None;
    for callers in [1, 16, 64] {
        let cpu = cpu_seconds();
        let writes = write(&store, callers).await;
        let cpu = (cpu_seconds() - cpu) / writes * 1e6;
        let rate = writes / LENGTH.as_secs_f64();
        println!("{name}, {callers} callers\t{rate:.0}\tdurable writes/s");
        println!("{name}, {callers} callers\t{cpu:.1}\tµs CPU of ours per write");
        let alone = *alone.get_or_insert(rate);
        println!("{name}, {callers} callers\t{:.1}\ttimes one caller", rate / alone);
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

fn app(now: Timestamp) -> App {
    App {
        id: 1,
        client_id: "bench".to_owned(),
        secret: random::secret().digest(),
        name: "Bench".to_owned(),
        website: None,
        redirect_uris: Vec::new(),
        scopes: "read".to_owned(),
        created_at: now,
        disabled_at: None,
    }
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

/// What this process has used so far, in user and system mode (the engine of PostgreSQL is
/// another process and not counted).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks =
        after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
