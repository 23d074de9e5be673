//! `belfry explain`.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::process::{belfry, run, run_well};

/// The event of the guide.
const EVENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/event.json");

fn desk() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    run_well(folder.path(), &["account", "add", "alice"]);
    folder
}

#[track_caller]
fn explain(folder: &Path, more: &[&str]) -> String {
    run_well(folder, &[&["explain", "--account", "alice", EVENT], more].concat())
}

#[test]
fn the_walk_is_printed_with_a_line_for_each_rule() {
    let desk = desk();
    let told = explain(desk.path(), &["--member-count", "5"]);
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("– global/override/.m.rule.master "), "{told}");
    let one_to_one = lines.iter().find(|line| line.contains(".m.rule.room_one_to_one")).unwrap();
    assert!(one_to_one.starts_with("✗ ") && one_to_one.ends_with("has 5 members, wanted 2"));
    let won = lines.iter().position(|line| line.starts_with("✓ ")).unwrap();
    assert!(lines[won].starts_with("✓ global/underride/.m.rule.message "), "{told}");
    assert_eq!(
        lines[won + 1..],
        ["", "notify, by global/underride/.m.rule.message", "actions  [\"notify\"]", "tweaks   {}"]
    );
    assert!(!told.contains('\u{1b}'), "colours are for terminals: {told}");
}

#[test]
fn what_is_known_of_the_room_can_be_said() {
    let desk = desk();
    let told = explain(desk.path(), &["--member-count", "2", "--profile-tag", "phone"]);
    assert!(told.contains("notify, by global/underride/.m.rule.room_one_to_one\n"), "{told}");
    let told = explain(desk.path(), &["--display-name", "cake"]);
    let winner = "notify, by global/override/.m.rule.contains_display_name\n";
    assert!(told.contains(winner), "{told}");
    assert!(told.ends_with("tweaks   {\"highlight\":true,\"sound\":\"default\"}\n"), "{told}");
}

#[test]
fn what_is_known_of_the_room_can_be_in_a_file() {
    let desk = desk();
    let say = |name: &str, text: &str| std::fs::write(desk.path().join(name), text).unwrap();
    say("event.json", r#"{"type":"m.room.message","sender":"@bob:x","content":{"body":"@room"}}"#);
    say("room.json", r#"{"member_count":2,"power_levels":{},"creators":["@bob:x"]}"#);
    say("old.json", r#"{"member_count":2,"power_levels":{}}"#);
    say("wrong.json", r#"{"creators":"@bob:x"}"#);
    let about = |room: &str, more: &[&str]| {
        let arguments = ["explain", "--account", "alice", "event.json", "--room", room];
        run(desk.path(), &[&arguments, more].concat())
    };
    for (room, more, rule) in [
        ("room.json", &[][..], "override/.m.rule.roomnotif"),
        ("old.json", &[], "underride/.m.rule.room_one_to_one"),
        ("old.json", &["--member-count", "3"], "underride/.m.rule.message"),
    ] {
        let told = String::from_utf8(about(room, more).stdout).unwrap();
        assert!(told.contains(&format!("notify, by global/{rule}\n")), "{room}: {told}");
    }
    let refused = about("wrong.json", &[]);
    let said = String::from_utf8(refused.stderr).unwrap();
    let problem = "belfry: wrong.json: room.creators must be an array of user ids";
    assert!(said.starts_with(problem) && refused.status.code() == Some(1), "{said}");
}

#[test]
fn with_json_the_answer_of_the_endpoint_is_printed() {
    let desk = desk();
    let told: Value = serde_json::from_str(&explain(desk.path(), &["--json"])).unwrap();
    assert_eq!(told["rule"]["rule_id"], ".m.rule.message");
    assert_eq!(told["walk"][0]["outcome"], "disabled");
}

#[test]
fn an_event_is_read_from_standard_input() {
    let desk = desk();
    let arguments = ["explain", "--account", "alice", "-"];
    let mut command = belfry(desk.path(), &arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let event = br#"{"sender":"@alice:127.0.0.1"}"#;
    child.stdin.take().unwrap().write_all(event).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.starts_with("no rule is asked about what its own user sent\n"), "{told}");
}

#[test]
fn what_cannot_be_explained_says_why() {
    let desk = desk();
    std::fs::write(desk.path().join("list.json"), "[]").unwrap();
    std::fs::write(desk.path().join("cake.json"), "cake").unwrap();
    for (account, event, problem) in [
        ("nobody", EVENT, "there is no account \"nobody\"; see belfry account list"),
        ("alice", "none.json", "cannot read none.json: No such file or directory"),
        ("alice", "list.json", "list.json: an event is a JSON object"),
        ("alice", "cake.json", "cake.json: the body is not JSON: expected value"),
    ] {
        let output = run(desk.path(), &["explain", "--account", account, event]);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with(&format!("belfry: {problem}")), "{said}");
    }
    let arguments = ["explain", "--account", "alice", EVENT, "--profile-tag", "a/b"];
    assert_eq!(run(desk.path(), &arguments).status.code(), Some(2));
}
