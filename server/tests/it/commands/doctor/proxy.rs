//! The proxy check.

use super::doctor;
use super::fixture::{reload, start, start_nginx, workspace_with_port};

#[test]
fn a_proxy_that_hides_its_clients_is_reported() {
    const XFF: &str = "proxy_set_header X-Forwarded-For $remote_addr;";
    let trusted = "trusted_proxies = ['127.0.0.1']";
    for (directives, settings, status, text) in [
        (
            XFF,
            "",
            "failed",
            "come from 127.0.0.1, which is not in trusted_proxies: all its clients share one rate \
             limit trusted_proxies = [\"127.0.0.1\"]",
        ),
        (XFF, trusted, "ok", "127.0.0.1 passes the client address in x-forwarded-for"),
        (
            "proxy_set_header X-Real-IP $remote_addr;",
            "trusted_proxies = ['127.0.0.1']\ntrusted_proxy_header = 'x-real-ip'",
            "ok",
            "127.0.0.1 passes the client address in x-real-ip",
        ),
        (
            "proxy_set_header X-Real-IP $remote_addr;",
            trusted,
            "failed",
            "the proxy does not set x-forwarded-for or forwarded: all its clients share one rate \
             limit trusted_proxy_header = \"x-real-ip\", which the proxy sets",
        ),
        (
            XFF,
            "trusted_proxies = ['127.0.0.1']\ntrusted_proxy_header = 'x-real-ip'",
            "failed",
            "does not set x-real-ip: all its clients share one rate limit trusted_proxy_header = \
             \"x-forwarded-for\"",
        ),
        ("", trusted, "failed", "make it set the header; nginx: proxy_set_header X-Forwarded-For"),
    ] {
        let (workspace, upstream) = workspace_with_port("");
        let Some((_proxy, port)) = start_nginx(directives, upstream) else { return };
        workspace.configure(&format!(
            "listen = '127.0.0.1:{upstream}'\nbase_url = 'http://127.0.0.1:{port}'\n{settings}"
        ));
        let _server = start(&workspace);
        let checks = doctor(&workspace, &[]);
        checks.assert("base_url", "ok", "reaches this server");
        checks.assert("proxy", status, text);
        assert_eq!(checks.exit_code, Some(i32::from(status == "failed")), "{:?}", checks.results);
    }
}

#[test]
fn a_proxy_that_the_server_does_not_trust_yet_is_reported() {
    let (workspace, upstream) = workspace_with_port("");
    let directives = "proxy_set_header X-Forwarded-For $remote_addr;";
    let Some((_proxy, port)) = start_nginx(directives, upstream) else { return };
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
    checks.assert("proxy", "ok", "127.0.0.1 passes the client address in x-forwarded-for");
    assert_eq!(checks.exit_code, Some(0), "{:?}", checks.results);
}
