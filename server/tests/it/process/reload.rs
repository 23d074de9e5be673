//! SIGHUP: which settings are applied, and which need a restart.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::ServerProcess;

fn write_config(dir: &Path, settings: &str) {
    std::fs::write(dir.join("belfry.toml"), settings).unwrap();
}

/// Sends SIGHUP, waits until the log contains this text, and returns the new lines.
fn reload(server: &ServerProcess, expected: &str) -> String {
    let length_before = server.log().len();
    let start = Instant::now();
    server.signal("HUP");
    loop {
        let log = server.log()[length_before..].to_owned();
        if log.contains(expected) && log.ends_with('\n') {
            return log;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "no {expected:?} in {log}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_reload_logs_applied_settings_and_those_that_need_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let write_registration = |token: &str| {
        let text = format!("id: irc\nas_token: {token}\nsender_localpart: bot\n");
        std::fs::write(dir.path().join("irc.yaml"), text).unwrap();
    };
    write_registration("hunter2");
    let services = "application_services = ['irc.yaml']\nregistration = 'closed'\n";
    write_config(dir.path(), services);
    let server = ServerProcess::start(dir.path(), &[]);

    let proxies = "trusted_proxies = ['0.0.0.0/0']\n";
    write_config(dir.path(), &format!("{services}{proxies}"));
    let log = reload(&server, "which is larger than any private network");
    assert!(log.contains("SIGHUP: setting changed"), "{log}");
    let change = r#""setting":"trusted_proxies","value":"[\"0.0.0.0/0\"]","previous":"[]""#;
    assert!(log.contains(change), "{log}");
    assert!(
        log.contains(r#""level":"WARN","message":"trusted_proxies contains 0.0.0.0/0"#),
        "{log}"
    );
    assert!(!log.contains("rate limit") && !log.contains("restart"), "{log}");

    write_registration("hunter3");
    let title = "instance.title = 'Acme'\n";
    write_config(dir.path(), &format!("{services}{proxies}{title}"));
    let log = reload(&server, "instance.title");
    for key in ["application_services", "instance.title"] {
        let pending_message = "SIGHUP: setting not changed; restart to apply it";
        let line = log.lines().find(|line| line.contains(&format!(r#""setting":"{key}""#)));
        assert!(line.is_some_and(|line| line.contains(pending_message)), "{log}");
    }
    assert!(
        !log.contains("hunter") && !log.contains("which is larger than any private network"),
        "{log}"
    );

    // The changes are still pending.
    reload(&server, "instance.title");
    write_registration("hunter2");
    write_config(dir.path(), &format!("{services}{proxies}"));
    reload(&server, "SIGHUP: no setting changed");
}
