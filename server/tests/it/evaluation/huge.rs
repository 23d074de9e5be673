//! A room of a hundred thousand, asked of the real process, whose memory can be seen.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use belfry_core::rules::{Document, NewRule, Position, RuleKind, RuleScope};
use serde_json::{Value, json};

use super::{PRODUCT, id, message, silent};
use crate::support::Process;
use crate::support::process::run_well;

const MANY: u32 = 100_000;

/// Little memory for what was read: the rules of the room are many times that.
const SETTINGS: &str = "base_url = 'https://ring.example'\nlimits.mode = 'off'\n\
    [store]\ncache_bytes = 8388608\n";

/// In MiB; it takes about 100. With the rules of all of them at once it would be more than 300.
const MOST_FOR_THE_ROOM: u64 = 200;

/// In MiB; it takes about 200, most of it while the list of 1,118,471 members grows.
const MOST_FOR_A_FULL_BODY: u64 = 400;

fn name(number: u32) -> String {
    format!("person_{number}")
}

/// Whether a person hears nothing of cake.
fn is_quiet(number: u32) -> bool {
    number % 20 == 7
}

/// The rules of a person, with `NUMBER` in the place of the person's number: two kilobytes.
fn rules(quiet: bool) -> String {
    let mut document = Document::new(RuleScope::Global);
    let mut put = |id: &str, rule: Value| {
        let rule = NewRule::read(RuleKind::Content, rule.to_string().as_bytes()).unwrap();
        document.put(RuleKind::Content, id.parse().unwrap(), rule, Position::default()).unwrap();
    };
    for word in ["tea_NUMBER", "jam_NUMBER"] {
        put(word, json!({ "actions": ["notify"], "pattern": word, "note": "x".repeat(900) }));
    }
    if quiet {
        put("cake", silent("cake"));
    }
    document.to_text()
}

/// Every other person has rules. They are written past the server: it would take a minute.
fn furnish(folder: &Path) {
    run_well(folder, &["account", "list"]);
    let database = rusqlite::Connection::open(folder.join("data/belfry.db")).unwrap();
    let people = "with recursive people (n) as \
        (select 0 union all select n + 1 from people where n + 1 < ?1) ";
    let accounts = "insert into accounts (id, name, email, password, created_at, disabled_at) \
        select 1000 + n, 'person_' || n, null, 'none', 0, null from people";
    database.execute(&format!("{people}{accounts}"), [MANY]).unwrap();
    let rulesets = "insert into rulesets (account_id, scope, version, document) \
        select 1000 + n, 'global', 1, \
            replace(case n % 20 when 7 then ?2 else ?3 end, 'NUMBER', n) \
        from people where n % 2 = 1";
    let documents = rusqlite::params![MANY, rules(true), rules(false)];
    database.execute(&format!("{people}{rulesets}"), documents).unwrap();
}

/// The most memory that a process ever had, in MiB; 0 where the system does not tell.
fn peak(process: &Process) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024)
}

async fn evaluate(server: &Process, body: String) -> (u16, String) {
    let request = reqwest::Client::new().post(format!("{}/_service/app/v1/evaluate", server.url));
    let answer = request.bearer_auth("token of product").body(body).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_hundred_thousand_members_are_judged_in_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("belfry.toml"), format!("{SETTINGS}{PRODUCT}")).unwrap();
    furnish(folder.path());
    let server = Process::start(folder.path(), &[]);

    let members: Value = (0..MANY).map(|number| json!({ "user_id": id(&name(number)) })).collect();
    let event = message("cake, and for one of you jam_77777!");
    let body = json!({ "event": event, "members": members, "all": true }).to_string();
    let (question, (status, answer)) = (body.len(), evaluate(&server, body).await);
    assert_eq!(status, 200, "{answer}");
    assert!(answer.len() < question, "the members are told once, and three verdicts");
    let mut expected: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for number in 0..MANY {
        let rule = match number {
            77_777 => "jam_77777",
            number if is_quiet(number) => "cake",
            _ => ".m.rule.message",
        };
        expected.entry(rule).or_default().push(id(&name(number)));
    }
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let groups = answer["groups"].as_array().unwrap();
    assert_eq!(groups.len(), expected.len());
    for group in groups {
        let rule = group["rule"]["rule_id"].as_str().unwrap();
        assert!(group["users"] == json!(expected[rule]), "{rule}");
    }

    assert!(peak(&server) < MOST_FOR_THE_ROOM, "{} MiB", peak(&server));

    // The most members that a body can name, none of whom is anybody.
    let nobody = vec![r#"{"user_id":""}"#; (16 << 20) / 15 - 10].join(",");
    let (status, answer) =
        evaluate(&server, format!(r#"{{"event":{{}},"members":[{nobody}]}}"#)).await;
    assert_eq!((status, answer.as_str()), (200, r#"{"groups":[]}"#));
    assert!(peak(&server) < MOST_FOR_A_FULL_BODY, "{} MiB", peak(&server));
}
