//! Reads of uncached rulesets, compared with the same `select` through `tokio-postgres` alone.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use belfry_store::{Database, Options, Store};
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, Statement};

use crate::process::cpu_seconds;
use crate::{fill, median, print_row};

/// Number of accounts, each with ten rules.
const ACCOUNTS: u32 = 10_000;
/// Number of concurrent reads, each over its own connection.
const TASKS: u32 = 16;
/// The number of rounds; the median of their figures is reported. Each round measures both readers.
const ROUNDS: u32 = 5;
/// The duration of one reader's measurement in a round.
const MEASUREMENT_DURATION: Duration = Duration::from_secs(2);

/// The statement that `Store::rulesets` executes.
const SELECT: &str =
    "select scope, version, document from rulesets where account_id = $1 order by scope";

/// Reads an account's rules.
trait Reader: Send + Sync + 'static {
    fn read(&self, account_id: i64) -> impl Future<Output = ()> + Send;
}

impl Reader for Store {
    async fn read(&self, account_id: i64) {
        let rulesets = self.rulesets(account_id, Timestamp::UNIX_EPOCH).await;
        assert!(!rulesets.expect("the read succeeds").is_empty());
    }
}

/// A connection with the prepared statement.
struct BareClient(Client, Statement);

impl Reader for BareClient {
    async fn read(&self, account_id: i64) {
        let rows = self.0.query(&self.1, &[&account_id]).await.expect("the read succeeds");
        assert!(!rows[0].get::<_, &str>(2).is_empty());
    }
}

/// Adds the accounts, measures both readers, and prints the figures.
pub(crate) async fn measure() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("BELFRY_TEST_POSTGRES")?;
    let database = Some(url.parse()?);
    let arguments = fill::Arguments { accounts: ACCOUNTS.into(), rules: true, database };
    fill::add_accounts(&arguments).await?;
    let options = Options { cache_bytes: 0, ..Options::default() };
    let database = Database::Postgres(url.parse()?);
    let store = Store::open(&database, &options, Timestamp::UNIX_EPOCH).await?;
    let mut bare_clients = Vec::new();
    for _ in 0..TASKS {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
        tokio::spawn(connection);
        let select = client.prepare(SELECT).await?;
        bare_clients.push(Arc::new(BareClient(client, select)));
    }
    let stores: Vec<_> = (0..TASKS).map(|_| Arc::new(store.clone())).collect();

    let mut store_figures = Vec::new();
    let mut bare_figures = Vec::new();
    for _ in 0..ROUNDS {
        store_figures.push(measure_reads(&stores).await);
        bare_figures.push(measure_reads(&bare_clients).await);
    }
    let pairs = store_figures.iter().zip(&bare_figures);
    let ratio = median(pairs.map(|(store, bare)| store.0 / bare.0).collect());
    for (name, figures) in [("store", store_figures), ("bare select", bare_figures)] {
        let (rates, cpu_times_us): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
        let name = format!("cold read of 10 rules, {name}");
        print_row(&name, format_args!("{:.0}", median(rates)), "reads/s");
        print_row(
            &name,
            format_args!("{:.1}", median(cpu_times_us)),
            "µs CPU of the client per read",
        );
    }
    print_row("cold read of 10 rules, store", format_args!("{ratio:.2}"), "times the bare select");
    Ok(())
}

/// Reads different accounts with a task for each reader. Returns the reads per second, and the CPU
/// time of this process per read in microseconds.
async fn measure_reads<R: Reader>(readers: &[Arc<R>]) -> (f64, f64) {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let reads = Arc::new(AtomicU32::new(0));
    let start = Instant::now();
    let cpu_before = cpu_seconds();
    let mut tasks = JoinSet::new();
    for reader in readers {
        let reader = Arc::clone(reader);
        let is_stopped = Arc::clone(&is_stopped);
        let reads = Arc::clone(&reads);
        tasks.spawn(async move {
            while !is_stopped.load(Ordering::Relaxed) {
                // Scattered, so that successive reads do not request neighbouring rows.
                let number = reads.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b1);
                reader.read(i64::from(number % ACCOUNTS) + 1).await;
            }
        });
    }
    tokio::time::sleep(MEASUREMENT_DURATION).await;
    is_stopped.store(true, Ordering::Relaxed);
    tasks.join_all().await;
    let reads = f64::from(reads.load(Ordering::Relaxed));
    (reads / start.elapsed().as_secs_f64(), (cpu_seconds() - cpu_before) / reads * 1e6)
}
