//! `belfry health`

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use crate::support::ServerProcess;
use crate::support::files::write_certificate;
use crate::support::process::{belfry_command, run_belfry};

/// Runs `belfry health`. Returns whether it succeeded, and its output.
fn run_health(dir: &Path, arguments: &[&str]) -> (bool, String) {
    let output = run_belfry(dir, &[&["health"], arguments].concat());
    let bytes = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(bytes).unwrap())
}

#[test]
fn the_exit_status_is_0_if_the_server_responds_and_1_if_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    let url = server.url.clone();
    let health_output = format!("{url}/healthz: 200 OK {{\"status\":\"ok\"}}\n");
    assert_eq!(run_health(dir.path(), &["--url", &url]), (true, health_output));
    let ready_output =
        format!("{url}/readyz: 200 OK {{\"database\":\"ok\",\"status\":\"ready\"}}\n");
    assert_eq!(run_health(dir.path(), &["--url", &url, "--ready"]), (true, ready_output));

    server.signal("TERM");
    server.wait();
    let output = run_belfry(dir.path(), &["health", "--url", &url]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    let port = url.rsplit(':').next().unwrap();
    let reason = format!("connection refused: nothing listens on 127.0.0.1 port {port}");
    assert_eq!(message, format!("belfry: {url}/healthz: {reason}\n"));
}

#[test]
fn the_url_comes_from_the_server_settings() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    let port = server.url.rsplit(':').next().unwrap().to_owned();
    fs::write(dir.path().join("belfry.toml"), format!("listen = \"0.0.0.0:{port}\"")).unwrap();
    let (is_success, output) = run_health(dir.path(), &[]);
    assert!(
        is_success && output.starts_with(&format!("http://127.0.0.1:{port}/healthz: 200")),
        "{output}"
    );

    fs::remove_file(dir.path().join("belfry.toml")).unwrap();
    let (is_success, output) = run_health(dir.path(), &["--listen", &format!("0.0.0.0:{port}")]);
    assert!(is_success, "{output}");
    let mut command = belfry_command(dir.path(), &["health"]);
    let output = command.env("BELFRY_LISTEN", format!("127.0.0.1:{port}")).output().unwrap();
    assert!(output.status.success(), "{output:?}");

    server.signal("TERM");
    server.wait();
    let output = command.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    let hint = format!("port {port}; use --url if the server listens elsewhere");
    assert!(message.contains(&hint), "{message}");
}

/// The certificate is for the public name, and may have expired.
#[test]
fn a_local_https_server_is_checked_whatever_its_certificate() {
    let dir = tempfile::tempdir().unwrap();
    write_certificate(dir.path(), "ring.example");
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| dir.path().join(name));
    let port = test_engines::free_port().unwrap();
    let settings = format!(
        "listen = '127.0.0.1:{port}'\n[tls]\ncertificate = {certificate:?}\nkey = {key:?}\n"
    );
    fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let server = ServerProcess::launch(belfry_command(dir.path(), &["serve"]), dir.path());
    let (is_success, output) = run_health(dir.path(), &[]);
    assert!(is_success && output.starts_with(&format!("{}/healthz: 200", server.url)), "{output}");

    let (is_success, output) = run_health(dir.path(), &["--url", &server.url]);
    assert!(!is_success && output.contains("does not trust"), "{output}");
}

#[test]
fn a_url_that_is_not_http_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("belfry.toml"), "nonsense").unwrap();
    for (url, reason) in [
        ("ftp://127.0.0.1:1", "the URL must begin with http:// or https://"),
        ("127.0.0.1:8080", "invalid value"),
    ] {
        let (is_success, output) = run_health(dir.path(), &["--url", url]);
        assert!(!is_success && output.contains(reason), "{url}: {output}");
    }
}

#[test]
fn an_error_status_is_shown_with_its_body() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let length = stream.read(&mut request).unwrap();
        let response = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy";
        stream.write_all(response.as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..length]).to_lowercase()
    });
    let dir = tempfile::tempdir().unwrap();
    let (is_success, output) = run_health(dir.path(), &["--url", &url, "--ready"]);
    assert!(!is_success);
    assert_eq!(output, format!("belfry: {url}/readyz: 503 Service Unavailable busy\n"));
    let request = server.join().unwrap();
    assert!(request.starts_with("get /readyz http/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("\r\nhost: {}\r\n", url.trim_start_matches("http://"))));
}
