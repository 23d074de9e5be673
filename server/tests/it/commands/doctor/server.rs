//! The check of a running server.

use std::process::Command;

use test_engines::Postgres;
use test_engines::shared::engine_url;

use super::doctor;
use super::fixture::{NOT_FOUND, respond_with, start, with_port};
use crate::support::Process;
use crate::support::process::belfry;

#[test]
fn a_sound_server_fails_no_check() {
    let (workspace, port) = with_port("");
    let server = start(&workspace);
    let checks = doctor(&workspace, &[]);
    assert!(!server.log().contains("WARN"), "a check is no mistake: {}", server.log());
    checks.assert("server", "ok", &format!("running at http://127.0.0.1:{port}, and ready"));
    checks.assert("base_url", "ok", "leads to this server");
    checks.assert("proxy", "ok", "none: requests through base_url arrive directly");
    checks.assert("open files", "ok", "");
    assert_eq!(checks.exit_code, Some(0));
    let is_sound = |status: &str| ["ok", "skipped"].contains(&status);
    assert!(checks.results.iter().all(|result| is_sound(result["status"].as_str().unwrap())));
}

#[test]
fn a_server_that_does_not_know_this_machine_as_an_operator_is_checked_less() {
    let (workspace, _) = with_port("operator_addresses = []");
    let _server = start(&workspace);
    let checks = doctor(&workspace, &[]);
    checks.assert("server", "ok", "and ready");
    checks.assert("base_url", "ok", "leads to a belfry with this base_url");
    checks.assert("proxy", "skipped", "this machine is not in operator_addresses");
    assert_eq!(checks.exit_code, Some(0));
}

#[test]
fn another_program_on_the_port_is_reported() {
    let workspace = super::with_database();
    let listen = format!("127.0.0.1:{}", respond_with(NOT_FOUND));
    let checks = doctor(&workspace, &["--listen", &listen]);
    let text = "does not respond as belfry: 404 Not Found, nothing stop the other program";
    checks.assert_failed("server", text);
}

#[test]
fn a_server_that_is_not_ready_is_reported() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let mut postgres = Postgres::start().unwrap();
    let (workspace, _) = with_port(&format!("database = '{}'", postgres.url()));
    let _server = start(&workspace);
    postgres.stop().unwrap();
    let checks = doctor(&workspace, &[]);
    checks.assert("database", "failed", "start PostgreSQL");
    checks.assert("server", "failed", "but not ready: 503 Service Unavailable, {");
    assert_eq!(checks.exit_code, Some(1));
}

#[test]
fn a_limit_on_open_files_below_the_connections_is_reported() {
    let (workspace, _) = with_port("[http]\nmax_connections = 1000");
    let server = belfry(workspace.path(), &["serve"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 500; exec \"$0\" serve"]).arg(server.get_program());
    shell.current_dir(workspace.path());
    let _server = Process::launch(shell, workspace.path());
    let text = "the server may open 500 files, http.max_connections needs 1100 LimitNOFILE";
    doctor(&workspace, &[]).assert_failed("open files", text);
}
