//! What a command changes, a server that runs beside it knows.

use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::json;

use super::Desk;
use crate::support::Process;
use crate::support::process::belfry;

/// How long a busy machine may take for what is promised within a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// The ways to say which data are meant.
#[derive(Clone, Copy, Debug)]
enum Way {
    FlagBefore,
    FlagAfter,
    Variable,
    File,
}

/// A desk with a server, whose commands name their data in every way there is.
struct Beside {
    desk: Desk,
    server: Process,
    client: Client,
}

impl Desk {
    /// The flag and the value that name the data, which are not where they would be looked for.
    fn place(&self) -> [&str; 2] {
        match self.flags()[..] {
            [flag, url] => [flag, url],
            _ => ["--data", "elsewhere"],
        }
    }
}

impl Beside {
    fn start(desk: Desk) -> Self {
        let server = Process::start(desk.path(), &desk.place());
        Self { desk, server, client: Client::new() }
    }

    /// Runs a command that must succeed, and gives what it printed.
    #[track_caller]
    fn run(&self, way: Way, arguments: &[&str]) -> String {
        let output = self.command(way, arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{way:?} {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn command(&self, way: Way, arguments: &[&str]) -> Command {
        let place = self.desk.place();
        let name = place[0].trim_start_matches('-');
        let with = |arguments: &[&str]| belfry(self.desk.path(), arguments);
        match way {
            Way::FlagBefore => with(&[&place, arguments].concat()),
            Way::FlagAfter => with(&[arguments, &place].concat()),
            Way::Variable => {
                let mut command = with(arguments);
                command.env(format!("BELFRY_{}", name.to_uppercase()), place[1]);
                command
            }
            Way::File => {
                let text = format!("{name} = '{}'", place[1]);
                std::fs::write(self.desk.path().join("place.toml"), text).unwrap();
                let mut command = with(arguments);
                command.env("BELFRY_CONFIG", "place.toml");
                command
            }
        }
    }

    async fn status(&self, token: &str) -> u16 {
        let url = format!("{}/_matrix/client/v3/pushrules/", self.server.url);
        self.client.get(url).bearer_auth(token).send().await.unwrap().status().as_u16()
    }

    async fn until_status(&self, token: &str, wanted: u16) {
        let began = Instant::now();
        while self.status(token).await != wanted {
            assert!(began.elapsed() < PATIENCE, "the server does not know: {wanted}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn sign_in(&self, password: &str) -> u16 {
        let url = format!("{}/_matrix/client/v3/login", self.server.url);
        let body = json!({ "type": "m.login.password", "user": "alice", "password": password });
        self.client.post(url).json(&body).send().await.unwrap().status().as_u16()
    }
}

async fn a_server_knows_what_a_command_did(desk: Desk) {
    let beside = Beside::start(desk);
    let password = |printed: &str| {
        let found = printed.lines().find_map(|line| line.strip_prefix("password: "));
        found.unwrap_or_else(|| panic!("{printed}")).to_owned()
    };
    let old = password(&beside.run(Way::Variable, &["account", "add", "alice"]));
    let issue = ["token", "issue", "alice", "--scopes", "push"];
    let token = beside.run(Way::File, &issue).trim_end().to_owned();
    let other = beside.run(Way::FlagBefore, &issue).trim_end().to_owned();
    for token in [&token, &other] {
        assert_eq!(beside.status(token).await, 200, "and it is in the server's memory now");
    }
    assert_eq!(beside.sign_in(&old).await, 200);

    beside.run(Way::FlagBefore, &["account", "disable", "alice"]);
    beside.until_status(&token, 403).await;
    assert_eq!(beside.sign_in(&old).await, 403);
    beside.run(Way::File, &["account", "enable", "alice"]);
    beside.until_status(&token, 200).await;

    beside.run(Way::Variable, &["token", "revoke", &token]);
    beside.until_status(&token, 401).await;
    assert_eq!(beside.status(&other).await, 200, "no other token is revoked");

    let keep = ["account", "password", "alice", "--keep-tokens"];
    let new = password(&beside.run(Way::FlagAfter, &keep));
    assert_eq!(beside.sign_in(&old).await, 403);
    assert_eq!(beside.sign_in(&new).await, 200);
    assert_eq!(beside.status(&other).await, 200, "tokens are kept");

    let apps = beside.run(Way::FlagBefore, &["app", "list"]);
    let app = apps.lines().find(|line| line.contains("\tCommand line\t")).unwrap();
    let app = app.split('\t').next().unwrap();
    beside.run(Way::Variable, &["app", "disable", app]);
    beside.until_status(&other, 401).await;
    beside.run(Way::File, &["app", "enable", app]);
    beside.until_status(&other, 200).await;

    beside.run(Way::FlagBefore, &["account", "password", "alice"]);
    beside.until_status(&other, 401).await;
    assert!(!beside.desk.path().join("data").exists(), "nothing was looked for elsewhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_knows_what_a_command_did_on_sqlite() {
    a_server_knows_what_a_command_did(Desk::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_knows_what_a_command_did_on_postgres() {
    if let Some(desk) = Desk::postgres().await {
        a_server_knows_what_a_command_did(desk).await;
    }
}
