//! The check of the proxy.

use super::doctor;
use super::fixture::{nginx, reload, start, with_port};

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
