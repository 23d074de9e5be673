//! Servers and proxies for the checks to find.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use test_engines::{EngineError, Proxy, free_port};

use crate::commands::Workspace;
use crate::support::process::belfry_command;
use crate::support::{ServerProcess, report_skipped};

/// Returns a workspace whose server listens on a fixed port, and the port.
pub(super) fn workspace_with_port(settings: &str) -> (Workspace, u16) {
    let workspace = Workspace::sqlite();
    let port = free_port().unwrap();
    workspace.configure(&format!("listen = '127.0.0.1:{port}'\n{settings}"));
    (workspace, port)
}

pub(super) fn start_server(workspace: &Workspace) -> ServerProcess {
    ServerProcess::launch(belfry_command(workspace.path(), &["serve"]), workspace.path())
}

pub(super) const NOT_FOUND_RESPONSE: &str =
    "HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\nConnection: close\r\n\r\nnothing";

pub(super) const HEALTHY_RESPONSE: &str =
    "HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{\"status\":\"ok\"}";

/// Starts a server that responds to every request with this response, and returns its port.
pub(super) fn start_responder(response: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _length = stream.read(&mut [0; 4096]);
            let _sent = stream.write_all(response.as_bytes());
        }
    });
    port
}

/// Sends SIGHUP, and waits until the log contains the expected text.
pub(super) fn reload_server(server: &ServerProcess, expected_log: &str) {
    let start = Instant::now();
    server.signal("HUP");
    while !server.log().contains(expected_log) {
        assert!(start.elapsed() < Duration::from_mins(1), "{}", server.log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts nginx in front of a server, with `directives`, and returns it with its port. Returns
/// `None` if nginx is not installed.
pub(super) fn start_nginx(directives: &str, upstream_port: u16) -> Option<(Proxy, u16)> {
    let port = free_port().unwrap();
    let configuration = format!(
        "events {{}}\nhttp {{ access_log off; server {{ listen 127.0.0.1:{port}; location / {{\n\
         proxy_pass http://127.0.0.1:{upstream_port};\n{directives}\n}} }} }}"
    );
    match Proxy::nginx(port, &configuration) {
        Ok(proxy) => Some((proxy, port)),
        Err(error @ EngineError::Missing(_)) => {
            report_skipped("a proxy", &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}
