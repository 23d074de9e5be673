//! `belfry explain`.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::process::{belfry_command, run_belfry, run_successfully};

/// The event in `docs/evaluation.md`.
const EVENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/event.json");

fn dir_with_account() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    run_successfully(dir.path(), &["account", "add", "alice"]);
    dir
}

#[track_caller]
fn explain(dir: &Path, extra_arguments: &[&str]) -> String {
    run_successfully(dir, &[&["explain", "--account", "alice", EVENT], extra_arguments].concat())
}

#[test]
fn an_explanation_is_printed_with_a_line_for_each_rule() {
    let dir = dir_with_account();
    let output = explain(dir.path(), &["--member-count", "5"]);
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].starts_with("– global/override/.m.rule.master "), "{output}");
    let one_to_one = lines.iter().find(|line| line.contains(".m.rule.room_one_to_one")).unwrap();
    assert!(one_to_one.starts_with("✗ ") && one_to_one.ends_with("has 5 members, expected 2"));
    let winner = lines.iter().position(|line| line.starts_with("✓ ")).unwrap();
    assert!(lines[winner].starts_with("✓ global/underride/.m.rule.message "), "{output}");
    assert_eq!(
        lines[winner + 1..],
        ["", "notify, by global/underride/.m.rule.message", "actions  [\"notify\"]", "tweaks   {}"]
    );
    // Colours are for terminals.
    assert!(!output.contains('\u{1b}'), "{output}");
}

#[test]
fn the_room_state_can_be_set_by_flags() {
    let dir = dir_with_account();
    let output = explain(dir.path(), &["--member-count", "2", "--profile-tag", "phone"]);
    assert!(output.contains("notify, by global/underride/.m.rule.room_one_to_one\n"), "{output}");
    let output = explain(dir.path(), &["--display-name", "cake"]);
    let winner = "notify, by global/override/.m.rule.contains_display_name\n";
    assert!(output.contains(winner), "{output}");
    assert!(output.ends_with("tweaks   {\"highlight\":true,\"sound\":\"default\"}\n"), "{output}");
}

#[test]
fn the_time_can_be_set_by_a_flag() {
    let dir = dir_with_account();
    let quiet_hours = json!({ "kind": "time_and_day", "timezone": "Europe/Berlin",
        "intervals": [{ "time_of_day": ["22:00", "23:59"] }] });
    let rule = json!({ "rule_id": "nights", "actions": [], "conditions": [quiet_hours] });
    let rulesets = json!({ "global": { "override": [rule] } });
    let account = json!({ "name": "bob", "push_rules": rulesets });
    std::fs::write(dir.path().join("accounts.jsonl"), account.to_string()).unwrap();
    run_successfully(dir.path(), &["account", "import", "accounts.jsonl"]);
    for (time, result) in [
        ("2026-11-18T20:59:59Z", "notify, by global/underride/.m.rule.message\n"),
        ("2026-11-18T21:00:00Z", "do not notify, by global/override/nights\n"),
    ] {
        let arguments = ["explain", "--account", "bob", "--at", time, EVENT];
        let output = run_successfully(dir.path(), &arguments);
        assert!(output.contains(result), "{output}");
    }
}

#[test]
fn a_timed_rule_is_evaluated_at_the_time_of_the_flag() {
    let dir = dir_with_account();
    let end_ms = 4_102_444_800_000_i64; // 2100-01-01T00:00:00Z
    let rule = json!({ "rule_id": "timed", "actions": [], "conditions": [], "until": end_ms });
    let account = json!({ "name": "bob", "push_rules": { "global": { "override": [rule] } } });
    std::fs::write(dir.path().join("accounts.jsonl"), account.to_string()).unwrap();
    run_successfully(dir.path(), &["account", "import", "accounts.jsonl"]);
    let explain_at =
        |time| run_successfully(dir.path(), &["explain", "--account", "bob", "--at", time, EVENT]);
    let output = explain_at("2099-12-31T23:59:59Z");
    assert!(output.contains("do not notify, by global/override/timed\n"), "{output}");
    assert!(output.contains("matches until Friday, 2100-01-01, 00:00 in UTC\n"), "{output}");
    let output = explain_at("2100-01-01T00:00:00Z");
    assert!(output.contains("notify, by global/underride/.m.rule.message\n"), "{output}");
}

#[test]
fn the_room_state_can_come_from_a_file() {
    let dir = dir_with_account();
    let write_file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write_file(
        "event.json",
        r#"{"type":"m.room.message","sender":"@bob:x","content":{"body":"@room"}}"#,
    );
    write_file("room.json", r#"{"member_count":2,"power_levels":{},"creators":["@bob:x"]}"#);
    write_file("old.json", r#"{"member_count":2,"power_levels":{}}"#);
    write_file("wrong.json", r#"{"creators":"@bob:x"}"#);
    let explain_in_room = |room: &str, extra_arguments: &[&str]| {
        let arguments = ["explain", "--account", "alice", "event.json", "--room", room];
        run_belfry(dir.path(), &[&arguments, extra_arguments].concat())
    };
    for (room, extra_arguments, rule) in [
        ("room.json", &[][..], "override/.m.rule.roomnotif"),
        ("old.json", &[], "underride/.m.rule.room_one_to_one"),
        ("old.json", &["--member-count", "3"], "underride/.m.rule.message"),
    ] {
        let output = String::from_utf8(explain_in_room(room, extra_arguments).stdout).unwrap();
        assert!(output.contains(&format!("notify, by global/{rule}\n")), "{room}: {output}");
    }
    let output = explain_in_room("wrong.json", &[]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let error = "belfry: wrong.json: room.creators must be an array of user ids";
    assert!(stderr.starts_with(error) && output.status.code() == Some(1), "{stderr}");
}

#[test]
fn related_events_come_from_a_file() {
    let dir = dir_with_account();
    let write_file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let condition = json!({ "kind": "related_event_match", "rel_type": "m.in_reply_to",
        "key": "sender", "pattern": "@bob:*" });
    let rule = json!({ "rule_id": "replies", "actions": [], "conditions": [condition] });
    let account =
        json!({ "name": "bob", "push_rules": { "global": { "override": [rule] } } }).to_string();
    write_file("accounts.jsonl", &account);
    run_successfully(dir.path(), &["account", "import", "accounts.jsonl"]);
    write_file("reply.json", r#"{"m.in_reply_to":{"sender":"@bob:x"}}"#);
    write_file("wrong.json", r#"{"m.in_reply_to":"$1"}"#);
    let arguments = ["explain", "--account", "bob", EVENT, "--related-events"];
    let output = run_successfully(dir.path(), &[&arguments[..], &["reply.json"]].concat());
    assert!(output.contains("do not notify, by global/override/replies\n"), "{output}");
    let output = run_belfry(dir.path(), &[&arguments[..], &["wrong.json"]].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    let error = "belfry: wrong.json must be an object of events, by relation type";
    assert!(stderr.starts_with(error), "{stderr}");
}

#[test]
fn the_json_flag_prints_the_endpoints_response() {
    let dir = dir_with_account();
    let output: Value = serde_json::from_str(&explain(dir.path(), &["--json"])).unwrap();
    assert_eq!(output["rule"]["rule_id"], ".m.rule.message");
    assert_eq!(output["walk"][0]["outcome"], "disabled");
}

#[test]
fn a_disabled_account_is_not_notified() {
    let dir = dir_with_account();
    run_successfully(dir.path(), &["account", "disable", "alice"]);
    let output = explain(dir.path(), &[]);
    let result = "do not notify: the account is disabled. If it were enabled: notify, by \
                  global/underride/.m.rule.message\n";
    assert!(output.contains(result), "{output}");
    let output: Value = serde_json::from_str(&explain(dir.path(), &["--json"])).unwrap();
    assert_eq!((&output["notify"], &output["account_disabled"]), (&false.into(), &true.into()));
    assert_eq!(output["rule"]["rule_id"], ".m.rule.message");
}

#[test]
fn a_timed_rule_is_evaluated_until_it_expires() {
    let dir = dir_with_account();
    let database = rusqlite::Connection::open(dir.path().join("data/belfry.db")).unwrap();
    let timed_rule = |id: &str, until: i64| json!({"rule_id": id, "enabled": true, "actions": [], "conditions": [], "until": until});
    let rules = [timed_rule("expired", 1_700_000_000_000), timed_rule("muted", 9_000_000_000_000)];
    let changes = json!({".m.rule.master": {"enabled": true, "until": 1_700_000_000_000_i64}});
    let document = json!({"version": "1", "rules": {"override": rules}, "changes": changes});
    let insert = "insert into rulesets (account_id, scope, version, document) \
                  select id, 'global', 1, ?1 from accounts";
    assert_eq!(database.execute(insert, [document.to_string()]).unwrap(), 1);
    let output = explain(dir.path(), &[]);
    assert!(output.contains("do not notify, by global/override/muted\n"), "{output}");
    assert!(!output.contains("expired"), "{output}");
    assert!(output.starts_with("– global/override/.m.rule.master "), "{output}");
}

#[test]
fn an_event_is_read_from_standard_input() {
    let dir = dir_with_account();
    let explain_stdin = |event: &str| {
        let mut command = belfry_command(dir.path(), &["explain", "--account", "alice", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output =
        String::from_utf8(explain_stdin(r#"{"type":"m.a","sender":"@alice:127.0.0.1"}"#).stdout)
            .unwrap();
    assert!(output.starts_with("no rule is evaluated for the user's own event\n"), "{output}");
    let error = String::from_utf8(explain_stdin("[]").stderr).unwrap();
    assert_eq!(error, "belfry: standard input: an event must be a JSON object\n");
    let missing_type = "an event must have a `type`, such as \"m.room.message\"";
    let endpoint_body =
        "pass the event alone, which is the object in `event`; --room FILE passes `room`";
    for (event, problem) in [
        (r#"{"sender":"@bob:x"}"#, missing_type),
        (r#"{"type":7}"#, missing_type),
        (r#"{"event":"m.a"}"#, missing_type),
        (r#"{"event":{"type":"m.a"},"room":{"member_count":2}}"#, endpoint_body),
    ] {
        let output = explain_stdin(event);
        assert_eq!(output.status.code(), Some(1), "{event}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(error, format!("belfry: standard input: {problem}\n"), "{event}");
    }
}

#[test]
fn errors_name_the_cause() {
    let dir = dir_with_account();
    std::fs::write(dir.path().join("list.json"), "[]").unwrap();
    std::fs::write(dir.path().join("cake.json"), "cake").unwrap();
    for (account, event, error) in [
        ("nobody", EVENT, "there is no account \"nobody\"; run `belfry account list`"),
        ("alice", "none.json", "cannot read none.json: No such file or directory"),
        ("alice", "list.json", "list.json: an event must be a JSON object"),
        ("alice", "cake.json", "cake.json is not JSON: expected value"),
    ] {
        let output = run_belfry(dir.path(), &["explain", "--account", account, event]);
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with(&format!("belfry: {error}")), "{stderr}");
    }
    let arguments = ["explain", "--account", "alice", EVENT, "--room", "cake.json"];
    let stderr = String::from_utf8(run_belfry(dir.path(), &arguments).stderr).unwrap();
    assert!(stderr.starts_with("belfry: cake.json is not JSON: expected value"), "{stderr}");
    let arguments = ["explain", "--account", "alice", EVENT, "--at", "tomorrow"];
    let stderr = String::from_utf8(run_belfry(dir.path(), &arguments).stderr).unwrap();
    assert!(stderr.contains("\"tomorrow\" is not a time like 2026-11-18T22:00:00Z"), "{stderr}");
    let arguments = ["explain", "--account", "alice", EVENT, "--profile-tag", "a/b"];
    assert_eq!(run_belfry(dir.path(), &arguments).status.code(), Some(2));
}

#[test]
fn the_command_that_shows_the_deliveries_is_printed() {
    let dir = dir_with_account();
    std::fs::write(dir.path().join("belfry.toml"), "push.contact = 'mailto:ops@ring.example'")
        .unwrap();
    let event: Value = serde_json::from_slice(&std::fs::read(EVENT).unwrap()).unwrap();
    let id = event["event_id"].as_str().unwrap();
    let expected = format!("\n\ndeliveries: belfry push log alice --event '{id}'\n");
    let output = explain(dir.path(), &[]);
    assert!(output.ends_with(&expected), "{output}");
}
