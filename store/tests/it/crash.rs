//! A process that is killed during many writes loses no acknowledged write.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use belfry_store::Database;
use belfry_store::test::{any_events, options};
use belfry_store::{Account, AccountListFilter, Store};
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::cases::account;

/// The environment variable with the data directory of the writer. The writer is a second process
/// of this test binary.
const DIR_VARIABLE: &str = "BELFRY_TEST_CRASH_DIR";

async fn open(dir: &Path) -> Store {
    let database = Database::Sqlite(dir.join("belfry.db"));
    Store::open(&database, &options(), Timestamp::UNIX_EPOCH).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_write_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged_ids = Vec::new();
    for round in 0..20 {
        // A different number of writes each time, to hit different phases of the commit.
        acknowledged_ids.extend(write_until_killed(dir.path(), 40 + 7 * round));
    }
    assert!(acknowledged_ids.len() > 20 * 64, "only {} writes", acknowledged_ids.len());

    let store = open(dir.path()).await;
    let mut accounts = Vec::new();
    loop {
        let after = accounts.last().map_or("", |account: &Account| &account.name).to_owned();
        let page = store.accounts(&AccountListFilter::default(), &after, 1000).await.unwrap();
        if page.is_empty() {
            break;
        }
        accounts.extend(page);
    }
    let stored_ids: std::collections::HashSet<i64> =
        accounts.iter().map(|account| account.id).collect();
    let lost_ids: Vec<&i64> =
        acknowledged_ids.iter().filter(|id| !stored_ids.contains(id)).collect();
    assert!(lost_ids.is_empty(), "{} of {} are lost", lost_ids.len(), acknowledged_ids.len());
}

/// Runs the writer process until it has acknowledged this many writes, kills it, and returns the
/// ids of all acknowledged accounts.
fn write_until_killed(dir: &Path, count: usize) -> Vec<i64> {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::writer_process", "--nocapture"])
        .env(DIR_VARIABLE, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok);
    let parse_id = |line: String| line.strip_prefix("acknowledged ").and_then(|id| id.parse().ok());
    let mut acknowledged_ids: Vec<i64> = lines.by_ref().filter_map(parse_id).take(count).collect();
    writer.kill().unwrap();
    // Includes lines that were written before the kill. Each is complete, because each is one small
    // write to the pipe.
    acknowledged_ids.extend(lines.filter_map(parse_id));
    writer.wait().unwrap();
    acknowledged_ids
}

/// The writer process: 64 tasks add accounts and print a line for each acknowledged one. Does
/// nothing unless `write_until_killed` started it.
#[tokio::test(flavor = "multi_thread")]
async fn writer_process() {
    let Some(dir) = std::env::var_os(DIR_VARIABLE) else { return };
    let store = Arc::new(open(Path::new(&dir)).await);
    let mut tasks = JoinSet::new();
    for _ in 0..64 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            loop {
                let id = i64::from_be_bytes(belfry_runtime::random::bytes()) & i64::MAX;
                let account = account(id, &format!("n{id}"));
                store.add_account(&any_events(), &account).await.unwrap();
                let line = format!("acknowledged {id}\n");
                std::io::stdout().write_all(line.as_bytes()).unwrap();
            }
        });
    }
    // Bounded, in case the parent does not kill this process.
    drop(tokio::time::timeout(Duration::from_mins(1), tasks.join_all()).await);
}
