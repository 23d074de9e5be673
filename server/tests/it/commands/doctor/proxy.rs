//! The proxy check.

use super::fixture::{reload_server, start_nginx, start_server, workspace_with_port};
use super::run_doctor;

#[test]
fn a_proxy_that_hides_its_clients_is_reported() {
    const FORWARDED_FOR: &str = "proxy_set_header X-Forwarded-For $remote_addr;";
    let trusted_settings = "trusted_proxies = ['127.0.0.1']";
    for (directives, settings, status, expected_text) in [
        (
            FORWARDED_FOR,
            "",
            "failed",
            "come from 127.0.0.1, which is not in trusted_proxies: all its clients share one rate \
             limit trusted_proxies = [\"127.0.0.1\"] and trusted_proxy_header = \"x-forwarded-for\"",
        ),
        (
            FORWARDED_FOR,
            trusted_settings,
            "ok",
            "127.0.0.1 passes the client address in x-forwarded-for",
        ),
        (
            "proxy_set_header X-Real-IP $remote_addr;",
            "trusted_proxies = ['127.0.0.1']\ntrusted_proxy_header = 'x-real-ip'",
            "ok",
            "127.0.0.1 passes the client address in x-real-ip",
        ),
        (
            "proxy_set_header X-Real-IP $remote_addr;",
            trusted_settings,
            "failed",
            "the proxy does not set x-forwarded-for or forwarded: all its clients share one rate \
             limit trusted_proxy_header = \"x-real-ip\", which the proxy sets",
        ),
        (
            FORWARDED_FOR,
            "trusted_proxies = ['127.0.0.1']\ntrusted_proxy_header = 'x-real-ip'",
            "failed",
            "does not set x-real-ip: all its clients share one rate limit trusted_proxy_header = \
             \"x-forwarded-for\"",
        ),
        (
            "",
            trusted_settings,
            "failed",
            "make it set the header; nginx: proxy_set_header X-Forwarded-For",
        ),
    ] {
        let (workspace, upstream_port) = workspace_with_port("");
        let Some((_proxy, port)) = start_nginx(directives, upstream_port) else { return };
        workspace.configure(&format!(
            "listen = '127.0.0.1:{upstream_port}'\nbase_url = 'http://127.0.0.1:{port}'\n{settings}"
        ));
        let _server = start_server(&workspace);
        let report = run_doctor(&workspace, &[]);
        report.assert_status("base_url", "ok", "reaches this server");
        report.assert_status("proxy", status, expected_text);
        assert_eq!(report.exit_code, Some(i32::from(status == "failed")), "{:?}", report.results);
    }
}

#[test]
fn a_proxy_that_the_server_does_not_trust_yet_is_reported() {
    let (workspace, upstream_port) = workspace_with_port("");
    let directives = "proxy_set_header X-Forwarded-For $remote_addr;";
    let Some((_proxy, port)) = start_nginx(directives, upstream_port) else { return };
    let settings =
        format!("listen = '127.0.0.1:{upstream_port}'\nbase_url = 'http://127.0.0.1:{port}'\n");
    workspace.configure(&settings);
    let server = start_server(&workspace);
    let trusted_settings =
        "trusted_proxies = ['127.0.0.1']\ntrusted_proxy_header = 'x-forwarded-for'";
    workspace.configure(&(settings + trusted_settings));
    let report = run_doctor(&workspace, &[]);
    let expected_text = "come from 127.0.0.1, which the server does not trust yet";
    report.assert_failed("proxy", expected_text);
    report.assert_failed("proxy", "reload the server (SIGHUP");

    reload_server(&server, "SIGHUP: setting changed");
    let report = run_doctor(&workspace, &[]);
    report.assert_status("proxy", "ok", "127.0.0.1 passes the client address in x-forwarded-for");
    assert_eq!(report.exit_code, Some(0), "{:?}", report.results);
}
