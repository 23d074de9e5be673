//! Durable store writes per second, and CPU time per write, with 1, 16 and 64 tasks.
//!
//! Measures SQLite in the current directory and, if `BELFRY_TEST_POSTGRES` is set, PostgreSQL. A
//! write adds a token, like the token endpoint.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use belfry_core::oauth::scope::{Scope, Scopes};
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::random;
use belfry_store::Database;
use belfry_store::{NewToken, Options, Store};
use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::fill::app;
use crate::process::cpu_seconds;
use crate::{median, print_row};

/// Numbers of concurrent tasks.
const TASK_COUNTS: [usize; 3] = [1, 16, 64];

/// The number of rounds; the median of their figures is reported. Each round measures every number
/// of tasks, so that other load affects them equally. Each SQLite measurement begins with an empty
/// database, because the cost of a write grows with the size of the database.
const ROUNDS: usize = 5;
/// The duration of a measurement.
const MEASUREMENT_DURATION: Duration = Duration::from_secs(2);

/// Measures each engine and prints the figures.
pub(crate) async fn measure() -> Result<(), Box<dyn Error>> {
    let mut database_number = 0;
    let new_database = || {
        database_number += 1;
        Database::Sqlite(format!("belfry-{database_number}.db").into())
    };
    measure_engine("SQLite", new_database).await?;
    if let Ok(url) = std::env::var("BELFRY_TEST_POSTGRES") {
        let database = Database::Postgres(url.parse()?);
        measure_engine("PostgreSQL", || database.clone()).await?;
    }
    Ok(())
}

/// The figures of one number of tasks, one for each round.
#[derive(Default)]
struct Figures {
    writes_per_second: Vec<f64>,
    cpu_us_per_write: Vec<f64>,
    /// The writes per second relative to one task.
    ratios: Vec<f64>,
}

async fn measure_engine(
    engine: &str,
    mut next_database: impl FnMut() -> Database,
) -> Result<(), Box<dyn Error>> {
    let now = Timestamp::UNIX_EPOCH;
    let mut figures_by_tasks: [Figures; TASK_COUNTS.len()] = Default::default();
    for _ in 0..ROUNDS {
        let mut rate_of_one_task = None;
        for (tasks, figures) in TASK_COUNTS.into_iter().zip(&mut figures_by_tasks) {
            let store = Arc::new(Store::open(&next_database(), &Options::default(), now).await?);
            store.add_first_party_app(&app(now)).await?;
            let (rate, cpu_us) = measure_writes(&store, tasks).await;
            figures.writes_per_second.push(rate);
            figures.cpu_us_per_write.push(cpu_us);
            figures.ratios.push(rate / *rate_of_one_task.get_or_insert(rate));
        }
    }
    for (tasks, figures) in TASK_COUNTS.into_iter().zip(figures_by_tasks) {
        let name = format!("{engine}, {tasks} concurrent tasks");
        let Figures { writes_per_second, cpu_us_per_write, ratios } = figures;
        print_row(&name, format_args!("{:.0}", median(writes_per_second)), "durable writes/s");
        let cpu_us = median(cpu_us_per_write);
        print_row(&name, format_args!("{cpu_us:.1}"), "µs CPU of Belfry per write");
        print_row(&name, format_args!("{:.1}", median(ratios)), "times one task");
    }
    Ok(())
}

/// Writes tokens with `tasks` tasks. Returns the writes per second, and the CPU time of this
/// process per write in microseconds.
async fn measure_writes(store: &Arc<Store>, tasks: usize) -> (f64, f64) {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let writes = Arc::new(AtomicU32::new(0));
    let start = Instant::now();
    let cpu_before = cpu_seconds();
    let mut writer_tasks = JoinSet::new();
    for _ in 0..tasks {
        let store = Arc::clone(store);
        let is_stopped = Arc::clone(&is_stopped);
        let writes = Arc::clone(&writes);
        writer_tasks.spawn(async move {
            while !is_stopped.load(Ordering::Relaxed) {
                store.add_app_token(&new_token()).await.expect("the write succeeds");
                writes.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tokio::time::sleep(MEASUREMENT_DURATION).await;
    is_stopped.store(true, Ordering::Relaxed);
    writer_tasks.join_all().await;
    let writes = f64::from(writes.load(Ordering::Relaxed));
    (writes / start.elapsed().as_secs_f64(), (cpu_seconds() - cpu_before) / writes * 1e6)
}

fn new_token() -> NewToken {
    let now = SystemClock.now();
    NewToken {
        secret: random::split_token(now).hashed_secret(),
        app_id: 1,
        account_id: None,
        scopes: Scopes::from_iter([Scope::Read]),
        created_at: now,
        expires_at: None,
        device: None,
    }
}
