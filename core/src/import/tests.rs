use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::rules::{RuleKind, RuleScope, User};

const LIMITS: ImportLimits = ImportLimits {
    rules: RuleLimits { rules: 4, bytes: 2000 },
    rule: NewRuleLimits { conditions: 2, bytes: 500 },
};

fn now() -> Timestamp {
    "2030-01-01T00:00:00Z".parse().unwrap()
}

fn parse(line: &str) -> Result<ImportedAccount, ImportError> {
    ImportedAccount::parse(line.as_bytes(), &LIMITS, now())
}

/// Returns the rulesets of an account with these push rules, as they are stored.
fn import_rulesets(push_rules: &Value) -> Result<Vec<(String, Value)>, String> {
    let line = json!({"name": "alice", "push_rules": push_rules}).to_string();
    let account = parse(&line).map_err(|error| error.to_string())?;
    let scope_and_json = |document: &RuleDocument| {
        (document.scope().to_string(), serde_json::from_str(&document.to_text()).unwrap())
    };
    Ok(account.rulesets.iter().map(scope_and_json).collect())
}

#[test]
fn a_line_needs_only_a_name() {
    let alice = ImportedAccount {
        name: "alice".to_owned(),
        email: None,
        password_hash: None,
        role: Role::User,
        is_disabled: false,
        created_at: now(),
        rulesets: Vec::new(),
    };
    for line in [
        r#"{"name":"alice"}"#,
        " {\"name\" : \"alice\"}\r",
        r#"{"name":"alice","email":null,"password_hash":null,"role":null,"disabled":null,"created_at":null,"push_rules":null}"#,
        r#"{"name":"alice","push_rules":{}}"#,
        r#"{"name":"alice","role":"user","disabled":false}"#,
    ] {
        assert_eq!(parse(line), Ok(alice.clone()), "{line}");
    }
}

#[test]
fn every_field_is_read() {
    let hash = "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e";
    let line = json!({
        "name": "alice", "email": "Alice@Example.ORG", "password_hash": hash, "role": "admin",
        "disabled": true, "created_at": "2024-01-31T13:00:00+01:00",
        "push_rules": {"room": [{"rule_id": "!r:x", "actions": []}]},
    });
    let alice = parse(&line.to_string()).unwrap();
    assert_eq!(alice.name, "alice");
    assert_eq!(alice.email.as_deref(), Some("alice@example.org"));
    assert_eq!(alice.password_hash.as_deref(), Some(hash));
    assert_eq!((alice.role, alice.is_disabled), (Role::Admin, true));
    assert_eq!(alice.created_at, "2024-01-31T12:00:00Z".parse().unwrap());
    assert_eq!(alice.rulesets.len(), 1);
}

#[test]
fn an_error_names_the_field_and_the_expected_value() {
    let alice_with = |member: &str| format!(r#"{{"name":"alice",{member}}}"#);
    for (line, message) in [
        ("{", "not JSON: EOF while parsing an object at column 1"),
        ("{}x", "not JSON: trailing characters at column 3"),
        (r#"{"name":"alice","name":"bob"}"#, "duplicate key at column 22"),
        (
            r#"{"name":"\ud800"}"#,
            "the JSON contains a lone surrogate or a number out of range: unexpected end of hex escape at column 16",
        ),
        (
            "name,email",
            r#"must be a JSON object like {"name":"alice","email":"alice@example.org"}"#,
        ),
        ("[]", r#"must be a JSON object like {"name":"alice","email":"alice@example.org"}"#),
        ("{}", "name is missing"),
        (r#"{"name":null}"#, "name is missing"),
        (r#"{"name":1}"#, "name must be a string"),
        (r#"{"name":""}"#, "name can't be blank"),
        (r#"{"name":"al ice"}"#, "name must contain only the letters a to z, digits and . _ = - /"),
        (
            r#"{"name":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#,
            "name is too long (maximum is 64 characters)",
        ),
        (&alice_with(r#""email":true"#), "email must be a string"),
        (&alice_with(r#""email":"alice""#), "email is not a valid e-mail address"),
        (&alice_with(r#""email":"a\u0000@x.org""#), "email is not a valid e-mail address"),
        (&alice_with(r#""password_hash":1"#), "password_hash must be a string"),
        (
            &alice_with(
                r#""password_hash":"$2b$15$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e""#,
            ),
            "password_hash is too expensive to verify at each sign-in: its bcrypt cost is above 14",
        ),
        (&alice_with(r#""role":"owner""#), r#"role must be "user" or "admin""#),
        (&alice_with(r#""role":1"#), "role must be a string"),
        (&alice_with(r#""disabled":"no""#), "disabled must be a boolean"),
        (
            &alice_with(r#""created_at":"yesterday""#),
            r#"created_at must be a time between 1970 and now, like "2024-01-31T12:00:00Z""#,
        ),
        (
            &alice_with(r#""created_at":"2030-01-01T00:00:01Z""#),
            r#"created_at must be a time between 1970 and now, like "2024-01-31T12:00:00Z""#,
        ),
        (
            &alice_with(r#""created_at":"1969-12-31T23:59:59Z""#),
            r#"created_at must be a time between 1970 and now, like "2024-01-31T12:00:00Z""#,
        ),
        (&alice_with(r#""created_at":1700000000"#), "created_at must be a string"),
        (
            &alice_with(r#""passwd":"x""#),
            "unknown field \"passwd\"; known fields: name, email, password_hash, role, disabled, \
             created_at and push_rules",
        ),
    ] {
        assert_eq!(parse(line).unwrap_err().to_string(), message, "{line}");
    }
    let error = ImportedAccount::parse(b"{\"name\":\"\xff\"}", &LIMITS, now()).unwrap_err();
    assert_eq!(error.to_string(), "not UTF-8 at byte 10");
}

#[test]
fn imported_rules_preserve_their_order_and_enabled_state() {
    let rule = |id: &str, enabled: bool| json!({"rule_id": id, "default": false, "enabled": enabled, "actions": ["notify"]});
    let export = json!({
        "override": [], "content": [], "sender": [], "underride": [],
        "room": [rule("!a:x", true), rule("!b:x", false), rule("!c:x", true)],
    });
    let stored_rulesets = import_rulesets(&export).unwrap();
    assert_eq!(stored_rulesets.len(), 1);
    assert_eq!(stored_rulesets[0].0, "global");
    assert_eq!(stored_rulesets[0].1["rules"], export);
    assert_eq!(stored_rulesets[0].1["changes"], json!({}));
    // The whole response to GET /pushrules/ is accepted as well.
    let response = json!({"global": export, "device": {}});
    assert_eq!(import_rulesets(&response).unwrap(), stored_rulesets);
}

#[test]
fn device_rules_are_read_by_profile_tag() {
    let ruleset = json!({"sender": [{"rule_id": "@a:x", "actions": []}]});
    let stored_rulesets =
        import_rulesets(&json!({"device": {"phone": ruleset, "empty": {}}})).unwrap();
    let scopes: Vec<&str> = stored_rulesets.iter().map(|(scope, _)| &**scope).collect();
    assert_eq!(scopes, ["device/phone"]);
    assert_eq!(stored_rulesets[0].1["rules"]["sender"][0]["rule_id"], "@a:x");
}

#[test]
fn only_changes_to_built_in_rules_are_stored() {
    let document = RuleDocument::new(RuleScope::Global);
    let mut export = json!(document.ruleset(User::new("@alice:x.org")));
    assert_eq!(
        import_rulesets(&export).unwrap(),
        [],
        "an export without changes has no user rules"
    );
    export["override"][0]["enabled"] = json!(true);
    export["underride"][0]["actions"] = json!(["notify"]);
    let id = export["underride"][0]["rule_id"].as_str().unwrap().to_owned();
    let stored_rulesets = import_rulesets(&export).unwrap();
    let changes = json!({".m.rule.master": {"enabled": true}, id: {"actions": ["notify"]}});
    assert_eq!(stored_rulesets[0].1["changes"], changes);
    assert_eq!(
        stored_rulesets[0].1["rules"],
        json!({"override": [], "content": [], "room": [], "sender": [], "underride": []})
    );
    // Fields that an imported built-in rule does not have keep their defaults.
    let only_actions = json!({"override": [{"rule_id": ".m.rule.master", "actions": ["notify"]}]});
    let changes = json!({".m.rule.master": {"actions": ["notify"]}});
    assert_eq!(import_rulesets(&only_actions).unwrap()[0].1["changes"], changes);
}

#[test]
fn timed_rules_are_imported_with_their_expiry() {
    let stored_ruleset = import_rulesets(&json!({
        "override": [{"rule_id": ".m.rule.master", "enabled": true, "until": 5}],
        "room": [{"rule_id": "!r:x", "actions": [], "until": 6}],
    }))
    .unwrap()
    .remove(0)
    .1;
    assert_eq!(stored_ruleset["changes"], json!({".m.rule.master": {"enabled": true, "until": 5}}));
    assert_eq!(stored_ruleset["rules"]["room"][0]["until"], 6);
}

#[test]
fn an_unknown_built_in_rule_is_ignored() {
    let rule = json!({"rule_id": ".org.example.rule", "enabled": false, "actions": []});
    assert_eq!(import_rulesets(&json!({"override": [rule.clone()]})), Ok(Vec::new()));
    assert_eq!(
        import_rulesets(&json!({"device": {"phone": {"override": [rule]}}})),
        Ok(Vec::new())
    );
}

#[test]
fn an_invalid_rule_is_rejected_with_its_path() {
    let room_rules = |rule: Value| json!({"room": [{"rule_id": "!a:x", "actions": []}, rule]});
    let override_rule = |conditions: Value| json!({"global": {"override": [{"rule_id": "a", "actions": [], "conditions": conditions}]}});
    let condition = || json!({"kind": "contains_display_name"});
    let numbered_rules = |count: u32| -> Vec<Value> {
        (0..count).map(|n| json!({"rule_id": format!("r{n}"), "actions": []})).collect()
    };
    let large_rule = |bytes| json!({"rule_id": "!w:x", "actions": [], "x": "w".repeat(bytes)});
    for (rules, message) in [
        (json!([]), "push_rules must be a JSON object"),
        (json!({"room": {}}), "push_rules.room must be an array"),
        (
            json!({"rooms": []}),
            "unknown field `push_rules.rooms`; known fields: override, content, room, sender and underride",
        ),
        (
            json!({"global": {}, "room": []}),
            "unknown field `push_rules.room`; known fields: global, builtin_changes and device",
        ),
        (json!({"global": []}), "push_rules.global must be a JSON object"),
        (json!({"device": []}), "push_rules.device must be a JSON object"),
        (
            json!({"device": {"": {}}}),
            "push_rules.device.: a rule id or profile tag must not be empty",
        ),
        (
            json!({"device": {"a/b": {}}}),
            "push_rules.device.a/b: a rule id or profile tag must not contain '/'",
        ),
        (room_rules(json!(1)), "push_rules.room[1]: the rule must be a JSON object"),
        (room_rules(json!({"actions": []})), "push_rules.room[1]: rule_id is missing"),
        (room_rules(json!({"rule_id": 1})), "push_rules.room[1]: rule_id must be a string"),
        (room_rules(json!({"rule_id": "!b:x"})), "push_rules.room[1]: actions is missing"),
        (
            room_rules(json!({"rule_id": "!b:x", "actions": [], "enabled": 1})),
            "push_rules.room[1]: enabled must be a boolean",
        ),
        (
            room_rules(json!({"rule_id": "!b:x", "actions": ["ring"]})),
            "push_rules.room[1]: actions[0] must be notify, dont_notify, coalesce, set_tweak, or an \
             object with set_tweak",
        ),
        (
            room_rules(json!({"rule_id": "a\\b", "actions": []})),
            "push_rules.room[1]: a rule id or profile tag must not contain '\\\\'",
        ),
        (
            room_rules(json!({"rule_id": "!a:x", "actions": []})),
            "push_rules.room[1]: another rule of this kind has the same rule_id; delete one of them",
        ),
        (
            room_rules(large_rule(500)),
            "push_rules.room[1]: a rule must not be larger than 500 bytes",
        ),
        (
            json!({"content": [{"rule_id": "cake", "actions": []}]}),
            "push_rules.content[0]: pattern is missing",
        ),
        (
            json!({"override": [{"rule_id": ".m.rule.master", "actions": "none"}]}),
            "push_rules.override[0]: actions must be an array",
        ),
        (
            override_rule(json!([condition(), condition(), condition()])),
            "push_rules.global.override[0]: a rule may have at most 2 conditions",
        ),
        (
            json!({"room": numbered_rules(5)}),
            "push_rules: an account may have at most 4 rules; delete some",
        ),
        (
            json!({
                "global": {"room": numbered_rules(3)},
                "device": {"phone": {"room": numbered_rules(2)}},
            }),
            "push_rules: an account may have at most 4 rules; delete some",
        ),
    ] {
        assert_eq!(import_rulesets(&rules), Err(message.to_owned()), "{rules}");
    }
    assert_eq!(
        import_rulesets(&override_rule(json!([condition(), condition()]))).unwrap().len(),
        1
    );
    assert_eq!(import_rulesets(&json!({"room": numbered_rules(4)})).unwrap().len(), 1);
    let mut large_rules = numbered_rules(4);
    for rule in &mut large_rules {
        rule["x"] = json!("w".repeat(440));
    }
    let message = "push_rules: the rules of an account must not be larger than 2000 bytes; delete some, or shorten them";
    assert_eq!(import_rulesets(&json!({"room": large_rules})), Err(message.to_owned()));
}

#[test]
fn lines_are_numbered_and_blank_ones_skipped() {
    let mut reader = AccountFileReader::new(LIMITS, HashMap::new(), now());
    assert_eq!(reader.parse_line(b"{\"name\":\"alice\"}\n").unwrap().unwrap().name, "alice");
    assert_eq!(reader.parse_line(b" \r\n"), Ok(None));
    assert_eq!(reader.parse_line(b"").map(|account| account.is_none()), Ok(true));
    assert_eq!(reader.line_number(), 3);
    assert_eq!(
        reader.parse_line(b"x\n").unwrap_err().to_string(),
        r#"line 4: must be a JSON object like {"name":"alice","email":"alice@example.org"}"#
    );
}

#[test]
fn a_repeated_name_or_address_is_rejected() {
    let mut reader = AccountFileReader::new(LIMITS, HashMap::new(), now());
    let mut parse_name = |line: &str| {
        reader
            .parse_line(line.as_bytes())
            .map(|account| account.unwrap().name)
            .map_err(|error| error.to_string())
    };
    assert_eq!(parse_name(r#"{"name":"alice","email":"a@x.org"}"#), Ok("alice".to_owned()));
    assert_eq!(parse_name(r#"{"name":"Bob/="}"#), Ok("bob/=".to_owned()));
    assert_eq!(parse_name(r#"{"name":"carol"}"#), Ok("carol".to_owned()), "an address is optional");
    let same_name = "line 4: name is the same as on line 1; delete or change one of them";
    assert_eq!(parse_name(r#"{"name":"alice"}"#), Err(same_name.to_owned()));
    let same_address = "line 5: email is the same as on line 1; delete or change one of them";
    assert_eq!(parse_name(r#"{"name":"dave","email":"A@X.org"}"#), Err(same_address.to_owned()));
}

#[test]
fn the_account_of_an_application_service_is_rejected() {
    let service_ids = HashMap::from([("bot".to_owned(), "irc".to_owned())]);
    let mut reader = AccountFileReader::new(LIMITS, service_ids, now());
    let error = reader.parse_line(br#"{"name":"bot"}"#).unwrap_err().to_string();
    let expected = "line 1: name is the sender_localpart of the application service \"irc\", and ";
    assert!(error.starts_with(expected), "{error}");
}

proptest! {
    #[test]
    fn parsing_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = ImportedAccount::parse(&bytes, &LIMITS, now());
    }

    #[test]
    fn exported_rules_are_imported_unchanged(
        enabled: [bool; 3],
        is_master_enabled: bool,
        kinds in proptest::collection::vec(0_usize..5, 3),
    ) {
        let mut document = RuleDocument::new(RuleScope::Global);
        for (index, kind) in kinds.into_iter().enumerate() {
            let kind = RuleKind::ALL[kind];
            let id = format!("r{index}");
            let rule = crate::rules::NewRule::from_json(kind, json!({"actions": ["notify"], "pattern": "x"}), NewRuleLimits::default(), Timestamp::UNIX_EPOCH).unwrap();
            document.put(kind, id.parse().unwrap(), rule, crate::rules::RulePosition::default()).unwrap();
            document.set_enabled(kind, &id, enabled[index]).unwrap();
        }
        if is_master_enabled {
            document.set_enabled(RuleKind::Override, ".m.rule.master", true).unwrap();
        }
        let export = json!(document.ruleset(User::new("@alice:x.org")));
        let line = json!({"name": "alice", "push_rules": export}).to_string();
        prop_assert_eq!(parse(&line).unwrap().rulesets, [document]);
    }
}
