//! Tests of imported rulesets. The tests of imported accounts (`core/src/import/tests.rs`) have
//! more examples.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::matrix::MatrixErrorCode::{self, BadJson, InvalidParam, MissingParam};
use crate::rules::{
    Action, RulePosition, RulesetsExport, RulesetsResponse, User, UserRuleDocuments, builtin,
};

const LIMITS: NewRuleLimits = NewRuleLimits { conditions: 2, bytes: 500 };
const UNLIMITED: NewRuleLimits = NewRuleLimits { conditions: usize::MAX, bytes: usize::MAX };

fn now() -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000).unwrap()
}

fn import(body: &Value) -> Result<Vec<RuleDocument>, RuleError> {
    read_import(body.to_string().as_bytes(), LIMITS, now())
}

/// Returns a global document and a device document with rules of every kind, and changes to
/// built-in rules.
fn example_documents() -> [RuleDocument; 2] {
    let mut global = RuleDocument::new(RuleScope::Global);
    let mut phone = RuleDocument::new("device/phone".parse().unwrap());
    let body = json!({"actions": ["notify"], "pattern": "p", "conditions": [], "org.x": [null]});
    for &kind in RuleKind::ALL {
        for id in ["b", "a"] {
            for document in [&mut global, &mut phone] {
                let new_rule = NewRule::from_json(
                    kind,
                    body.clone(),
                    NewRuleLimits::default(),
                    Timestamp::UNIX_EPOCH,
                )
                .unwrap();
                document.put(kind, id.parse().unwrap(), new_rule, RulePosition::default()).unwrap();
                document.set_enabled(kind, id, id == "a").unwrap();
            }
        }
    }
    global.set_enabled(RuleKind::Override, builtin::MASTER, true).unwrap();
    // This change equals the definition. It is stored, because the definition may change.
    global.set_enabled(RuleKind::Underride, ".m.rule.message", true).unwrap();
    global
        .set_actions(
            RuleKind::Underride,
            ".m.rule.call",
            vec![Action::Notify],
            NewRuleLimits::default(),
        )
        .unwrap();
    [global, phone]
}

#[test]
fn an_export_is_imported_unchanged() {
    let documents = example_documents();
    let export = json!(RulesetsExport::new(&documents, Timestamp::UNIX_EPOCH));
    assert_eq!(import(&export).unwrap(), documents);
    let empty_export = json!(RulesetsExport::new([], Timestamp::UNIX_EPOCH));
    assert_eq!(import(&empty_export).unwrap(), []);
}

#[test]
fn the_response_with_all_rulesets_is_imported_with_the_same_effect() {
    let documents = example_documents();
    let user = User::new("@alice:x.org");
    let response = json!(RulesetsResponse::new(&documents, user));
    let imported_documents = import(&response).unwrap();
    assert_eq!(json!(RulesetsResponse::new(&imported_documents, user)), response);
    let patched_ids: Vec<&str> = imported_documents[0].patches().map(|(id, _)| id).collect();
    assert_eq!(patched_ids, [".m.rule.call", builtin::MASTER], "only differences are stored");
}

#[test]
fn changes_to_builtin_rules_of_other_versions_are_stored() {
    let body = json!({"global": {}, "builtin_changes": {
        ".m.rule.from_2030": {"enabled": false}, ".m.rule.master": {},
    }});
    let imported_documents = import(&body).unwrap();
    assert_eq!(imported_documents.len(), 1);
    let patched_ids: Vec<&str> = imported_documents[0].patches().map(|(id, _)| id).collect();
    assert_eq!(patched_ids, [".m.rule.from_2030"]);
}

#[test]
fn expired_rules_and_changes_are_omitted() {
    let rule_until =
        |millis: i64| json!({"rule_id": format!("r{millis}"), "actions": [], "until": millis});
    let past = 1_800_000_000_000_i64;
    let future = 1_800_000_000_001_i64;
    let body = json!({
        "global": {"room": [rule_until(past), rule_until(future)]},
        "builtin_changes": {
            ".m.rule.master": {"enabled": true, "until": past},
            ".m.rule.call": {"enabled": false, "actions": [], "until": past},
            ".m.rule.message": {"enabled": false, "until": future},
        },
        "device": {"phone": {"room": [rule_until(past)]}},
    });
    let imported_documents = import(&body).unwrap();
    let export = json!(RulesetsExport::new(&imported_documents, now()));
    assert_eq!(imported_documents.len(), 1);
    assert_eq!(export["global"]["room"][0]["until"], future);
    assert_eq!(export["global"]["room"].as_array().unwrap().len(), 1);
    let changes = json!({
        ".m.rule.call": {"actions": []}, ".m.rule.message": {"enabled": false, "until": future},
    });
    assert_eq!(export["builtin_changes"], changes);
    assert_eq!(import(&export).unwrap(), imported_documents);
    // The response with built-in rules contains `until` as well.
    let user = User::new("@alice:x.org");
    let response = json!(RulesetsResponse::new(&imported_documents, user));
    assert_eq!(import(&response).unwrap(), imported_documents);
}

#[test]
fn an_invalid_body_is_rejected_with_the_path() {
    let rule = json!({"rule_id": "a", "actions": []});
    let body_with = |changes: Value| json!({"global": {}, "builtin_changes": changes});
    for (body, code, message) in [
        (json!([]), BadJson, "the body must be a JSON object"),
        (json!({}), MissingParam, "global is missing"),
        (json!({"room": [rule]}), MissingParam, "global is missing"),
        (json!({"device": {}}), MissingParam, "global is missing"),
        (json!({"global": []}), BadJson, "global must be a JSON object"),
        (json!({"global": {}, "version": "2"}), InvalidParam, "version must be the string \"1\""),
        (json!({"global": {}, "version": 1}), InvalidParam, "version must be the string \"1\""),
        (
            json!({"global": {}, "devices": {}}),
            BadJson,
            "unknown field `devices`; known fields: global, builtin_changes and device",
        ),
        (
            json!({"global": {"rooms": []}}),
            BadJson,
            "unknown field `global.rooms`; known fields: override, content, room, sender and underride",
        ),
        (json!({"global": {"room": {}}}), BadJson, "global.room must be an array"),
        (
            json!({"global": {"room": [rule, {"rule_id": "b"}]}}),
            MissingParam,
            "global.room[1]: actions is missing",
        ),
        (
            json!({"global": {"room": [rule, rule]}}),
            InvalidParam,
            "global.room[1]: another rule of this kind has the same rule_id; delete one of them",
        ),
        (
            json!({"global": {}, "device": {"a": {"room": [1]}}}),
            BadJson,
            "device.a.room[0]: the rule must be a JSON object",
        ),
        (
            json!({"global": {}, "device": {"a/b": {}}}),
            InvalidParam,
            "device.a/b: a rule id or profile tag must not contain '/'",
        ),
        (
            json!({"global": {"room": [{"rule_id": "a", "actions": [], "x": "y".repeat(500)}]}}),
            MatrixErrorCode::TooLarge,
            "global.room[0]: a rule must not be larger than 500 bytes",
        ),
        (body_with(json!([])), BadJson, "builtin_changes must be a JSON object"),
        (
            body_with(json!({"cake": {"enabled": true}})),
            InvalidParam,
            "builtin_changes.cake: the id must be that of a built-in rule, which begins with a dot",
        ),
        (
            body_with(json!({".a/b": {"enabled": true}})),
            InvalidParam,
            "builtin_changes..a/b: a rule id or profile tag must not contain '/'",
        ),
        (
            body_with(json!({".m.rule.master": true})),
            BadJson,
            "builtin_changes..m.rule.master: the change must be a JSON object",
        ),
        (
            body_with(json!({".m.rule.master": {"enabled": 1}})),
            BadJson,
            "builtin_changes..m.rule.master: enabled must be a boolean",
        ),
        (
            body_with(json!({".m.rule.master": {"actions": ["ring"]}})),
            InvalidParam,
            "builtin_changes..m.rule.master: actions[0] must be notify, dont_notify, coalesce, \
             set_tweak, or an object with set_tweak",
        ),
        (
            body_with(json!({".m.rule.master": {"actions": [], "until": 1}})),
            MissingParam,
            "builtin_changes..m.rule.master: enabled is missing",
        ),
        (
            json!({"global": {"room": [{"rule_id": "a", "actions": [], "until": "x"}]}}),
            BadJson,
            "global.room[0]: until must be an integer: Unix time in milliseconds",
        ),
        (
            body_with(json!({".m.rule.master": {"conditions": []}})),
            BadJson,
            "builtin_changes..m.rule.master: unknown field `conditions`; known fields: enabled, actions and until",
        ),
    ] {
        let error = import(&body).unwrap_err();
        assert_eq!((error.code(), &*error.to_string()), (code, message), "{body}");
    }
    let body_with_long_name = json!({"global": {}, "device": {"x".repeat(10_000): {}}});
    assert!(
        import(&body_with_long_name).unwrap_err().to_string().len() < 500,
        "a long name is truncated"
    );
}

#[test]
fn a_maximally_nested_rule_is_exported_and_imported() {
    let depth = json::MAX_DEPTH - 1;
    let rule = format!(r#"{{"actions":[],"x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let new_rule = NewRule::parse(
        RuleKind::Room,
        rule.as_bytes(),
        NewRuleLimits::default(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    let mut document = RuleDocument::new("device/a".parse().unwrap());
    document.put(RuleKind::Room, "a".parse().unwrap(), new_rule, RulePosition::default()).unwrap();
    let export = json::to_bytes(&RulesetsExport::new([&document], Timestamp::UNIX_EPOCH));
    assert_eq!(read_import(&export, LIMITS, now()), Ok(vec![document]));
}

/// Documents with random rules and changes to built-in rules, none of them empty.
fn any_documents() -> impl Strategy<Value = Vec<RuleDocument>> {
    let change = (
        prop::sample::select(&["global", "device/a", "device/b"][..]),
        prop::sample::select(RuleKind::ALL),
        prop_oneof![8 => "[a-d]", 1 => Just(builtin::MASTER.to_owned())],
        any::<(bool, bool, String)>(),
    );
    prop::collection::vec(change, 0..40).prop_map(|changes| {
        let mut documents = UserRuleDocuments::default();
        for (scope, kind, id, (is_put, enabled, text)) in changes {
            let document = documents.get_mut(&scope.parse().unwrap());
            let rule = json!({"actions": [{"set_tweak": "sound", "value": text}], "pattern": text,
                "conditions": [{"kind": "event_match", "key": "a", "pattern": text}],
                "org.x": {"a": [1.5, text]}});
            // Changes that are not possible, such as putting a built-in rule, are skipped.
            let _ = match id.parse() {
                Ok(id) if is_put => {
                    let new_rule = NewRule::from_json(kind, rule, UNLIMITED, now()).unwrap();
                    document.put(kind, id, new_rule, RulePosition::default())
                }
                _ => document.set_enabled(kind, &id, enabled),
            };
        }
        documents.into_changed().filter(|document| !document.is_empty()).collect()
    })
}

proptest! {
    #[test]
    fn any_documents_are_imported_from_their_export(
        documents in any_documents(),
        stored_documents in any_documents(),
    ) {
        let export = json::to_bytes(&RulesetsExport::new(&documents, Timestamp::UNIX_EPOCH));
        let imported_documents = read_import(&export, UNLIMITED, now()).unwrap();
        let mut target = UserRuleDocuments::new(&stored_documents);
        target.replace_all(&imported_documents);
        let by_scope = |documents: Vec<RuleDocument>| {
            let mut documents = documents;
            documents.retain(|document| !document.is_empty());
            documents.sort_by(|a, b| a.scope().cmp(b.scope()));
            documents
        };
        prop_assert_eq!(by_scope(target.into_changed().collect()), by_scope(documents));
    }

    #[test]
    fn parsing_does_not_panic(bytes in any::<Vec<u8>>()) {
        let _ = read_import(&bytes, LIMITS, now());
    }
}
