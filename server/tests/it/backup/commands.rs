//! The commands `belfry backup` and `belfry restore`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use test_engines::Postgres;
use test_engines::shared::engine_url;

use crate::support::process::{add_account, belfry_command, run_belfry, run_successfully};
use crate::support::{ServerProcess, TestDatabase};

/// Returns the flags for a database; none for SQLite in `data`.
fn database_flags(database: Option<&TestDatabase>) -> Vec<String> {
    let url = database.and_then(TestDatabase::url);
    url.map_or_else(Vec::new, |url| vec!["--database".to_owned(), url.to_owned()])
}

#[track_caller]
fn run_with_flags(dir: &Path, arguments: &[&str], flags: &[String]) -> String {
    let flags = flags.iter().map(String::as_str);
    run_successfully(dir, &arguments.iter().copied().chain(flags).collect::<Vec<_>>())
}

/// Runs a command that must fail, and returns its message.
#[track_caller]
fn run_failing(dir: &Path, arguments: &[&str]) -> String {
    let output = run_belfry(dir, arguments);
    assert_eq!(output.status.code(), Some(1), "belfry {arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

async fn fetch_rules_status(server: &ServerProcess, token: &str) -> u16 {
    let url = format!("{}/_matrix/client/v3/pushrules/", server.url);
    let request = reqwest::Client::new().get(url).bearer_auth(token.trim_end());
    request.send().await.unwrap().status().as_u16()
}

fn audit_events_of_kind(dir: &Path, flags: &[String], kind: &str) -> Vec<Value> {
    let output = run_with_flags(dir, &["audit", "--json"], flags);
    let events = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["kind"] == kind).collect()
}

/// A backup of a standby spares a busy primary, but the backup's audit event cannot be recorded.
#[test]
fn a_postgres_standby_can_be_backed_up() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let primary = Postgres::start().unwrap();
    let dir = dir.path();
    run_successfully(dir, &["account", "add", "alice", "--database", &primary.url()]);
    let standby = primary.start_standby().unwrap();
    let output = run_belfry(dir, &["backup", "copy.db", "--database", &standby.url()]);
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warning}");
    assert!(warning.contains("the backup is not in the audit trail"), "{warning}");
    let summary = run_successfully(dir, &["restore", "copy.db"]);
    assert!(summary.contains("1 account"), "{summary}");
}

/// Backs up the source while a server uses it, restores into the target, and serves the target.
async fn assert_an_installation_moves(source: Option<TestDatabase>, target: Option<TestDatabase>) {
    let old_dir = tempfile::tempdir().unwrap();
    let new_dir = tempfile::tempdir().unwrap();
    let old_dir = old_dir.path();
    let new_dir = new_dir.path();
    let source_flags = database_flags(source.as_ref());
    let target_flags = database_flags(target.as_ref());
    run_with_flags(old_dir, &["account", "add", "alice"], &source_flags);
    let server =
        ServerProcess::start(old_dir, &source_flags.iter().map(String::as_str).collect::<Vec<_>>());
    let tokens = [(), ()].map(|()| {
        run_with_flags(old_dir, &["token", "issue", "alice", "--scopes", "push"], &source_flags)
    });
    let [kept_token, revoked_token] = &tokens;
    let put_rule = reqwest::Client::new()
        .put(format!("{}/_matrix/client/v3/pushrules/global/content/cake", server.url))
        .bearer_auth(kept_token.trim_end())
        .body(r#"{"pattern":"cake","actions":["notify"]}"#);
    assert_eq!(put_rule.send().await.unwrap().status(), 200);

    let output = run_with_flags(old_dir, &["backup", "copy.db"], &source_flags);

    assert!(output.starts_with("backup written to copy.db: "), "{output}");
    assert!(output.contains("1 account, 1 app, 2 tokens"), "{output}");
    assert!(output.contains("0 recent deletions"), "{output}");
    assert!(!output.contains('_'), "no names of tables: {output}");
    let file = old_dir.join("copy.db");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let audit_events = audit_events_of_kind(old_dir, &source_flags, "backup");
    assert_eq!((audit_events.len(), &audit_events[0]["detail"]), (1, &"copy.db".into()));
    assert_eq!(audit_events[0]["origin"], "command-line");
    run_with_flags(old_dir, &["token", "revoke", revoked_token.trim_end()], &source_flags);
    assert_eq!(
        (
            fetch_rules_status(&server, kept_token).await,
            fetch_rules_status(&server, revoked_token).await
        ),
        (200, 401)
    );
    drop(server);

    let file = file.to_str().unwrap();
    let restore_output = run_with_flags(new_dir, &["restore", file], &target_flags);
    let (first, second) = restore_output.split_once('\n').unwrap();
    assert!(first.starts_with("backup of ") && first.contains("1 ruleset,"), "{restore_output}");
    assert!(
        second.starts_with("tokens and sessions revoked, and codes redeemed, after ")
            && second.contains("are valid again; --revoke-tokens invalidates all of them"),
        "{restore_output}"
    );
    let audit_events = audit_events_of_kind(new_dir, &target_flags, "restore");
    assert_eq!(audit_events.len(), 1);
    assert!(
        audit_events[0]["detail"].as_str().unwrap().starts_with("backup of "),
        "{audit_events:?}"
    );

    let server =
        ServerProcess::start(new_dir, &target_flags.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(
        (
            fetch_rules_status(&server, kept_token).await,
            fetch_rules_status(&server, revoked_token).await
        ),
        (200, 200)
    );
    let get_rule = reqwest::Client::new()
        .get(format!("{}/_matrix/client/v3/pushrules/global/content/cake", server.url))
        .bearer_auth(kept_token.trim_end());
    assert!(get_rule.send().await.unwrap().text().await.unwrap().contains("\"pattern\":\"cake\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_moves_from_sqlite_to_sqlite() {
    assert_an_installation_moves(None, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_moves_from_sqlite_to_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_an_installation_moves(None, Some(database)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_moves_from_postgres_to_sqlite() {
    if let Some(database) = TestDatabase::postgres().await {
        assert_an_installation_moves(Some(database), None).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restoring_with_revoke_tokens_invalidates_every_token() {
    let old_dir = tempfile::tempdir().unwrap();
    let new_dir = tempfile::tempdir().unwrap();
    add_account(old_dir.path(), "alice");
    let token = run_successfully(old_dir.path(), &["token", "issue", "alice", "--scopes", "push"]);
    run_successfully(old_dir.path(), &["backup", "copy.db"]);
    let file = old_dir.path().join("copy.db");

    let output =
        run_successfully(new_dir.path(), &["restore", file.to_str().unwrap(), "--revoke-tokens"]);

    let effect = "all tokens are revoked, all sessions and codes are deleted\n";
    assert!(output.ends_with(effect), "{output}");
    let audit_events = audit_events_of_kind(new_dir.path(), &[], "restore");
    assert!(audit_events[0]["detail"].as_str().unwrap().ends_with(", all tokens revoked"));
    let server = ServerProcess::start(new_dir.path(), &[]);
    assert_eq!(fetch_rules_status(&server, &token).await, 401);
}

#[test]
fn nothing_is_restored_while_a_server_uses_the_database() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    run_successfully(dir.path(), &["backup", "copy.db"]);
    let _server = ServerProcess::start(dir.path(), &["--data", "new"]);
    let message = run_failing(dir.path(), &["restore", "copy.db", "--data", "new"]);
    assert!(message.contains("another belfry is serving this data: new/belfry.lock"), "{message}");
}

#[test]
fn a_rejected_restore_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    run_successfully(dir.path(), &["backup", "copy.db"]);
    let mut bytes = fs::read(dir.path().join("copy.db")).unwrap();
    bytes.truncate(bytes.len() - 1);
    fs::write(dir.path().join("part.db"), bytes).unwrap();

    let message = run_failing(dir.path(), &["restore", "part.db", "--data", "new"]);
    assert!(message.starts_with("belfry: part.db is damaged or incomplete: "), "{message}");
    let message = run_failing(dir.path(), &["restore", "data/belfry.db", "--data", "new"]);
    assert_eq!(message, "belfry: data/belfry.db was not written by belfry backup\n");
    assert!(!dir.path().join("new").exists());

    let message = run_failing(dir.path(), &["restore", "copy.db"]);
    assert!(
        message.contains("data/belfry.db is not empty, its table accounts has rows"),
        "{message}"
    );
    let message = run_failing(dir.path(), &["backup", "copy.db"]);
    assert!(message.starts_with("belfry: copy.db exists; "), "{message}");
    run_successfully(dir.path(), &["backup", "copy.db", "--force"]);
}

#[test]
fn no_progress_is_printed_without_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    for arguments in [&["backup", "copy.db"][..], &["restore", "copy.db", "--data", "new"]] {
        let output = run_belfry(dir.path(), arguments);
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
        assert!(!output.stdout.contains(&b'\r'));
    }
}

/// Runs a command that cannot write more than 40 KiB to a file, as if the disk were full. The
/// command must fail; returns its message.
fn run_on_full_disk(dir: &Path, arguments: &[&str]) -> String {
    let command = belfry_command(dir, arguments);
    // Without the trap the signal XFSZ would kill the process.
    let script = r#"trap "" XFSZ; ulimit -f 80; exec "$0" "$@""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(command.get_program()).args(command.get_args());
    for (name, _) in command.get_envs() {
        shell.env_remove(name);
    }
    let output = shell.current_dir(dir).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "belfry {arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_full_disk_leaves_no_partial_backup_or_restore() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    let message = run_on_full_disk(dir.path(), &["backup", "copy.db"]);
    assert!(message.starts_with("belfry: cannot write copy.db: "), "{message}");
    let file_names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(file_names, ["data"]);

    run_successfully(dir.path(), &["backup", "copy.db"]);
    run_on_full_disk(dir.path(), &["restore", "copy.db", "--data", "new"]);
    let message = run_failing(dir.path(), &["account", "list", "--data", "new"]);
    assert!(message.contains("it does not exist or is empty"), "{message}");
    run_successfully(dir.path(), &["restore", "copy.db", "--data", "new"]);
    assert!(run_successfully(dir.path(), &["account", "list", "--data", "new"]).contains("alice"));
}

/// The backup may come from someone else.
#[test]
fn the_version_in_a_backup_cannot_control_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    add_account(dir, "alice");
    run_successfully(dir, &["backup", "copy.db"]);
    let version = "1\u{1b}[31m\u{9b}\u{202e}\nbelfry: restored";
    for schema_version in [999, 1] {
        let backup = rusqlite::Connection::open(dir.join("copy.db")).unwrap();
        let update = "update backup set belfry_version = ?, schema_version = ?";
        backup.execute(update, (version, schema_version)).unwrap();
        drop(backup);
        let message = run_failing(dir, &["restore", "copy.db", "--data", "new"]);
        assert!(message.contains(r"1\u{1b}[31m\u{9b}\u{202e}\u{a}belfry: restored"), "{message}");
        assert!(message.trim_end().is_ascii() && message.lines().count() == 1, "{message}");
    }
}
