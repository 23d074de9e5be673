//! Differences between the settings that `belfry doctor` reads and those that a running server
//! uses.

use super::fixture::{reload_server, start_server, workspace_with_port};
use super::run_doctor;
use crate::support::ServerProcess;
use crate::support::process::belfry_command;

#[test]
fn settings_that_the_server_does_not_use_yet_are_reported() {
    let (workspace, port) = workspace_with_port("");
    let server = start_server(&workspace);
    workspace.configure(&format!(
        "listen = '127.0.0.1:{port}'\nbase_url = 'http://localhost:{port}'\n\
         trusted_proxies = ['10.0.0.1']\n[http]\nmax_connections = 30"
    ));
    let report = run_doctor(&workspace, &[]);
    for (key, fix) in [
        ("trusted_proxies", "reload the server"),
        ("base_url", "restart the server"),
        ("http.max_connections", "restart the server"),
    ] {
        let message =
            format!("the server uses a different value for {key} than this command {fix}");
        report.assert_status("server", "warning", &message);
    }

    reload_server(&server, "SIGHUP: setting changed");
    let report = run_doctor(&workspace, &[]);
    let results = report.lines("server").join(" ");
    assert!(!results.contains("trusted_proxies") && results.contains("base_url"), "{results}");

    drop(server);
    let _server = start_server(&workspace);
    let report = run_doctor(&workspace, &[]);
    assert_eq!(report.lines("server").len(), 1, "{:?}", report.results);
    report.assert_status("base_url", "ok", "reaches this server");
}

/// The server still listens on the address that the file contained before.
#[test]
fn a_server_whose_address_differs_from_the_file_is_found() {
    let (workspace, port) = workspace_with_port("");
    let _server = start_server(&workspace);
    workspace.configure("listen = '127.0.0.1:1'");
    let report = run_doctor(&workspace, &[]);
    report.assert_status("server", "ok", &format!("running at http://127.0.0.1:{port}"));
    report.assert_status("server", "warning", "the server uses a different value for listen");
}

#[test]
fn flags_and_a_file_that_differ_from_the_servers_are_reported() {
    let (workspace, port) = workspace_with_port("");
    let arguments = ["serve", "--log-level", "debug", "--metrics-listen", "127.0.0.1:0"];
    let _server =
        ServerProcess::launch(belfry_command(workspace.path(), &arguments), workspace.path());
    let report = run_doctor(&workspace, &["--limits", "shadow"]);
    report.assert_status(
        "server",
        "warning",
        "the server uses a different value for limits.mode than this command reload the server \
         (SIGHUP, or systemctl reload belfry), or run doctor with the server's flags, variables \
         and file",
    );
    let expected_text = "a different value for metrics_listen than this command restart the \
                         server, or run doctor with the server's flags, variables and file";
    report.assert_status("server", "warning", expected_text);
    assert!(!report.lines("server").join(" ").contains("log.level"), "no check depends on it");
    assert_eq!(report.exit_code, Some(0));

    let other_file = workspace.path().join("other.toml");
    std::fs::write(&other_file, format!("listen = '127.0.0.1:{port}'\nregistration = 'closed'"))
        .unwrap();
    let report = run_doctor(&workspace, &["--config", "other.toml"]);
    report.assert_status(
        "server",
        "warning",
        "a different value for registration than this command",
    );
}
