//! The server that schemathesis tests, with an account, an admin, an app and an application service.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use serde_json::Value;
use tempfile::TempDir;
use test_engines::Server;

use crate::cargo;

/// Registration is open, so that its endpoints can be called. An account may have more rules than by
/// default, because most generated rules are never deleted.
const SETTINGS: &str = "\
registration = \"open\"

[rules]
max_rules = 5000

[[application_services]]
id = \"bridge\"
sender_localpart = \"_bridge\"
as_token = \"a-token-of-an-application-service\"
namespaces.users = [{ regex = \"@(_bridge|alice).*\", exclusive = false }]
";

const SERVICE_TOKEN: &str = "a-token-of-an-application-service";
const SCOPES: &str = "read write push profile";

/// A running server and the credentials for it.
pub(crate) struct TestServer {
    server: Server,
    dir: TempDir,
    /// A user's token.
    pub user: String,
    /// A second token of the user, which the log-out endpoint revokes.
    pub log_out: String,
    /// An admin's token.
    pub admin: String,
    /// An app token.
    pub app: String,
    client_id: String,
    client_secret: String,
}

impl TestServer {
    pub(crate) fn start(program: &Path) -> io::Result<Self> {
        let dir = tempfile::tempdir()?;
        fs::write(dir.path().join("belfry.toml"), SETTINGS)?;
        let run = |arguments: &[&str]| run(command(program, dir.path(), arguments));
        run(&["account", "add", "alice"])?;
        run(&["account", "add", "root", "--admin"])?;
        let issue = |name, scopes: &str| run(&["token", "issue", name, "--scopes", scopes]);
        let (user, log_out) = (issue("alice", SCOPES)?, issue("alice", SCOPES)?);
        let admin = issue("root", &format!("{SCOPES} admin:read admin:write"))?;
        let uri = "https://app.example/cb";
        let output =
            run(&["app", "add", "App", "--redirect-uri", uri, "--scopes", SCOPES, "--json"])?;
        let app: Value = serde_json::from_str(&output)?;
        let text = |name: &str| app[name].as_str().unwrap_or_default().to_owned();
        let serve = ["serve", "--listen", "127.0.0.1:0", "--limits", "off"];
        let mut this = Self {
            server: Server::start(command(program, dir.path(), &serve), dir.path())?,
            dir,
            user,
            log_out,
            admin,
            app: String::new(),
            client_id: text("client_id"),
            client_secret: text("client_secret"),
        };
        this.app = this.request_app_token()?;
        Ok(this)
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }

    /// Sets the variables that `schemathesis.toml` refers to.
    pub(crate) fn set_credentials(&self, command: &mut Command, token: &str) {
        command
            .env("BELFRY_TOKEN", token)
            .env("BELFRY_SERVICE_TOKEN", SERVICE_TOKEN)
            .env("BELFRY_CLIENT_ID", &self.client_id)
            .env("BELFRY_CLIENT_SECRET", &self.client_secret);
    }

    fn request_app_token(&self) -> io::Result<String> {
        let (id, secret) = (&self.client_id, &self.client_secret);
        let body = format!(
            "grant_type=client_credentials&scope=read+write&client_id={id}&client_secret={secret}"
        );
        let request = minreq::post(self.url("/oauth/token"))
            .with_header("content-type", "application/x-www-form-urlencoded")
            .with_body(body);
        let response = request.send().map_err(io::Error::other)?;
        let body: Value = serde_json::from_slice(response.as_bytes())?;
        let token = body["access_token"].as_str().map(str::to_owned);
        token.ok_or_else(|| io::Error::other(format!("no token: {body}")))
    }
}

fn command(program: &Path, dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(dir);
    cargo::remove_inherited_variables(&mut command);
    command
}

/// Runs a command that must succeed, and returns its output.
fn run(mut command: Command) -> io::Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{command:?}: {error}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
