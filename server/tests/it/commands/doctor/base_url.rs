//! The base URL check.

use test_engines::{EngineError, Proxy, free_port};

use super::certificate::{TLS, write_certificate};
use super::doctor;
use super::fixture::{IMPOSTOR, NOT_FOUND, replay, respond_with, start, workspace_with_port};
use crate::commands::Workspace;
use crate::support::report_skipped;

#[test]
fn a_base_url_that_leads_elsewhere_is_reported() {
    let (workspace, _) = workspace_with_port("");
    let _server = start(&workspace);
    let checks = doctor(&workspace, &["--base-url", "https://nowhere.invalid"]);
    checks.assert_failed("base_url", "nowhere.invalid cannot be resolved");

    let nothing = format!("http://127.0.0.1:{}", free_port().unwrap());
    let checks = doctor(&workspace, &["--base-url", &nothing]);
    checks.assert_failed("base_url", "connection refused: nothing listens on 127.0.0.1 port");

    let other = format!("http://127.0.0.1:{}", respond_with(NOT_FOUND));
    let checks = doctor(&workspace, &["--base-url", &other]);
    let text = "leads to another server: 404 Not Found, nothing make the proxy forward to";
    checks.assert_failed("base_url", text);
    checks.assert("proxy", "skipped", "");

    let (elsewhere, port) =
        workspace_with_port("base_url = 'https://bells.example'\nregistration = 'closed'");
    let _elsewhere = start(&elsewhere);
    let url = format!("http://127.0.0.1:{port}");
    let checks = doctor(&workspace, &["--base-url", &url]);
    checks.assert_failed("base_url", "leads to a server whose issuer is https://bells.example");

    let (node, port) = workspace_with_port("");
    let _node = start(&node);
    let url = format!("http://127.0.0.1:{port}");
    let checks = doctor(&workspace, &["--base-url", &url]);
    checks.assert("base_url", "warning", "leads to another process, whose issuer is this base_url");
    assert_eq!(checks.exit_code, Some(0));
}

#[test]
fn an_impostor_at_the_base_url_is_not_mistaken_for_this_server() {
    let (workspace, port) = workspace_with_port("");
    let _server = start(&workspace);
    let impostor = format!("http://127.0.0.1:{}", respond_with(IMPOSTOR));
    let checks = doctor(&workspace, &["--base-url", &impostor]);
    checks.assert_failed("base_url", "leads to another server: 200 OK");

    let replay_url = format!("http://127.0.0.1:{}", replay(port));
    let checks = doctor(&workspace, &["--base-url", &replay_url]);
    checks.assert("base_url", "ok", "reaches this server");
    let checks = doctor(&workspace, &["--base-url", &replay_url]);
    checks.assert_failed("base_url", "leads to another server: 200 OK");
    checks.assert("proxy", "skipped", "no request through base_url reached this server");
}

/// A load balancer sends every other request to the other node.
#[test]
fn a_base_url_that_leads_to_several_nodes_is_accepted_on_each() {
    let port = free_port().unwrap();
    let settings = format!("base_url = 'http://127.0.0.1:{port}'\ntrusted_proxies = ['127.0.0.1']");
    let [(one, first), (other, second)] =
        [workspace_with_port(&settings), workspace_with_port(&settings)];
    let configuration = format!(
        "events {{}}\nhttp {{ access_log off;\n\
         upstream nodes {{ server 127.0.0.1:{first}; server 127.0.0.1:{second}; }}\n\
         server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://nodes;\n\
         proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;\n\
         proxy_set_header Forwarded \"\";\n\
         }} }} }}"
    );
    let _nodes = [start(&one), start(&other)];
    let _proxy = match Proxy::nginx(port, &configuration) {
        Err(error @ EngineError::Missing(_)) => {
            return report_skipped("a proxy", &error.to_string());
        }
        proxy => proxy.unwrap(),
    };
    for node in [&one, &other, &one] {
        let checks = doctor(node, &[]);
        checks.assert("base_url", "ok", "reaches this server");
        checks.assert("proxy", "ok", "");
    }
}

/// The base URL has a different scheme than the server.
#[test]
fn a_wrong_scheme_is_reported_with_the_right_base_url() {
    let workspace = Workspace::sqlite();
    let port = free_port().unwrap();
    workspace.configure(&TLS.replace(":1'", &format!(":{port}'")));
    write_certificate(workspace.path(), -30, 90);
    let _server = start(&workspace);
    let http = format!("http://localhost:{port}");
    let checks = doctor(&workspace, &["--base-url", &http]);
    let results = checks.lines("base_url").join(" ");
    let expected = format!("write base_url = \"https://localhost:{port}\"");
    assert!(
        results.contains("does not respond with HTTP") && results.contains(&expected),
        "{results}"
    );

    let (plain, port) = workspace_with_port("");
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
    let (workspace, _) = workspace_with_port("");
    let _server = start(&workspace);
    let other = format!("http://127.0.0.1:{}", respond_with(HTTPS));
    let checks = doctor(&workspace, &["--base-url", &other]);
    let text =
        "redirects to https://ring.example/healthz write base_url = \"https://ring.example\"";
    checks.assert_failed("base_url", text);
    assert!(!checks.lines("base_url").join(" ").contains('<'));
    let other = format!("http://127.0.0.1:{}", respond_with(SIGN_IN));
    let checks = doctor(&workspace, &["--base-url", &other]);
    checks.assert_failed("base_url", "/login make the proxy forward every path");
}
