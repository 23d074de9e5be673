//! The commands, with and without a running server, on both database engines.

mod accounts;
mod apps;
mod audit;
mod change_detection;
mod denied_files;
mod doctor;
mod files;
mod health;
mod import;
mod key;
mod lists;
mod missing_database;
mod postgres_tls;
mod push;
mod read_only;
mod secret_files;
mod selectors;
mod settings;
mod shell;
mod terminal;
mod tokens;
mod while_server_runs;

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::TestDatabase;
use crate::support::process::{belfry_command, run_belfry, run_successfully};

/// A directory to run commands in, and their database: `None` for SQLite in the directory.
struct Workspace {
    dir: TempDir,
    database: Option<TestDatabase>,
}

/// Creates a workspace whose commands use this database. SQLite uses the default file in the
/// workspace's directory.
async fn create_workspace(database: TestDatabase) -> Workspace {
    let database = database.url().is_some().then_some(database);
    Workspace { database, ..Workspace::sqlite() }
}

impl Workspace {
    fn sqlite() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), database: None }
    }

    async fn postgres() -> Option<Self> {
        Some(create_workspace(TestDatabase::postgres().await?).await)
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn flags(&self) -> Vec<&str> {
        let url = self.database.as_ref().and_then(TestDatabase::url);
        url.map_or_else(Vec::new, |url| vec!["--database", url])
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        run_successfully(self.path(), &[arguments, &self.flags()].concat())
    }

    #[track_caller]
    fn run_json(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.run(&[arguments, &["--json"]].concat());
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn run_with_input(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = belfry_command(self.path(), &[arguments, &self.flags()].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must fail with exit code 1, and returns its message.
    #[track_caller]
    fn run_failing(&self, arguments: &[&str]) -> String {
        let output = run_belfry(self.path(), &[arguments, &self.flags()].concat());
        assert_eq!(output.status.code(), Some(1), "belfry {arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Writes `belfry.toml`.
    fn configure(&self, settings: &str) {
        std::fs::write(self.path().join("belfry.toml"), settings).unwrap();
    }

    /// Runs statements on the database, as another program would.
    async fn execute_sql(&self, statements: &str) {
        if let [_, url] = self.flags()[..] {
            let (client, connection) =
                tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(statements).await.unwrap();
        } else {
            let file = self.path().join("data/belfry.db");
            let connection = rusqlite::Connection::open(file).unwrap();
            connection.execute_batch(statements).unwrap();
        }
    }
}

/// Returns the value after a label such as `password: ` in the output of a command.
#[track_caller]
fn printed_value(output: &str, label: &str) -> String {
    let value = output.lines().find_map(|line| line.strip_prefix(label));
    value.unwrap_or_else(|| panic!("no {label:?} in {output}")).to_owned()
}
