//! A server whose disk is full.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::ServerProcess;
use crate::support::process::{belfry_command, run_successfully};

/// A full disk is simulated by a limit on the size of files. The server is started by a shell that
/// ignores the signal XFSZ, because a write beyond the limit would otherwise kill the process.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_write_is_not_ready() {
    let dir = tempfile::tempdir().unwrap();
    run_successfully(dir.path(), &["account", "add", "alice"]);
    let issue_token = ["token", "issue", "alice", "--scopes", "read write"];
    let token = run_successfully(dir.path(), &issue_token);
    let command = belfry_command(dir.path(), &[]);
    let program = command.get_program().to_owned();
    let script = r#"trap "" XFSZ; exec "$0" serve --listen 127.0.0.1:0 --limits off"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(program).current_dir(dir.path());
    for (name, value) in command.get_envs() {
        assert!(value.is_none());
        shell.env_remove(name);
    }
    drop(command);
    let server = ServerProcess::launch(shell, dir.path());
    let client = reqwest::Client::new();
    let put_rule = async || {
        let url = format!("{}/_matrix/client/v3/pushrules/global/content/cake", server.url);
        let rule = json!({ "pattern": "cake", "actions": ["notify"] });
        let request = client.put(url).bearer_auth(token.trim()).json(&rule);
        request.send().await.unwrap().status().as_u16()
    };
    let get_response = async |path: &str| {
        let response = client.get(format!("{}{path}", server.url)).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let wait_for_readiness = async |expected_status: u16| {
        let start = Instant::now();
        while get_response("/readyz").await.0 != expected_status {
            assert!(
                start.elapsed() < Duration::from_mins(1),
                "not {expected_status}: {}",
                server.log()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let limit_file_size = |bytes: &str| {
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--pid", &server.pid().to_string(), &format!("--fsize={bytes}:unlimited")]);
        assert!(prlimit.status().unwrap().success());
    };
    assert_eq!((put_rule().await, get_response("/readyz").await.0), (200, 200));

    limit_file_size("16384");
    // The readiness check detects the full disk without a client's write.
    wait_for_readiness(503).await;
    for _ in 0..50 {
        assert_eq!(put_rule().await, 503);
    }
    let account_url = format!("{}/api/v1/accounts/verify_credentials", server.url);
    let response = client.get(account_url).bearer_auth(token.trim()).send().await.unwrap();
    assert_eq!(response.status(), 200, "reads continue");
    let (_, metrics) = get_response("/metrics").await;
    let series = "belfry_store_failures_total{engine=\"sqlite\",operation=\"write\",reason=\"unavailable\"} ";
    let failures = metrics.lines().find_map(|line| line.strip_prefix(series));
    assert!(failures.unwrap().parse::<u64>().unwrap() > 50, "{metrics}");
    let log_lines = server.log().matches("database error").count();
    assert!(log_lines < 25, "{log_lines} lines for 50 failures");

    limit_file_size("unlimited");
    wait_for_readiness(200).await;
    assert_eq!(put_rule().await, 200);
}
