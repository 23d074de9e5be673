//! Kill -9 in the middle of many writes: whatever was acknowledged is there afterwards.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use belfry::store::Database;
use belfry::store::{Account, Store};
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::cases::account;
use crate::support::databases::options;

/// Names the folder to the process that writes, which is this test binary once more.
const FOLDER: &str = "BELFRY_TEST_CRASH_FOLDER";

async fn open(folder: &Path) -> Store {
    let database = Database::Sqlite(folder.join("belfry.db"));
    Store::open(&database, &options(), Timestamp::UNIX_EPOCH).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_write_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..20 {
        // Another moment of the writer's cycle each time.
        acknowledged.extend(write_until_killed(folder.path(), 40 + 7 * round));
    }
    assert!(acknowledged.len() > 20 * 64, "only {} writes", acknowledged.len());

    let store = open(folder.path()).await;
    let mut found = Vec::new();
    loop {
        let after = found.last().map_or("", |account: &Account| &account.name).to_owned();
        let page = store.accounts(&after, 1000).await.unwrap();
        if page.is_empty() {
            break;
        }
        found.extend(page);
    }
    let found: std::collections::HashSet<i64> = found.iter().map(|account| account.id).collect();
    let lost: Vec<&i64> = acknowledged.iter().filter(|id| !found.contains(id)).collect();
    assert!(lost.is_empty(), "{} of {} are lost", lost.len(), acknowledged.len());
}

/// Runs the writer until it has acknowledged some writes, kills it, and gives all of them.
fn write_until_killed(folder: &Path, enough: usize) -> Vec<i64> {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::crash::the_writer_that_is_killed", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok);
    let id = |line: String| line.strip_prefix("acknowledged ").and_then(|id| id.parse().ok());
    let mut acknowledged: Vec<i64> = lines.by_ref().filter_map(id).take(enough).collect();
    writer.kill().unwrap();
    // What it had said before it died counts, too; a line that was cut off does not.
    acknowledged.extend(lines.filter_map(id));
    writer.wait().unwrap();
    acknowledged
}

/// Does nothing unless the test above asks for it: 64 callers write as fast as they can, and say
/// so for each write that was acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn the_writer_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let store = Arc::new(open(Path::new(&folder)).await);
    let mut callers = JoinSet::new();
    for _ in 0..64 {
        let store = Arc::clone(&store);
        callers.spawn(async move {
            loop {
                let id = i64::from_be_bytes(belfry::random::bytes()) & i64::MAX;
                let account = account(id, &format!("n{id}"));
                store.add_account(&account).await.unwrap();
                let line = format!("acknowledged {id}\n");
                std::io::stdout().write_all(line.as_bytes()).unwrap();
            }
        });
    }
    // A writer that nobody kills ends by itself.
    drop(tokio::time::timeout(Duration::from_mins(1), callers.join_all()).await);
}
