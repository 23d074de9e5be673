//! The checks of a running server, the base URL and the proxy.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use test_engines::{EngineError, Postgres, Proxy, free_port};

use super::{Checks, TLS, doctor, write_certificate};
use crate::commands::Workspace;
use crate::support::databases::engine_url;
use crate::support::process::belfry;
use crate::support::{Process, report_skipped};

/// A workspace whose server listens on a fixed port, and the port.
fn with_port(settings: &str) -> (Workspace, u16) {
    let workspace = Workspace::sqlite();
    let port = free_port().unwrap();
    workspace.configure(&format!("listen = '127.0.0.1:{port}'\n{settings}"));
    (workspace, port)
}

fn start(workspace: &Workspace) -> Process {
    Process::launch(belfry(workspace.path(), &["serve"]), workspace.path())
}

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

/// Responds to every request with this text.
fn respond_with(text: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _length = stream.read(&mut [0; 4096]);
            let _sent = stream.write_all(text.as_bytes());
        }
    });
    port
}

const NOT_FOUND: &str =
    "HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\nConnection: close\r\n\r\nnothing";

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
    checks.assert("server", "failed", "but not ready: 503 Service Unavailable, database: ");
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

#[test]
fn a_base_url_that_leads_elsewhere_is_reported() {
    let (workspace, _) = with_port("");
    let _server = start(&workspace);
    let checks = doctor(&workspace, &["--base-url", "https://nowhere.invalid"]);
    checks.assert_failed("base_url", "nowhere.invalid cannot be resolved");

    let nothing = format!("http://127.0.0.1:{}", free_port().unwrap());
    let checks = doctor(&workspace, &["--base-url", &nothing]);
    checks.assert_failed("base_url", "connection refused: nothing listens on 127.0.0.1 port");

    let other = format!("http://127.0.0.1:{}", respond_with(NOT_FOUND));
    let checks = doctor(&workspace, &["--base-url", &other]);
    let text = "leads to another server: 404 Not Found, nothing let the proxy forward to";
    checks.assert_failed("base_url", text);
    checks.assert("proxy", "skipped", "");

    let (elsewhere, port) =
        with_port("base_url = 'https://bells.example'\nregistration = 'closed'");
    let _elsewhere = start(&elsewhere);
    let url = format!("http://127.0.0.1:{port}");
    let checks = doctor(&workspace, &["--base-url", &url]);
    checks.assert_failed("base_url", "leads to a server whose issuer is https://bells.example");

    let (node, port) = with_port("");
    let _node = start(&node);
    let url = format!("http://127.0.0.1:{port}");
    let checks = doctor(&workspace, &["--base-url", &url]);
    checks.assert("base_url", "warning", "leads to another process of belfry with this base_url");
    assert_eq!(checks.exit_code, Some(0));
}

#[test]
fn a_certificate_that_is_not_trusted_is_reported() {
    let workspace = Workspace::sqlite();
    let port = free_port().unwrap();
    workspace.configure(&TLS.replace(":1'", &format!(":{port}'")));
    write_certificate(workspace.path(), -30, 90);
    let _server = start(&workspace);
    let doctor = |trusted: &str| {
        let mut command = belfry(workspace.path(), &["doctor", "--json"]);
        command.env("SSL_CERT_FILE", workspace.path().join(trusted)).env_remove("SSL_CERT_DIR");
        Checks::parse(&command.output().unwrap())
    };
    let sound = doctor("certificate.pem");
    sound.assert("server", "ok", &format!("running at https://127.0.0.1:{port}, and ready"));
    sound.assert("base_url", "ok", "leads to this server");
    assert_eq!(sound.exit_code, Some(0), "{:?}", sound.results);

    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let mut file = File::create(workspace.path().join("other.pem")).unwrap();
    file.write_all(other.cert.pem().as_bytes()).unwrap();
    let checks = doctor("other.pem");
    let text = "its certificate was issued by an authority that this machine does not trust";
    checks.assert_failed("base_url", text);
    checks.assert_failed("base_url", "SSL_CERT_FILE");

    // The server loads a new certificate within a second.
    write_certificate(workspace.path(), -30, -1);
    let text = "its certificate expired at 20";
    let start = Instant::now();
    loop {
        let checks = doctor("certificate.pem");
        let found = checks.of("base_url").join(" ");
        if found.contains(text) && found.contains("renew the certificate") {
            break;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{found}");
    }
}

/// A base URL whose scheme is not the one of the server.
#[test]
fn a_wrong_scheme_is_reported_with_the_right_base_url() {
    let workspace = Workspace::sqlite();
    let port = free_port().unwrap();
    workspace.configure(&TLS.replace(":1'", &format!(":{port}'")));
    write_certificate(workspace.path(), -30, 90);
    let _server = start(&workspace);
    let http = format!("http://localhost:{port}");
    let checks = doctor(&workspace, &["--base-url", &http]);
    let found = checks.of("base_url").join(" ");
    let expected = format!("write base_url = \"https://localhost:{port}\"");
    assert!(found.contains("does not respond with HTTP") && found.contains(&expected), "{found}");

    let (plain, port) = with_port("");
    let _plain = start(&plain);
    let checks = doctor(&plain, &["--base-url", &format!("https://127.0.0.1:{port}")]);
    checks.assert_failed("base_url", "does not respond with TLS");
    checks.assert_failed("base_url", &format!("write base_url = \"http://127.0.0.1:{port}\""));
}

#[test]
fn a_redirect_is_reported_with_the_right_base_url() {
    const HTTPS: &str = "HTTP/1.1 301 Moved Permanently\r\nLocation: https://ring.example/healthz\
                         \r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    const SIGN_IN: &str = "HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\
                           Connection: close\r\n\r\n";
    let (workspace, _) = with_port("");
    let _server = start(&workspace);
    let other = format!("http://127.0.0.1:{}", respond_with(HTTPS));
    let checks = doctor(&workspace, &["--base-url", &other]);
    let text = "redirects to https://ring.example write base_url = \"https://ring.example\"";
    checks.assert_failed("base_url", text);
    assert!(!checks.of("base_url").join(" ").contains('<'));
    let other = format!("http://127.0.0.1:{}", respond_with(SIGN_IN));
    let checks = doctor(&workspace, &["--base-url", &other]);
    checks.assert_failed("base_url", "/login let the proxy forward every path");
}

/// Sends SIGHUP, and waits until the log has a line about a change.
fn reload(server: &Process, expected: &str) {
    let start = Instant::now();
    server.signal("HUP");
    while !server.log().contains(expected) {
        assert!(start.elapsed() < Duration::from_mins(1), "{}", server.log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn settings_that_the_server_does_not_use_yet_are_reported() {
    let (workspace, port) = with_port("");
    let server = start(&workspace);
    let file = workspace.path().join("belfry.toml");
    workspace.configure(&format!(
        "listen = '127.0.0.1:{port}'\nbase_url = 'http://localhost:{port}'\n\
         trusted_proxies = ['10.0.0.1']\n[http]\nidle_timeout = '30s'"
    ));
    let checks = doctor(&workspace, &[]);
    let name = file.display();
    for (message, fix) in [
        (
            format!("the server still uses trusted_proxies = []; {name} has [\"10.0.0.1\"]"),
            "reload the server",
        ),
        (
            format!(
                "the server still uses base_url = \"http://127.0.0.1:{port}\"; {name} has \
                 \"http://localhost:{port}\""
            ),
            "restart the server",
        ),
        (
            format!("the server still uses another value of http.idle_timeout than {name}"),
            "restart the server",
        ),
    ] {
        checks.assert("server", "warning", &format!("{message} {fix}"));
    }
    let text = format!("leads to this server, which still uses http://127.0.0.1:{port}");
    checks.assert_failed("base_url", &text);

    reload(&server, "trusted_proxies: 10.0.0.1");
    let checks = doctor(&workspace, &[]);
    let found = checks.of("server").join(" ");
    assert!(!found.contains("trusted_proxies") && found.contains("base_url"), "{found}");

    drop(server);
    let _server = start(&workspace);
    let checks = doctor(&workspace, &[]);
    assert_eq!(checks.of("server").len(), 1, "{:?}", checks.results);
    checks.assert("base_url", "ok", "leads to this server");
}

/// A server that listens on the address that the file had before.
#[test]
fn a_server_with_another_address_than_the_file_is_reported() {
    let (workspace, _) = with_port("");
    let server = start(&workspace);
    workspace.configure("listen = '127.0.0.1:1'");
    let process = server.pid();
    let text = format!(
        "process {process} uses the data, but nothing listens on http://127.0.0.1:1 restart the \
         server, if you changed listen"
    );
    doctor(&workspace, &[]).assert("server", "warning", &text);
    drop(server);
    doctor(&workspace, &[]).assert("server", "skipped", "not running");
}

#[test]
fn other_flags_and_another_file_than_the_servers_are_reported() {
    let (workspace, port) = with_port("");
    let arguments = ["serve", "--log-level", "debug", "--metrics-listen", "127.0.0.1:0"];
    let _server = Process::launch(belfry(workspace.path(), &arguments), workspace.path());
    let checks = doctor(&workspace, &["--limits", "shadow"]);
    checks.assert(
        "server",
        "warning",
        "the server uses limits.mode = \"enforce\", this command \"shadow\" from --limits run \
         belfry doctor with the flags and variables of the server",
    );
    let text = "the server uses another value of metrics_listen from --metrics-listen than this";
    checks.assert("server", "warning", text);
    assert!(!checks.of("server").join(" ").contains("log.level"), "it matters to no check");
    assert_eq!(checks.exit_code, Some(0));

    let other = workspace.path().join("other.toml");
    std::fs::write(&other, format!("listen = '127.0.0.1:{port}'\nregistration = 'closed'"))
        .unwrap();
    let checks = doctor(&workspace, &["--config", "other.toml"]);
    let found = checks.of("server").join(" ");
    let expected = format!(
        "the server reads {}, this command {}: 2 settings differ",
        workspace.path().join("belfry.toml").display(),
        other.display()
    );
    assert!(
        found.contains(&expected) && found.contains("(metrics_listen, registration)"),
        "{found}"
    );
}

/// nginx in front of a server, with these directives; `None` if it is not installed.
fn nginx(directives: &str, upstream: u16) -> Option<(Proxy, u16)> {
    let port = free_port().unwrap();
    let configuration = format!(
        "events {{}}\nhttp {{ access_log off; server {{ listen 127.0.0.1:{port}; location / {{\n\
         proxy_pass http://127.0.0.1:{upstream};\n{directives}\n}} }} }}"
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

#[test]
fn a_proxy_that_hides_its_clients_is_reported() {
    const XFF: &str = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n";
    const ALONE: &str = "proxy_set_header X-Forwarded-For $remote_addr;\n\
                         proxy_set_header Forwarded '';";
    let trusted = "trusted_proxies = ['127.0.0.1']";
    for (directives, settings, status, text) in [
        (ALONE, "", "failed", "come from 127.0.0.1, which is not in trusted_proxies"),
        (ALONE, "", "failed", "trusted_proxies = [\"127.0.0.1\"]"),
        (ALONE, trusted, "ok", "127.0.0.1 names the client 127.0.0.1 in x-forwarded-for"),
        (
            XFF,
            trusted,
            "warning",
            "the proxy passes forwarded on as clients send it trusted_proxy_header = \
             \"x-forwarded-for\"",
        ),
        (
            XFF,
            "trusted_proxies = ['127.0.0.1']\ntrusted_proxy_header = 'X-Forwarded-For'",
            "ok",
            "127.0.0.1 appends the client, here 127.0.0.1, to x-forwarded-for. 127.0.0.1 is a \
             trusted proxy itself",
        ),
        (
            "proxy_set_header X-Forwarded-For '$remote_addr, $http_x_forwarded_for';\n\
             proxy_set_header Forwarded '';",
            trusted,
            "failed",
            "the proxy passes x-forwarded-for and forwarded on as clients send it",
        ),
        (
            ALONE,
            "trusted_proxies = ['0.0.0.0/0']",
            "failed",
            "trusted_proxies contains addresses of clients",
        ),
        (
            XFF,
            "trusted_proxies = ['127.0.0.1']\ntrusted_proxy_header = 'x-real-ip'",
            "failed",
            "the proxy passes x-real-ip on as clients send it, so they can forge an address \
             trusted_proxy_header = \"x-forwarded-for\"",
        ),
        (
            "proxy_set_header X-Forwarded-For '';\nproxy_set_header Forwarded '';",
            trusted,
            "failed",
            "the proxy does not set x-forwarded-for and forwarded",
        ),
        ("", trusted, "failed", "let it set the header; nginx: proxy_set_header X-Forwarded-For"),
    ] {
        let (workspace, upstream) = with_port("");
        let Some((_proxy, port)) = nginx(directives, upstream) else { return };
        workspace.configure(&format!(
            "listen = '127.0.0.1:{upstream}'\nbase_url = 'http://127.0.0.1:{port}'\n{settings}"
        ));
        let _server = start(&workspace);
        let checks = doctor(&workspace, &[]);
        checks.assert("base_url", "ok", "leads to this server");
        checks.assert("proxy", status, text);
        assert_eq!(checks.exit_code, Some(i32::from(status == "failed")), "{:?}", checks.results);
    }
}

#[test]
fn a_proxy_that_the_server_does_not_trust_yet_is_reported() {
    let (workspace, upstream) = with_port("");
    let directives = "proxy_set_header X-Forwarded-For $remote_addr;";
    let Some((_proxy, port)) = nginx(directives, upstream) else { return };
    let settings =
        format!("listen = '127.0.0.1:{upstream}'\nbase_url = 'http://127.0.0.1:{port}'\n");
    workspace.configure(&settings);
    let server = start(&workspace);
    let trusted = "trusted_proxies = ['127.0.0.1']\ntrusted_proxy_header = 'x-forwarded-for'";
    workspace.configure(&(settings + trusted));
    let checks = doctor(&workspace, &[]);
    let text = "come from 127.0.0.1, which the server does not trust yet";
    checks.assert_failed("proxy", text);
    checks.assert_failed("proxy", "reload the server (SIGHUP");

    reload(&server, "trusted_proxies: 127.0.0.1");
    let checks = doctor(&workspace, &[]);
    checks.assert("proxy", "ok", "127.0.0.1 names the client 127.0.0.1 in x-forwarded-for");
    assert_eq!(checks.exit_code, Some(0), "{:?}", checks.results);
}
