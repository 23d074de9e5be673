//! The base URL check.

use test_engines::{EngineError, Proxy, free_port};

use super::certificate::{TLS_SETTINGS, write_certificate};
use super::fixture::{
    HEALTHY_RESPONSE, NOT_FOUND_RESPONSE, start_responder, start_server, workspace_with_port,
};
use super::run_doctor;
use crate::commands::Workspace;
use crate::support::report_skipped;

#[test]
fn a_base_url_that_does_not_reach_this_server_is_reported() {
    let (workspace, _) = workspace_with_port("");
    let _server = start_server(&workspace);
    let report = run_doctor(&workspace, &["--base-url", "https://nowhere.invalid"]);
    report.assert_failed("base_url", "nowhere.invalid cannot be resolved");

    let unused_url = format!("http://127.0.0.1:{}", free_port().unwrap());
    let report = run_doctor(&workspace, &["--base-url", &unused_url]);
    report.assert_failed("base_url", "connection refused: nothing listens on 127.0.0.1 port");

    let other_url = format!("http://127.0.0.1:{}", start_responder(NOT_FOUND_RESPONSE));
    let report = run_doctor(&workspace, &["--base-url", &other_url]);
    let expected_text =
        "reaches a different server: 404 Not Found, nothing make the proxy forward to";
    report.assert_failed("base_url", expected_text);
    report.assert_status("proxy", "skipped", "no request through base_url reached this server");
    let other_url = format!("http://127.0.0.1:{}", start_responder(HEALTHY_RESPONSE));
    let report = run_doctor(&workspace, &["--base-url", &other_url]);
    report.assert_failed("base_url", "reaches a different server: 200 OK");

    let (other_workspace, port) =
        workspace_with_port("base_url = 'https://bells.example'\nregistration = 'closed'");
    let _other_server = start_server(&other_workspace);
    let url = format!("http://127.0.0.1:{port}");
    let report = run_doctor(&workspace, &["--base-url", &url]);
    let expected_text =
        "reaches a different server: a belfry with the base URL https://bells.example";
    report.assert_failed("base_url", expected_text);

    let (node_workspace, port) = workspace_with_port("");
    let _node_server = start_server(&node_workspace);
    let url = format!("http://127.0.0.1:{port}");
    let report = run_doctor(&workspace, &["--base-url", &url]);
    report.assert_status(
        "base_url",
        "warning",
        "reaches a different process, whose issuer is this base_url",
    );
    assert_eq!(report.exit_code, Some(0));
}

/// The load balancer alternates between the nodes.
#[test]
fn a_base_url_shared_by_several_nodes_is_accepted_on_each() {
    let port = free_port().unwrap();
    let settings = format!("base_url = 'http://127.0.0.1:{port}'\ntrusted_proxies = ['127.0.0.1']");
    let [(first_node, first_port), (second_node, second_port)] =
        [workspace_with_port(&settings), workspace_with_port(&settings)];
    let configuration = format!(
        "events {{}}\nhttp {{ access_log off;\n\
         upstream nodes {{ server 127.0.0.1:{first_port}; server 127.0.0.1:{second_port}; }}\n\
         server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://nodes;\n\
         proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;\n\
         proxy_set_header Forwarded \"\";\n\
         }} }} }}"
    );
    let _nodes = [start_server(&first_node), start_server(&second_node)];
    let _proxy = match Proxy::nginx(port, &configuration) {
        Err(error @ EngineError::Missing(_)) => {
            return report_skipped("a proxy", &error.to_string());
        }
        proxy => proxy.unwrap(),
    };
    for node in [&first_node, &second_node, &first_node] {
        let report = run_doctor(node, &[]);
        report.assert_status("base_url", "ok", "reaches this server");
        report.assert_status("proxy", "ok", "");
    }
}

#[test]
fn a_wrong_scheme_is_reported() {
    let workspace = Workspace::sqlite();
    let port = free_port().unwrap();
    workspace.configure(&TLS_SETTINGS.replace(":1'", &format!(":{port}'")));
    write_certificate(workspace.path(), -30, 90);
    let _server = start_server(&workspace);
    let http_url = format!("http://localhost:{port}");
    let report = run_doctor(&workspace, &["--base-url", &http_url]);
    let results = report.lines("base_url").join(" ");
    assert!(results.contains("does not respond with HTTP; probably it serves HTTPS"), "{results}");

    let (plain_workspace, port) = workspace_with_port("");
    let _plain_server = start_server(&plain_workspace);
    let report =
        run_doctor(&plain_workspace, &["--base-url", &format!("https://127.0.0.1:{port}")]);
    let expected_text = "does not respond with TLS; probably it serves plain HTTP";
    report.assert_failed("base_url", expected_text);
}

#[test]
fn a_redirect_is_reported_with_the_right_base_url() {
    const HTTPS_REDIRECT: &str = "HTTP/1.1 301 Moved Permanently\r\n\
                                  Location: https://ring.example/healthz\r\n\
                                  Content-Length: 6\r\nConnection: close\r\n\r\n<html>";
    const SIGN_IN_REDIRECT: &str = "HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\
                                    Connection: close\r\n\r\n";
    let (workspace, _) = workspace_with_port("");
    let _server = start_server(&workspace);
    let other_url = format!("http://127.0.0.1:{}", start_responder(HTTPS_REDIRECT));
    let report = run_doctor(&workspace, &["--base-url", &other_url]);
    let expected_text =
        "redirects to https://ring.example/healthz write base_url = \"https://ring.example\"";
    report.assert_failed("base_url", expected_text);
    assert!(!report.lines("base_url").join(" ").contains('<'));
    let other_url = format!("http://127.0.0.1:{}", start_responder(SIGN_IN_REDIRECT));
    let report = run_doctor(&workspace, &["--base-url", &other_url]);
    report.assert_failed("base_url", "/login make the proxy forward every path");
}
