//! Memory use of the server process while it evaluates many members and large rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use belfry_core::rules::{NewRule, NewRuleLimits, RuleDocument, RuleKind, RulePosition, RuleScope};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{APPLICATION_SERVICE_SETTINGS, message_event, silent_rule, user_id};
use crate::support::ServerProcess;
use crate::support::process::run_successfully;

const MEMBERS: u32 = 100_000;

/// Settings with a small cache. The members' rules are many times larger.
const SETTINGS: &str = "base_url = 'https://ring.example'\nlimits.mode = 'off'\n\
    [store]\ncache_bytes = 8388608\n";

/// The maximum memory for 100,000 members, in MiB. The server takes about 100; with the rules of
/// all members in memory it would take over 300.
const MAX_ROOM_MIB: u64 = 200;

/// The maximum memory for a body of the maximum size, in MiB. The server takes about 200, most of
/// it while the list of 1,118,471 members grows.
const MAX_FULL_BODY_MIB: u64 = 400;

fn account_name(number: u32) -> String {
    format!("person_{number}")
}

/// Returns whether a user has a silent rule for `cake`.
fn has_silent_rule(number: u32) -> bool {
    number % 20 == 7
}

/// Returns two kilobytes of rules, with `NUMBER` as a placeholder for the person's number.
fn ruleset_document(has_silent_rule: bool) -> String {
    let mut document = RuleDocument::new(RuleScope::Global);
    let mut put_rule = |id: &str, rule: Value| {
        let rule = NewRule::parse(
            RuleKind::Content,
            rule.to_string().as_bytes(),
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        document
            .put(RuleKind::Content, id.parse().unwrap(), rule, RulePosition::default())
            .unwrap();
    };
    for word in ["tea_NUMBER", "jam_NUMBER"] {
        put_rule(word, json!({ "actions": ["notify"], "pattern": word, "note": "x".repeat(900) }));
    }
    if has_silent_rule {
        put_rule("cake", silent_rule("cake"));
    }
    document.to_text()
}

/// Creates the accounts; every other one has rules. Writes to the database directly, because the
/// API would take a minute.
fn create_accounts(dir: &Path) {
    // Creates the database.
    run_successfully(dir, &["account", "add", "alice"]);
    let database = rusqlite::Connection::open(dir.join("data/belfry.db")).unwrap();
    let people = "with recursive people (n) as \
        (select 0 union all select n + 1 from people where n + 1 < ?1) ";
    let insert_accounts = "insert into accounts \
        (id, name, email, password, created_at, disabled_at) \
        select 1000 + n, 'person_' || n, null, 'none', 0, null from people";
    database.execute(&format!("{people}{insert_accounts}"), [MEMBERS]).unwrap();
    let insert_rulesets = "insert into rulesets (account_id, scope, version, document) \
        select 1000 + n, 'global', 1, \
            replace(case n % 20 when 7 then ?2 else ?3 end, 'NUMBER', n) \
        from people where n % 2 = 1";
    let parameters = rusqlite::params![MEMBERS, ruleset_document(true), ruleset_document(false)];
    database.execute(&format!("{people}{insert_rulesets}"), parameters).unwrap();
}

/// Returns the peak memory of a process in MiB.
fn peak_memory_mib(process: &ServerProcess) -> u64 {
    let path = format!("/proc/{}/status", process.pid());
    let status = fs::read_to_string(&path).expect("this test needs Linux and /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.expect("the status has VmHWM").trim().trim_end_matches(" kB");
    let peak = kibibytes.parse::<u64>().unwrap() / 1024;
    assert!(peak > 0, "a running server uses at least 1 MiB");
    peak
}

async fn evaluate(server: &ServerProcess, body: String) -> (u16, String) {
    let request = reqwest::Client::new().post(format!("{}/_service/app/v1/evaluate", server.url));
    let response = request.bearer_auth("token of product").body(body).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Maximum memory for rules of the maximum size, in MiB. The server takes about 100; with
/// every wildcard parsed on its own it would take 800.
const MAX_LARGE_RULES_MIB: u64 = 250;

/// These rules would take many times their size in a parsed form.
#[tokio::test]
async fn rules_of_maximum_size_are_evaluated_in_bounded_memory() {
    const ACCOUNTS: u32 = 24;
    let dir = tempfile::tempdir().unwrap();
    let settings = "base_url = 'https://ring.example'\nlimits.mode = 'off'\n";
    fs::write(dir.path().join("belfry.toml"), format!("{settings}{APPLICATION_SERVICE_SETTINGS}"))
        .unwrap();
    run_successfully(dir.path(), &["account", "add", "alice"]);
    let database = rusqlite::Connection::open(dir.path().join("data/belfry.db")).unwrap();
    let mut document = RuleDocument::new(RuleScope::Global);
    for number in 0..16 {
        let rule = silent_rule(&format!("{}{number}", "?a".repeat(32_000)));
        let rule = NewRule::parse(
            RuleKind::Content,
            rule.to_string().as_bytes(),
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        let id = number.to_string().parse().unwrap();
        document.put(RuleKind::Content, id, rule, RulePosition::default()).unwrap();
    }
    for number in 0..ACCOUNTS {
        let insert_account = "insert into accounts \
            (id, name, email, password, created_at, disabled_at) \
            values (?1, ?2, null, 'none', 0, null)";
        database
            .execute(insert_account, rusqlite::params![1000 + number, account_name(number)])
            .unwrap();
        let insert_ruleset = "insert into rulesets (account_id, scope, version, document) \
            values (?1, 'global', 1, ?2)";
        let parameters = rusqlite::params![1000 + number, document.to_text()];
        database.execute(insert_ruleset, parameters).unwrap();
    }
    let server = ServerProcess::start(dir.path(), &[]);
    let members: Value =
        (0..ACCOUNTS).map(|number| json!({ "user_id": user_id(&account_name(number)) })).collect();
    let body = json!({ "event": message_event("hi"), "members": members }).to_string();
    let (status, response) = evaluate(&server, body).await;
    assert_eq!(status, 200, "{response}");
    assert!(peak_memory_mib(&server) < MAX_LARGE_RULES_MIB, "{} MiB", peak_memory_mib(&server));
}

#[tokio::test]
#[ignore = "long: a hundred thousand members"]
async fn a_hundred_thousand_members_are_evaluated_in_bounded_memory() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("belfry.toml"), format!("{SETTINGS}{APPLICATION_SERVICE_SETTINGS}"))
        .unwrap();
    create_accounts(dir.path());
    let server = ServerProcess::start(dir.path(), &[]);

    let members: Value =
        (0..MEMBERS).map(|number| json!({ "user_id": user_id(&account_name(number)) })).collect();
    let event = message_event("cake, and for one of you jam_77777!");
    let body = json!({ "event": event, "members": members, "all": true }).to_string();
    let (request_bytes, (status, response)) = (body.len(), evaluate(&server, body).await);
    assert_eq!(status, 200, "{response}");
    assert!(
        response.len() < request_bytes,
        "each member is listed once, with three results in all"
    );
    let mut expected: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for number in 0..MEMBERS {
        let rule = match number {
            77_777 => "jam_77777",
            number if has_silent_rule(number) => "cake",
            _ => ".m.rule.message",
        };
        expected.entry(rule).or_default().push(user_id(&account_name(number)));
    }
    let response: Value = serde_json::from_str(&response).unwrap();
    let groups = response["groups"].as_array().unwrap();
    assert_eq!(groups.len(), expected.len());
    for group in groups {
        let rule = group["rule"]["rule_id"].as_str().unwrap();
        assert!(group["users"] == json!(expected[rule]), "{rule}");
    }

    assert!(peak_memory_mib(&server) < MAX_ROOM_MIB, "{} MiB", peak_memory_mib(&server));

    // The most members that fit into a body. None of them has an account.
    let members = vec![r#"{"user_id":""}"#; (16 << 20) / 15 - 10].join(",");
    let (status, response) =
        evaluate(&server, format!(r#"{{"event":{{}},"members":[{members}]}}"#)).await;
    assert_eq!((status, response.as_str()), (200, r#"{"groups":[]}"#));
    assert!(peak_memory_mib(&server) < MAX_FULL_BODY_MIB, "{} MiB", peak_memory_mib(&server));
}
