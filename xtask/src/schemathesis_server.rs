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

[push]
contact = \"mailto:ops@ring.example\"

[[application_services]]
id = \"bridge\"
sender_localpart = \"_bridge\"
as_token = \"a-token-of-an-application-service\"
namespaces.users = [{ regex = \"@(_bridge|alice).*\", exclusive = false }]
";

const SERVICE_TOKEN: &str = "a-token-of-an-application-service";
const SCOPES: &str = "read write push profile";

pub(crate) struct SchemathesisServer {
    server: Server,
    dir: TempDir,
    pub user_token: String,
    /// A second token of the user, which the log-out endpoint revokes.
    pub log_out_token: String,
    pub admin_token: String,
    pub app_token: String,
    client_id: String,
    client_secret: String,
}

impl SchemathesisServer {
    pub(crate) fn start(program: &Path) -> io::Result<Self> {
        let dir = tempfile::tempdir()?;
        fs::write(dir.path().join("belfry.toml"), SETTINGS)?;
        let run_belfry =
            |arguments: &[&str]| run_successfully(belfry_command(program, dir.path(), arguments));
        run_belfry(&["account", "add", "alice"])?;
        run_belfry(&["account", "add", "root", "--admin"])?;
        let issue_token =
            |name, scopes: &str| run_belfry(&["token", "issue", name, "--scopes", scopes]);
        let user_token = issue_token("alice", SCOPES)?;
        let log_out_token = issue_token("alice", SCOPES)?;
        let admin_token = issue_token("root", &format!("{SCOPES} admin:read admin:write"))?;
        let redirect_uri = "https://app.example/cb";
        let output = run_belfry(&[
            "app",
            "add",
            "App",
            "--redirect-uri",
            redirect_uri,
            "--scopes",
            SCOPES,
            "--json",
        ])?;
        let app: Value = serde_json::from_str(&output)?;
        let field = |name: &str| app[name].as_str().unwrap_or_default().to_owned();
        let serve = ["serve", "--listen", "127.0.0.1:0", "--limits", "off"];
        let mut test_server = Self {
            server: Server::start(belfry_command(program, dir.path(), &serve), dir.path())?,
            dir,
            user_token,
            log_out_token,
            admin_token,
            app_token: String::new(),
            client_id: field("client_id"),
            client_secret: field("client_secret"),
        };
        test_server.app_token = test_server.request_app_token()?;
        Ok(test_server)
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
        let id = &self.client_id;
        let secret = &self.client_secret;
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

fn belfry_command(program: &Path, dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(dir);
    cargo::remove_inherited_variables(&mut command);
    command
}

/// Runs a command that must succeed, and returns its output.
fn run_successfully(mut command: Command) -> io::Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{command:?}: {error}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
