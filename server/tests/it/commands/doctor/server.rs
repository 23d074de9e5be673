//! The check of the running server.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use test_engines::shared::engine_url;
use test_engines::{Postgres, free_port};

use super::fixture::{start_server, workspace_with_port};
use super::run_doctor;
use crate::commands::Workspace;

#[test]
fn no_check_fails_for_a_sound_server() {
    let (workspace, port) = workspace_with_port("");
    let server = start_server(&workspace);
    let report = run_doctor(&workspace, &[]);
    assert!(!server.log().contains("WARN"), "a check logs no warning: {}", server.log());
    report.assert_status("server", "ok", &format!("running at http://127.0.0.1:{port}, and ready"));
    report.assert_status("base_url", "ok", "reaches this server");
    report.assert_status("proxy", "ok", "none: requests through base_url arrive directly");
    assert_eq!(report.exit_code, Some(0));
    let is_sound = |status: &str| ["ok", "skipped"].contains(&status);
    assert!(report.results.iter().all(|result| is_sound(result["status"].as_str().unwrap())));
}

#[test]
fn without_the_servers_socket_fewer_checks_run() {
    let (workspace, _) = workspace_with_port("");
    let mut server = start_server(&workspace);
    let socket = workspace.path().join("data/belfry.sock");
    let hidden_socket = workspace.path().join("data/hidden");
    run_doctor(&workspace, &[]).assert_status("server", "ok", "and ready");
    fs::rename(&socket, &hidden_socket).unwrap();
    let report = run_doctor(&workspace, &[]);
    let problem = "no server responds at data/belfry.sock (No such file";
    report.assert_status("server", "skipped", problem);
    for check in ["base_url", "proxy"] {
        report.assert_status(check, "skipped", "a running server and its socket");
    }
    assert_eq!(report.exit_code, Some(0));

    fs::rename(&hidden_socket, &socket).unwrap();
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let report = run_doctor(&workspace, &[]);
    let problem = "no server responds at data/belfry.sock (Connection refused";
    report.assert_status("server", "skipped", problem);
}

/// A path of 108 bytes and more cannot be a socket.
#[test]
fn a_server_whose_socket_cannot_be_created_serves_without_it() {
    let data = "d".repeat(120);
    let workspace = Workspace::sqlite();
    let port = free_port().unwrap();
    workspace.configure(&format!("listen = '127.0.0.1:{port}'\ndata = '{data}'"));
    let server = start_server(&workspace);
    let message = "cannot create the socket for belfry doctor";
    let start = Instant::now();
    while !server.log().contains(message) {
        assert!(start.elapsed() < Duration::from_mins(1), "{}", server.log());
        sleep(Duration::from_millis(10));
    }
    assert!(server.log().contains("choose a shorter data directory"), "{}", server.log());
    run_doctor(&workspace, &[]).assert_status("server", "skipped", "its log says why");
}

/// Invalid, long and unfinished requests do not stop the server from responding to others.
#[test]
fn the_socket_rejects_invalid_requests() {
    let (workspace, _) = workspace_with_port("");
    let _server = start_server(&workspace);
    let socket = workspace.path().join("data/belfry.sock");
    let send = |request: &[u8]| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        // The server may close the connection before it has read everything.
        let _rejected = stream.write_all(request);
        let mut response = String::new();
        let _reset = stream.read_to_string(&mut response);
        response
    };
    for request in [&b"\n"[..], b"{}\n", b"{\"command\":\"stop\"}\n"] {
        let response = send(request);
        assert!(response.starts_with("{\"Err\":") && response.ends_with('\n'), "{response}");
    }
    let long_request = vec![b'a'; 100_000];
    assert!(!send(&long_request).contains("Ok"));
    let _idle: Vec<UnixStream> = (0..4).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let response = send(b"{\"command\":\"settings\"}\n");
    assert!(response.contains("\"listen\":{\"value\":\"\\\"127.0.0.1:"), "{response}");
}

#[test]
fn a_server_that_is_not_ready_is_reported() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let mut postgres = Postgres::start().unwrap();
    let (workspace, _) = workspace_with_port(&format!("database = '{}'", postgres.url()));
    // For the socket; with PostgreSQL, the server does not create it.
    fs::create_dir(workspace.path().join("data")).unwrap();
    let _server = start_server(&workspace);
    postgres.stop().unwrap();
    let report = run_doctor(&workspace, &[]);
    report.assert_status("database", "failed", "start PostgreSQL");
    report.assert_status("server", "failed", "but not ready: 503 Service Unavailable, {");
    assert_eq!(report.exit_code, Some(1));
}
