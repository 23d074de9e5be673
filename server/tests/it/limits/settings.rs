//! The limit table as a setting: displayed, and replaced while the server runs.

use belfry::config::Config;

use super::{count_admitted, is_admitted};
use crate::support::Service;
use crate::support::process::{ServerProcess, run_belfry, run_successfully};

const SETTINGS: &str = "\
[limits]
mode = 'enforce'

[limits.rows]
sign_up = false
media = { requests = 60, window = '1h' }

[limits.rows.search]
per = 'ip'
match = ['GET /api/v1/search', 'GET /api/v2/search']
requests = 3
window = '1m'

[limits.abuse]
sign_in_name = { requests = 10 }
app_registration = false
";

fn parse_config(text: &str) -> Config {
    toml::from_str(text).unwrap()
}

#[tokio::test]
async fn rows_are_changed_removed_and_added() {
    let service = Service::start_with(parse_config(SETTINGS)).await;
    let alice = service.user_client("alice").await;
    assert_eq!(count_admitted(&alice, "POST /api/v1/media", 70).await, 60);
    assert_eq!(count_admitted(&alice, "POST /api/v1/accounts", 70).await, 70);
    assert!(is_admitted(&alice, "GET /api/v2/search?q=x").await);
    assert_eq!(
        count_admitted(&alice, "GET /api/v1/search", 3).await,
        2,
        "both patterns share a bucket"
    );
}

#[test]
fn config_check_shows_the_active_limits() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("belfry.toml"), SETTINGS).unwrap();
    let output = run_successfully(dir.path(), &["config", "check"]);
    let expected = r#"[limits.rows]
account = { match = ["*"], per = "account", requests = 300, window = "5m" }
delete = { match = ["DELETE /api/v1/statuses/:id", "POST /api/v1/statuses/:id/unreblog"], per = "account", requests = 30, window = "30m" }
ip = { match = ["*"], per = "ip", requests = 300, window = "5m" }
media = { match = ["POST /api/v1/media"], per = "account", requests = 60, window = "1h" }
search = { match = ["GET /api/v1/search", "GET /api/v2/search"], per = "ip", requests = 3, window = "1m" }
sign_up = false

[limits.abuse]
app_registration = false
sign_in_address = { requests = 25, window = "5m" }
sign_in_name = { requests = 10, window = "1h" }
"#;
    let strip_comment =
        |line: &str| line.rsplit_once(" # ").unwrap_or((line, "")).0.trim_end().to_owned();
    let settings = output.lines().map(strip_comment).collect::<Vec<_>>().join("\n") + "\n";
    assert!(settings.ends_with(expected), "{settings}");
}

#[test]
fn config_check_reports_errors_with_their_line() {
    let dir = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("[limits.rows]\nmdia = false", "mdia: unknown limit"),
        ("[limits.rows.media]\nrequests = -1", "line 2"),
        (
            "[limits.rows.media]\nrequets = 1",
            "unknown key `requets`; did you mean `requests`? (belfry.toml, line 2)",
        ),
        (
            "[limits.rows]\nmedia = { window = '1x' }",
            "limits.rows.media.window: \"1x\" is not a duration",
        ),
        (
            "\ntrusted_proxies = ['10.0.0.0/99']",
            "trusted_proxies: \"10.0.0.0/99\" is not an address",
        ),
        ("[limits.own]\nsign_in_name = false", "unknown key `own`"),
        ("[limits]\nredis_timeout = '0s'", "limits.redis_timeout must be a duration such as"),
    ] {
        std::fs::write(dir.path().join("belfry.toml"), text).unwrap();
        let output = run_belfry(dir.path(), &["config", "check"]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(message.contains(expected), "{text}\n{message}");
    }
}

#[tokio::test]
async fn replacing_the_table_preserves_the_counts() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    let replace_rows = |rows: &str| {
        let new_config = parse_config(&format!("[limits.rows]\n{rows}"));
        service.state.limits.replace(&new_config, &service.state.metrics.limits);
    };
    assert_eq!(count_admitted(&alice, "POST /api/v1/media", 40).await, 30);

    replace_rows("media = { requests = 35 }");
    assert_eq!(count_admitted(&alice, "POST /api/v1/media", 40).await, 5);

    replace_rows("media = { requests = 0 }");
    assert_eq!(count_admitted(&alice, "POST /api/v1/media", 3).await, 0);
    replace_rows("media = { requests = 4294967295 }");
    assert_eq!(count_admitted(&alice, "POST /api/v1/media", 10).await, 10);
    let response = alice.send("POST /api/v1/media", "").await;
    assert!(
        response.header("ratelimit").contains("\"media\";r=4294967249;"),
        "30 + 5 + 10 + 1 requests were counted"
    );

    replace_rows("media = false");
    let response = alice.send("POST /api/v1/media", "").await;
    assert!(!response.header("ratelimit").contains("media"));
}

/// A valid file becomes active; an invalid one leaves the active limits unchanged.
#[tokio::test]
async fn sighup_reloads_the_limits_without_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("belfry.toml");
    std::fs::write(&file, "[limits.rows]\nip = { requests = 5 }\n").unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let count_admitted = async |requests: usize| {
        let mut admitted = 0;
        for _ in 0..requests {
            let response = reqwest::get(format!("{}/x", server.url)).await.unwrap();
            admitted += usize::from(response.status() != 429);
        }
        admitted
    };
    let reload = async |settings: &str, log_message: &str| {
        std::fs::write(&file, settings).unwrap();
        server.signal("HUP");
        for _ in 0..1000 {
            if server.log().contains(log_message) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{log_message} is not in {}", server.log());
    };
    assert_eq!(count_admitted(7).await, 5);
    let change_message = "\"setting\":\"limits.rows.ip\",\"value\":\"{ match = [\\\"*\\\"], per = \\\"ip\\\", \
                          requests = 8, window = \\\"5m\\\" }\",\"previous\":\"{ match";
    reload("[limits.rows]\nip = { requests = 8 }\n", change_message).await;
    assert_eq!(count_admitted(7).await, 3, "counts are preserved");

    let rejection_message = "invalid configuration, no setting changed";
    reload("[limits.rows]\nip = { requests = ", rejection_message).await;
    assert!(server.log().contains("(belfry.toml, line 2)"), "{}", server.log());
    assert_eq!(count_admitted(2).await, 0);

    reload("[limits]\nmode = 'off'\n", "\"setting\":\"limits.mode\"").await;
    assert_eq!(count_admitted(20).await, 20);
    reload("[limits]\nmode = 'off'\n", "SIGHUP: no setting changed").await;
}
