//! A backup of many accounts during concurrent writes, restored into PostgreSQL and back into
//! SQLite: time and peak memory of each command, and whether all rows are unchanged at the end.
//!
//! Uses SQLite in the current directory, the PostgreSQL server in `BELFRY_TEST_POSTGRES`, and the
//! `belfry` binary next to this one.

use std::error::Error;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use belfry_store::{Backup, Database, Options, SerializedDocument, Store};
use clap::Args;
use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::fill;
use crate::print_row;
use crate::test_data::RulePool;

/// Number of concurrent clients that write during the first backup.
const WRITERS: i64 = 64;

/// Arguments of the subcommand `backup`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Number of accounts
    #[arg(default_value_t = 1_000_000)]
    accounts: i64,
}

/// Adds accounts, runs the commands, and prints the figures.
pub(crate) async fn measure(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let accounts = arguments.accounts;
    let postgres = std::env::var("BELFRY_TEST_POSTGRES")?;
    fill::add_accounts(&fill::Arguments { accounts, rules: true }).await?;

    let writers = Writers::start(accounts).await?;
    let mut largest_wal_mb = 0.0;
    let backup_result = measure_command(
        &format!("backup of {accounts} accounts from SQLite while 64 clients write"),
        &["backup", "from-sqlite"],
        || largest_wal_mb = f64::max(largest_wal_mb, file_size_mb(Path::new("data/belfry.db-wal"))),
    );
    let acknowledged_writes = writers.stop().await;
    backup_result?;
    print_row("writes acknowledged meanwhile", acknowledged_writes, "writes");
    print_row("largest WAL meanwhile", format_args!("{largest_wal_mb:.0}"), "MB");
    let size_mb = file_size_mb(Path::new("from-sqlite"));
    print_row("backup size", format_args!("{size_mb:.0}"), "MB");

    let into_postgres = ["restore", "from-sqlite", "--database", &postgres];
    measure_command("restore into PostgreSQL", &into_postgres, || {})?;
    let from_postgres = ["backup", "from-postgres", "--database", &postgres];
    measure_command("backup from PostgreSQL", &from_postgres, || {})?;
    let into_sqlite = ["restore", "from-postgres", "--data", "moved"];
    measure_command("restore into SQLite", &into_sqlite, || {})?;
    measure_command("backup of the result", &["backup", "result", "--data", "moved"], || {})?;
    print_row("tables that differ after both moves", count_changed_tables()?, "tables (0 or less)");
    Ok(())
}

/// Returns the number of tables with different row counts in the first and the last backup. Excludes
/// the audit trail, because each command adds an event to it.
fn count_changed_tables() -> Result<usize, Box<dyn Error>> {
    let first = Backup::open(Path::new("from-sqlite"))?;
    let last = Backup::open(Path::new("result"))?;
    let tables = first.manifest().tables.iter().filter(|table| table.name != "audit_events");
    Ok(tables.filter(|table| !last.manifest().tables.contains(table)).count())
}

/// Clients that change the rules of random accounts.
struct Writers {
    tasks: JoinSet<()>,
    is_stopped: Arc<AtomicBool>,
    acknowledged_writes: Arc<AtomicU64>,
}

impl Writers {
    async fn start(accounts: i64) -> Result<Self, Box<dyn Error>> {
        let database = Database::Sqlite("data/belfry.db".into());
        let store = Store::open(&database, &Options::default(), Timestamp::UNIX_EPOCH).await?;
        let is_stopped = Arc::new(AtomicBool::new(false));
        let acknowledged_writes = Arc::new(AtomicU64::new(0));
        let pool = Arc::new(RulePool::new());
        let counter = Arc::new(AtomicI64::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..WRITERS {
            let store = store.clone();
            let pool = Arc::clone(&pool);
            let counter = Arc::clone(&counter);
            let is_stopped = Arc::clone(&is_stopped);
            let acknowledged_writes = Arc::clone(&acknowledged_writes);
            tasks.spawn(async move {
                while !is_stopped.load(Ordering::Relaxed) {
                    // Spreads writes over all accounts; no two tasks write to the same account at
                    // the same time.
                    let number = counter.fetch_add(7919, Ordering::Relaxed) % accounts;
                    let rulesets = store
                        .rulesets_for_update(number + 1, Timestamp::UNIX_EPOCH)
                        .await
                        .expect("a read succeeds");
                    let seed = usize::try_from(number).unwrap_or(0) + 1;
                    let document = SerializedDocument::new(pool.document(seed));
                    store
                        .save_documents(&rulesets, vec![document])
                        .await
                        .expect("a write succeeds");
                    acknowledged_writes.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        Ok(Self { tasks, is_stopped, acknowledged_writes })
    }

    /// Stops the clients and returns the number of acknowledged writes.
    async fn stop(self) -> u64 {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.tasks.join_all().await;
        self.acknowledged_writes.load(Ordering::Relaxed)
    }
}

/// Runs a `belfry` command and prints its time and peak memory.
fn measure_command(name: &str, arguments: &[&str], mut observe: impl FnMut()) -> io::Result<()> {
    let program: PathBuf = std::env::current_exe()?.with_file_name("belfry");
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut peak_mb = 0.0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        peak_mb = f64::max(peak_mb, peak_memory_mb(child.id()).unwrap_or_default());
        observe();
        thread::sleep(Duration::from_millis(5));
    };
    let seconds = start.elapsed().as_secs_f64();
    if !status.success() {
        let mut message = String::new();
        child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut message)).transpose()?;
        return Err(io::Error::other(format!("belfry {}: {message}", arguments.join(" "))));
    }
    print_row(name, format_args!("{seconds:.1}"), "s");
    print_row(&format!("peak memory, {name}"), format_args!("{peak_mb:.0}"), "MB (100 or less)");
    Ok(())
}

/// Returns the peak resident memory of a process so far, in MB.
fn peak_memory_mb(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

/// Returns the size of a file in MB; 0 if it does not exist.
fn file_size_mb(file: &Path) -> f64 {
    let bytes = file.metadata().map_or(0, |file| file.len());
    f64::from(u32::try_from(bytes / 1_000_000).unwrap_or(u32::MAX))
}
