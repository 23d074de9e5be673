//! Metrics, alerts and the dashboard, checked by Prometheus's `promtool`.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::documents::{ALERTS, dashboard_expressions, replace_variables};
use crate::support::{Service, report_skipped};

/// Runs promtool; `None` if it is not installed.
#[track_caller]
fn run_promtool(dir: &Path, arguments: &[&str], input: &str) -> Option<Output> {
    let mut command = Command::new("promtool");
    command.args(arguments).current_dir(dir).stdin(Stdio::piped());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        report_skipped("promtool", "it is not installed; it is in the package prometheus");
        return None;
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

#[track_caller]
fn assert_success(output: &Output) {
    let messages = [&output.stdout[..], &output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&messages));
}

#[tokio::test]
async fn promtool_accepts_the_metrics() {
    let service = Service::start().await;
    service.user_client("alice").await.get("/_matrix/client/v3/pushrules/").await;
    assert_valid_metrics(&service.metrics().await);
}

/// Asserts that promtool accepts scraped metrics without a warning.
#[track_caller]
pub(super) fn assert_valid_metrics(text: &str) {
    let dir = tempfile::tempdir().unwrap();
    let Some(output) = run_promtool(dir.path(), &["check", "metrics"], text) else { return };
    assert_success(&output);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "promtool printed a warning");
}

#[test]
fn the_alerts_are_valid() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("alerts.yml"), ALERTS).unwrap();
    if let Some(output) = run_promtool(dir.path(), &["check", "rules", "alerts.yml"], "") {
        assert_success(&output);
    }
}

#[test]
fn each_alert_fires_only_under_its_condition() {
    let alert_tests = include_str!("alerts.test.yml");
    for alert in ALERTS.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(alert_tests.contains(&format!("alertname: {alert}\n")), "{alert} has no test");
    }
    // Without annotations, which the expectations would have to repeat.
    let mut rules = String::new();
    let mut is_annotation = false;
    for line in ALERTS.lines() {
        is_annotation =
            line == "        annotations:" || (is_annotation && line.starts_with("          "));
        if !is_annotation {
            rules.extend([line, "\n"]);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("alerts.yml"), rules).unwrap();
    std::fs::write(dir.path().join("test.yml"), alert_tests).unwrap();
    if let Some(output) = run_promtool(dir.path(), &["test", "rules", "test.yml"], "") {
        assert_success(&output);
    }
}

#[test]
fn the_dashboard_expressions_are_valid() {
    let mut rules = "groups:\n- name: dashboard\n  rules:\n".to_owned();
    for (number, expression) in dashboard_expressions().iter().enumerate() {
        let expression = serde_json::to_string(&replace_variables(expression)).unwrap();
        writeln!(rules, "  - record: panel:{number}\n    expr: {expression}").unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("rules.yml"), rules).unwrap();
    if let Some(output) = run_promtool(dir.path(), &["check", "rules", "rules.yml"], "") {
        assert_success(&output);
    }
}
