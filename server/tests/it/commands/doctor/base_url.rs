//! The check of the base URL.

use test_engines::free_port;

use super::certificate::{TLS, write_certificate};
use super::doctor;
use super::fixture::{NOT_FOUND, respond_with, start, with_port};
use crate::commands::Workspace;

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
