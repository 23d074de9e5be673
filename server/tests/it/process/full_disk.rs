//! A server whose disk is full.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::Process;
use crate::support::process::{belfry, run_successfully};

/// A full disk is simulated by a limit on the size of files. The server is started by a shell that
/// ignores the signal XFSZ, because a write beyond the limit would otherwise kill the process.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_write_is_not_ready() {
    let dir = tempfile::tempdir().unwrap();
    run_successfully(dir.path(), &["account", "add", "alice"]);
    let issue = ["token", "issue", "alice", "--scopes", "read write"];
    let token = run_successfully(dir.path(), &issue);
    let command = belfry(dir.path(), &[]);
    let program = command.get_program().to_owned();
    let script = r#"trap "" XFSZ; exec "$0" serve --listen 127.0.0.1:0 --limits off"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(program).current_dir(dir.path());
    for (name, value) in command.get_envs() {
        assert!(value.is_none());
        shell.env_remove(name);
    }
    drop(command);
    let server = Process::launch(shell, dir.path());
    let client = reqwest::Client::new();
    let put = async || {
        let url = format!("{}/_matrix/client/v3/pushrules/global/content/cake", server.url);
        let rule = json!({ "pattern": "cake", "actions": ["notify"] });
        let request = client.put(url).bearer_auth(token.trim()).json(&rule);
        request.send().await.unwrap().status().as_u16()
    };
    let get = async |path: &str| {
        let response = client.get(format!("{}{path}", server.url)).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let wait_for = async |expected: u16| {
        let start = Instant::now();
        while get("/readyz").await.0 != expected {
            assert!(start.elapsed() < Duration::from_mins(1), "not {expected}: {}", server.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let limit_file_size = |bytes: &str| {
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--pid", &server.pid().to_string(), &format!("--fsize={bytes}:unlimited")]);
        assert!(prlimit.status().unwrap().success());
    };
    assert_eq!((put().await, get("/readyz").await.0), (200, 200));

    limit_file_size("16384");
    // The readiness check detects the full disk without a client's write.
    wait_for(503).await;
    for _ in 0..50 {
        assert_eq!(put().await, 503);
    }
    let account = format!("{}/api/v1/accounts/verify_credentials", server.url);
    let account = client.get(account).bearer_auth(token.trim()).send().await.unwrap();
    assert_eq!(account.status(), 200, "reads continue");
    let (_, metrics) = get("/metrics").await;
    let name = "belfry_store_failures_total{engine=\"sqlite\",operation=\"write\",reason=\"unavailable\"} ";
    let failures = metrics.lines().find_map(|line| line.strip_prefix(name));
    assert!(failures.unwrap().parse::<u64>().unwrap() > 50, "{metrics}");
    let lines = server.log().matches("database error").count();
    assert!(lines < 25, "{lines} lines for 50 failures");

    limit_file_size("unlimited");
    wait_for(200).await;
    assert_eq!(put().await, 200);
}
