//! `kill -9` during a restore.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use test_engines::Postgres;

use crate::Result;
use crate::app::App;
use crate::client::{Client, Request};
use crate::node::Node;
use crate::outcome::Run;

const ACCOUNTS: usize = 4;
const RULES: usize = 20;
/// The size of a rule's pattern, in bytes. The patterns total 3 MB, so that a restore takes
/// much longer than starting its process.
const PATTERN_BYTES: usize = 40 * 1024;

pub(crate) fn restore_into_sqlite(run: &mut Run) -> Result<()> {
    let backup = Backup::create(run)?;
    kill_repeatedly(run, &backup, |round| Ok(["--data".to_owned(), format!("data-{round}")]))
}

pub(crate) fn restore_into_postgres(run: &mut Run) -> Result<()> {
    let backup = Backup::create(run)?;
    let mut postgres = None;
    kill_repeatedly(run, &backup, |_| {
        // A new server for each round has an empty database.
        let server = postgres.insert(Postgres::start()?);
        Ok(["--database".to_owned(), server.url()])
    })
}

/// A backup, and the number of rows in each of its tables.
struct Backup {
    dir: TempDir,
    row_counts: String,
}

impl Backup {
    /// Writes a backup of a server with some data.
    fn create(run: &Run) -> Result<Self> {
        let mut node = Node::start_new(run, &["--limits", "off"], "")?;
        let app = App::register(node.address)?;
        let rule = json!({"pattern": "x".repeat(PATTERN_BYTES), "actions": ["notify"]});
        for account in 0..ACCOUNTS {
            let user = app.add_user(node.address, &format!("user{account}"))?;
            let client = Client::new(node.address);
            for number in 0..RULES {
                let path = format!("/_matrix/client/v3/pushrules/global/content/{number}");
                client.send_successfully(&Request::put(path, &rule).with_bearer(&user.token))?;
            }
        }
        node.kill()?;
        let dir = tempfile::Builder::new().prefix("belfry-torture-").tempdir()?;
        let file = dir.path().join("backup").display().to_string();
        let data_dir = node.dir().join("data").display().to_string();
        let mut backup = Self { dir, row_counts: String::new() };
        backup.row_counts = parse_row_counts(
            &backup.run_successfully(run, &["backup", &file, "--data", &data_dir])?,
        )?;
        Ok(backup)
    }

    fn command(&self, run: &Run, arguments: &[&str]) -> Command {
        let mut command = Command::new(&run.settings.belfry);
        command.current_dir(self.dir.path()).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("BELFRY_") {
                command.env_remove(name);
            }
        }
        command
    }

    fn run_belfry(&self, run: &Run, arguments: &[&str]) -> Result<Output> {
        Ok(self.command(run, arguments).output()?)
    }

    fn run_successfully(&self, run: &Run, arguments: &[&str]) -> Result<String> {
        let output = self.run_belfry(run, arguments)?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("belfry {}: {error}", arguments.join(" ")).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Parses the number of rows in each table from the output of `belfry backup` or `belfry restore`.
/// Omits the audit events, because each command adds one.
fn parse_row_counts(output: &str) -> Result<String> {
    let tables = output.split_once(" rows (").and_then(|(_, rest)| rest.split_once(')'));
    let (tables, _) = tables.ok_or_else(|| format!("unexpected output: {output}"))?;
    let counts = tables.split(", ").filter(|count| !count.contains(" audit event"));
    Ok(counts.collect::<Vec<_>>().join(", "))
}

/// Kills a restore into a new database in each round, at a random time. The database must then be
/// either complete, or empty so that the restore can be repeated.
fn kill_repeatedly(
    run: &mut Run,
    backup: &Backup,
    mut new_database: impl FnMut(u32) -> Result<[String; 2]>,
) -> Result<()> {
    // Estimated duration of a restore, adjusted after each round.
    let mut estimated_duration = Duration::from_millis(100);
    while let Some(round) = run.next_round() {
        let [flag, value] = new_database(round)?;
        let delay = estimated_duration.mul_f64(run.rng.f64());
        let mut restore = backup.command(run, &["restore", "backup", &flag, &value]).spawn()?;
        thread::sleep(delay);
        restore.kill()?;
        let status = restore.wait()?;
        run.outcome.failed += u64::from(!status.success());

        let file = format!("after-{round}");
        let output = backup.run_belfry(run, &["backup", &file, &flag, &value])?;
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            estimated_duration = estimated_duration.min(delay);
            run.outcome.acknowledged += 1;
            let counts = parse_row_counts(&String::from_utf8_lossy(&output.stdout))?;
            run.outcome.check(counts == backup.row_counts, || {
                format!("killed after {delay:?}: found {counts}, expected {}", backup.row_counts)
            });
        } else {
            let is_empty = message.contains("it does not exist or is empty");
            run.outcome.check(is_empty, || format!("after {delay:?}: {message}"));
            let start = Instant::now();
            let output = backup.run_successfully(run, &["restore", "backup", &flag, &value])?;
            estimated_duration = start.elapsed();
            let counts = parse_row_counts(&output)?;
            run.outcome.check(counts == backup.row_counts, || {
                format!("repeated restore: found {counts}, expected {}", backup.row_counts)
            });
            run.outcome.acknowledged += 1;
        }
        // Errors are ignored, because not every round creates these.
        drop(fs::remove_file(backup.dir.path().join(file)));
        drop(fs::remove_dir_all(backup.dir.path().join(value)));
        run.end_round();
    }
    Ok(())
}
