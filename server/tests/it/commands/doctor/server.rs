//! The check of the running server.

use std::fs;
use std::process::Command;

use test_engines::shared::engine_url;
use test_engines::{Postgres, free_port};

use super::fixture::{
    HEALTHY_RESPONSE, IMPOSTOR_RESPONSE, NOT_FOUND_RESPONSE, start_responder, start_server,
    workspace_with_port,
};
use super::run_doctor;
use crate::commands::Workspace;
use crate::support::ServerProcess;
use crate::support::process::belfry_command;

#[test]
fn no_check_fails_for_a_sound_server() {
    let (workspace, port) = workspace_with_port("");
    let server = start_server(&workspace);
    let report = run_doctor(&workspace, &[]);
    assert!(!server.log().contains("WARN"), "a check logs no warning: {}", server.log());
    report.assert_status("server", "ok", &format!("running at http://127.0.0.1:{port}, and ready"));
    report.assert_status("base_url", "ok", "reaches this server");
    report.assert_status("proxy", "ok", "none: requests through base_url arrive directly");
    report.assert_status("open files", "ok", "");
    assert_eq!(report.exit_code, Some(0));
    let is_sound = |status: &str| ["ok", "skipped"].contains(&status);
    assert!(report.results.iter().all(|result| is_sound(result["status"].as_str().unwrap())));
}

#[test]
fn without_the_servers_key_fewer_checks_run() {
    let (workspace, port) = workspace_with_port("");
    let mut server = start_server(&workspace);
    let report = run_doctor(&workspace, &[]);
    report.assert_status("base_url", "ok", "reaches this server");
    let key_file = workspace.path().join(format!("data/doctor-{port}.key"));
    let content = fs::read(&key_file).unwrap();
    fs::remove_file(&key_file).unwrap();
    let report = run_doctor(&workspace, &[]);
    report.assert_status("server", "ok", "and ready");
    report.assert_status("base_url", "skipped", "whether it is this server cannot be verified");
    let expected_text =
        format!("the server's key, which cannot be read (data/doctor-{port}.key: No such");
    report.assert_status("proxy", "skipped", &expected_text);
    assert_eq!(report.exit_code, Some(0));

    fs::write(&key_file, content).unwrap();
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(!key_file.exists(), "a stopped server has removed its key");
}

/// A server on PostgreSQL needs no data directory, except for its key.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_directory_for_the_key_is_reported() {
    let Some(workspace) = Workspace::postgres().await else { return };
    workspace.configure(&format!("listen = '127.0.0.1:{}'", free_port().unwrap()));
    let start_server = || {
        let arguments = [&["serve"], &*workspace.flags()].concat();
        ServerProcess::launch(belfry_command(workspace.path(), &arguments), workspace.path())
    };
    let mut server = start_server();
    let data_dir = workspace.path().join("data");
    let expected_text =
        format!("create {} for the server's user and restart the server", data_dir.display());
    run_doctor(&workspace, &[]).assert_status("proxy", "skipped", &expected_text);

    server.signal("TERM");
    server.wait();
    fs::create_dir(&data_dir).unwrap();
    let _server = start_server();
    run_doctor(&workspace, &[]).assert_status("base_url", "ok", "reaches this server");
}

#[test]
fn a_server_without_the_key_is_reported_as_a_different_server() {
    let workspace = Workspace::sqlite();
    for response in [IMPOSTOR_RESPONSE, HEALTHY_RESPONSE] {
        let port = start_responder(response);
        workspace.configure(&format!("listen = '127.0.0.1:{port}'"));
        fs::create_dir_all(workspace.path().join("data")).unwrap();
        fs::write(workspace.path().join(format!("data/doctor-{port}.key")), [7; 32]).unwrap();
        let expected_text = format!("is not the server that wrote data/doctor-{port}.key");
        run_doctor(&workspace, &[]).assert_failed("server", &expected_text);
    }

    // A server with different data, which has its own key.
    let (other_workspace, port) = workspace_with_port("");
    let _other_server = start_server(&other_workspace);
    workspace.configure(&format!("listen = '127.0.0.1:{port}'"));
    fs::write(workspace.path().join(format!("data/doctor-{port}.key")), [7; 32]).unwrap();
    run_doctor(&workspace, &[]).assert_failed("server", "is not the server that wrote");
}

#[test]
fn a_different_program_on_the_port_is_reported() {
    let workspace = super::workspace_with_database();
    let listen = format!("127.0.0.1:{}", start_responder(NOT_FOUND_RESPONSE));
    let report = run_doctor(&workspace, &["--listen", &listen]);
    let expected_text =
        "does not respond like belfry: 404 Not Found, nothing stop the other program";
    report.assert_failed("server", expected_text);
}

#[test]
fn a_server_that_is_not_ready_is_reported() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let mut postgres = Postgres::start().unwrap();
    let (workspace, _) = workspace_with_port(&format!("database = '{}'", postgres.url()));
    let _server = start_server(&workspace);
    postgres.stop().unwrap();
    let report = run_doctor(&workspace, &[]);
    report.assert_status("database", "failed", "start PostgreSQL");
    report.assert_status("server", "failed", "but not ready: 503 Service Unavailable, {");
    assert_eq!(report.exit_code, Some(1));
}

#[test]
fn a_limit_on_open_files_below_the_connections_is_reported() {
    let (workspace, _) = workspace_with_port("[http]\nmax_connections = 1000");
    let serve_command = belfry_command(workspace.path(), &["serve"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 500; exec \"$0\" serve"]).arg(serve_command.get_program());
    shell.current_dir(workspace.path());
    let _server = ServerProcess::launch(shell, workspace.path());
    let expected_text =
        "the server may open 500 files, http.max_connections needs 1100 LimitNOFILE";
    run_doctor(&workspace, &[]).assert_failed("open files", expected_text);
}
