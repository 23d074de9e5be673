//! nginx and Caddy in front of Belfry over HTTPS, configured as in docs/install.md. curl sends the
//! requests, with a different source address for each client. One test uses a minimal nginx
//! configuration instead, over HTTP.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use test_engines::{EngineError, Proxy, free_port, programs};

use crate::support::files::write_certificate;
use crate::support::{ServerProcess, report_skipped};

const GUIDE: &str = include_str!("../../../docs/install.md");
const NGINX_EXAMPLE: &str = include_str!("../../../docs/examples/nginx.conf");
const CADDY_EXAMPLE: &str = include_str!("../../../docs/examples/Caddyfile");

struct Site {
    port: u16,
    certificate: String,
    _belfry: ServerProcess,
    _proxy: Proxy,
    _dir: TempDir,
}

/// A response, parsed from curl's output.
struct Response {
    status: u16,
    headers: String,
    body: String,
}

impl Site {
    /// Starts Belfry and the proxy. `configure` returns the proxy's configuration for its port,
    /// Belfry's address and the directory with `certificate.pem` and `key.pem`. Returns `None` if
    /// curl or the proxy is not installed.
    fn start(
        configure: impl FnOnce(u16, &str, &Path) -> String,
        start_proxy: impl FnOnce(u16, &str) -> Result<Proxy, EngineError>,
    ) -> Option<Self> {
        if programs::find(&["curl"]).is_none() {
            report_skipped("curl", "it is not installed");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        write_certificate(dir.path(), "ring.example");
        let certificate = dir.path().join("certificate.pem");

        let (_, section) = GUIDE.split_once("\n## Behind a proxy\n").unwrap();
        let settings = section.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let test_settings = "[limits.rows]\nip = { requests = 3 }\n";
        fs::write(dir.path().join("belfry.toml"), format!("{settings}{test_settings}")).unwrap();
        let belfry = ServerProcess::start(dir.path(), &[]);

        let port = free_port().unwrap();
        let address = belfry.url.strip_prefix("http://").unwrap();
        let proxy = match start_proxy(port, &configure(port, address, dir.path())) {
            Ok(proxy) => proxy,
            Err(error @ EngineError::Missing(_)) => {
                report_skipped("a proxy", &error.to_string());
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let certificate = certificate.display().to_string();
        Some(Self { port, certificate, _belfry: belfry, _proxy: proxy, _dir: dir })
    }

    fn nginx() -> Option<Self> {
        let configure = |port, belfry: &str, dir: &Path| {
            let dir = dir.display();
            let certificates = "/etc/letsencrypt/live/ring.example";
            let site = NGINX_EXAMPLE
                .replace("127.0.0.1:8080", belfry)
                .replace("listen 443 ssl;", &format!("listen 127.0.0.1:{port} ssl;"))
                .replace("listen 80;", &format!("listen 127.0.0.1:{};", free_port().unwrap()))
                .replace(
                    &format!("{certificates}/fullchain.pem"),
                    &format!("{dir}/certificate.pem"),
                )
                .replace(&format!("{certificates}/privkey.pem"), &format!("{dir}/key.pem"));
            let lines = site.lines().filter(|line| !line.contains("listen [::]"));
            let ipv4_lines: Vec<&str> = lines.collect();
            let directives = "access_log off; client_body_temp_path body; proxy_temp_path proxy;";
            format!("events {{}} http {{ {directives}\n{} }}", ipv4_lines.join("\n"))
        };
        Self::start(configure, Proxy::nginx)
    }

    fn caddy() -> Option<Self> {
        let configure = |port, belfry: &str, dir: &Path| {
            let dir = dir.display();
            let tls = format!("tls {dir}/certificate.pem {dir}/key.pem");
            let example = CADDY_EXAMPLE
                .replace("127.0.0.1:8080", belfry)
                .replace("ring.example {", &format!("ring.example:{port} {{\n{tls}\n"));
            format!("{{\nadmin off\nauto_https disable_redirects\n}}\n{example}")
        };
        Self::start(configure, Proxy::caddy)
    }

    #[track_caller]
    fn curl(&self, client_address: &str, path: &str, arguments: &[&str]) -> Response {
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--include",
            "--http1.1",
            "--interface",
            client_address,
        ]);
        curl.args(["--resolve", &format!("ring.example:{}:127.0.0.1", self.port)]);
        curl.args(["--cacert", &self.certificate]).args(arguments);
        curl.arg(format!("https://ring.example:{}{path}", self.port));
        let output = curl.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let response = String::from_utf8(output.stdout).unwrap();
        let (headers, body) = response.split_once("\r\n\r\n").unwrap();
        let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
        Response { status, headers: headers.to_lowercase(), body: body.to_owned() }
    }

    /// Asserts the behaviour that is required behind every proxy.
    fn verify_forwarding(&self) {
        // Links begin with the base URL, whatever the proxy forwards.
        let response = self.curl("127.0.0.2", "/.well-known/oauth-authorization-server", &[]);
        let metadata: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!(metadata["token_endpoint"], "https://ring.example/oauth/token");

        // Each client has its own limits, which its headers do not change.
        let forged_address = ["-H", "X-Forwarded-For: 192.0.2.7", "-H", "Forwarded: for=192.0.2.8"];
        for remaining in [1, 0] {
            let response = self.curl("127.0.0.2", "/api/v1/instance", &forged_address);
            assert_eq!(response.status, 200);
            let expected = format!("x-ratelimit-remaining: {remaining}\r\n");
            assert!(response.headers.contains(&expected), "{}", response.headers);
        }
        assert_eq!(self.curl("127.0.0.2", "/api/v1/instance", &forged_address).status, 429);
        assert_eq!(self.curl("127.0.0.3", "/api/v1/instance", &[]).status, 200);

        // The proxy's client on this machine is an operator.
        assert_eq!(self.curl("127.0.0.9", "/metrics", &[]).status, 200);

        // The response has a request id, which the client cannot choose.
        let registration =
            ["-d", "client_name=a&redirect_uris=https://app.example/", "-H", "X-Request-Id: mine"];
        let response = self.curl("127.0.0.4", "/api/v1/apps", &registration);
        assert_eq!(response.status, 200, "{}", response.body);
        assert!(response.headers.contains("\r\nx-request-id: "), "{}", response.headers);
        assert!(!response.headers.contains("x-request-id: mine"), "{}", response.headers);
    }
}

#[test]
fn nginx_forwards_the_client_address() {
    if let Some(site) = Site::nginx() {
        site.verify_forwarding();
    }
}

#[test]
fn caddy_forwards_the_client_address() {
    if let Some(site) = Site::caddy() {
        site.verify_forwarding();
    }
}

/// A minimal nginx configuration forwards neither the client's address nor the request's host.
#[tokio::test]
async fn behind_nginx_with_a_minimal_configuration_nobody_is_an_operator() {
    let dir = tempfile::tempdir().unwrap();
    let belfry = ServerProcess::start(dir.path(), &[]);
    let port = free_port().unwrap();
    let upstream = &belfry.url;
    let configuration = format!(
        "events {{}} http {{ access_log off; server {{ listen 127.0.0.1:{port};\n\
         location / {{ proxy_pass {upstream}; }} }} }}"
    );
    let _proxy = match Proxy::nginx(port, &configuration) {
        Err(error @ EngineError::Missing(_)) => {
            return report_skipped("a proxy", &error.to_string());
        }
        proxy => proxy.unwrap(),
    };
    for (origin, status, readiness) in [
        (upstream.clone(), 200, r#"{"database":"ok","status":"ready"}"#),
        (format!("http://127.0.0.1:{port}"), 404, r#"{"status":"ready"}"#),
    ] {
        let response = reqwest::get(format!("{origin}/metrics")).await.unwrap();
        assert_eq!(response.status(), status, "{origin}");
        let response = reqwest::get(format!("{origin}/readyz")).await.unwrap();
        assert_eq!(response.text().await.unwrap(), readiness, "{origin}");
    }
}
