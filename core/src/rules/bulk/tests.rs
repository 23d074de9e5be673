//! Tests of bulk changes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::matrix::MatrixErrorCode::{self, BadJson, InvalidParam, MissingParam, NotFound};
use crate::rules::{
    NewRule, NewRuleLimits, RuleDocument, RuleExpiry, RuleKind, RuleScope, builtin,
};

const LIMITS: NewRuleLimits = NewRuleLimits { conditions: 2, bytes: 500 };

fn now() -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000).unwrap()
}

fn parse_body(body: &Value) -> Result<RuleChanges, RuleError> {
    RuleChanges::parse(body.to_string().as_bytes(), LIMITS, now())
}

fn parse_changes(list: &Value) -> RuleChanges {
    parse_body(&json!({"changes": list})).unwrap()
}

/// Applies changes to documents, and returns the documents to save.
fn apply_changes(
    list: &Value,
    stored_documents: &[RuleDocument],
) -> Result<Vec<RuleDocument>, RuleError> {
    let mut documents = UserRuleDocuments::new(stored_documents);
    parse_changes(list).apply(&mut documents)?;
    Ok(documents.into_changed().collect())
}

fn put_change(id: &str) -> Value {
    json!({"op": "put", "kind": "room", "rule_id": id, "rule": {"actions": ["notify"]}})
}

fn room_ids(document: &RuleDocument) -> Vec<&str> {
    document.user_rules()[RuleKind::Room].iter().map(|rule| rule.rule_id.as_str()).collect()
}

#[test]
fn changes_are_applied_in_order_in_several_scopes() {
    let mut put_after_a = put_change("c");
    put_after_a["after"] = json!("a");
    let mut put_before_c = put_change("d");
    put_before_c["before"] = json!("c");
    let mut put_on_phone = put_change("p");
    put_on_phone["scope"] = json!("device/phone");
    let list = json!([
        put_change("a"), put_change("b"), put_after_a, put_before_c, put_on_phone,
        {"op": "delete", "kind": "room", "rule_id": "b"},
        {"op": "set_enabled", "kind": "room", "rule_id": "a", "enabled": false},
        {"op": "set_actions", "kind": "room", "rule_id": "a", "actions": []},
        {"op": "set_enabled", "scope": "global", "kind": "override", "rule_id": ".m.rule.master",
         "enabled": true},
    ]);
    let changed_documents = apply_changes(&list, &[]).unwrap();
    let [global, phone] = changed_documents.as_slice() else { panic!("{changed_documents:?}") };
    assert_eq!(room_ids(global), ["a", "d", "c"]);
    let first_rule = &global.user_rules()[RuleKind::Room][0];
    assert_eq!((first_rule.enabled, first_rule.actions.as_slice()), (false, &[][..]));
    assert_eq!(global.patch(builtin::MASTER).unwrap().enabled, Some(true));
    assert_eq!((phone.scope().to_string(), room_ids(phone)), ("device/phone".into(), vec!["p"]));
}

#[test]
fn new_rules_and_builtin_changes_may_expire() {
    let until = 1_800_000_000_001_i64;
    let list = json!([
        {"op": "put", "kind": "room", "rule_id": "a", "rule": {"actions": [], "until": until}},
        {"op": "set_enabled", "kind": "override", "rule_id": ".m.rule.master", "enabled": true,
         "until": until},
    ]);
    let changed_documents = apply_changes(&list, &[]).unwrap();
    let expiry = RuleExpiry::try_from(until).ok();
    assert_eq!(changed_documents[0].user_rules()[RuleKind::Room][0].until, expiry);
    assert_eq!(changed_documents[0].patch(builtin::MASTER).unwrap().until, expiry);
    let user_rule_changes = json!([
        put_change("a"),
        {"op": "set_enabled", "kind": "room", "rule_id": "a", "enabled": true, "until": until},
    ]);
    let error = apply_changes(&user_rule_changes, &[]).unwrap_err();
    assert_eq!((error.code(), error.change_index()), (InvalidParam, Some(1)));
}

#[test]
fn an_empty_list_changes_nothing() {
    assert_eq!(apply_changes(&json!([]), &[RuleDocument::new(RuleScope::Global)]), Ok(Vec::new()));
}

#[test]
fn an_inapplicable_change_is_reported_with_its_index() {
    let delete = |kind: &str, id: &str| json!({"op": "delete", "kind": kind, "rule_id": id});
    let enable =
        |id: &str| json!({"op": "set_enabled", "kind": "override", "rule_id": id, "enabled": true});
    let mut put_before_y = put_change("x");
    put_before_y["before"] = json!("y");
    for (list, code, message) in [
        (json!([delete("room", "a")]), NotFound, r#"changes[0]: there is no room rule "a""#),
        (
            json!([put_change("a"), delete("room", "a"), delete("room", "a")]),
            NotFound,
            r#"changes[2]: there is no room rule "a""#,
        ),
        (
            json!([put_change("a"), delete("override", ".m.rule.master")]),
            NotFound,
            r#"changes[1]: ".m.rule.master" is a built-in rule and cannot be deleted; disable it instead"#,
        ),
        (json!([enable(".m.x")]), NotFound, r#"changes[0]: there is no override rule ".m.x""#),
        (
            json!([put_change("a"), put_before_y]),
            MatrixErrorCode::Unknown,
            r#"changes[1]: there is no room rule "y" to place the rule next to"#,
        ),
    ] {
        let error = apply_changes(&list, &[]).unwrap_err();
        assert_eq!((error.code(), &*error.to_string()), (code, message), "{list}");
        assert_eq!(error.change_index(), message[8..9].parse().ok(), "{list}");
    }
}

#[test]
fn an_invalid_change_is_reported_with_its_index() {
    let body_with = |change: Value| json!({"changes": [put_change("a"), change]});
    let put_with = |member: &str, value: Value| {
        let mut change = put_change("b");
        change[member] = value;
        body_with(change)
    };
    let condition = json!({"kind": "contains_display_name"});
    let conditions = json!([condition, condition, condition]);
    for (body, code, message) in [
        (body_with(json!(1)), BadJson, "changes[1]: the change must be a JSON object"),
        (body_with(json!({})), MissingParam, "changes[1]: op is missing"),
        (body_with(json!({"op": "put"})), MissingParam, "changes[1]: kind is missing"),
        (
            body_with(json!({"op": "put", "kind": "room"})),
            MissingParam,
            "changes[1]: rule_id is missing",
        ),
        (
            body_with(json!({"op": "delete", "kind": "room", "rule_id": 1})),
            BadJson,
            "changes[1]: rule_id must be a string",
        ),
        (
            put_with("op", json!("move")),
            InvalidParam,
            "changes[1]: op must be put, delete, set_enabled or set_actions",
        ),
        (
            put_with("scope", json!("everywhere")),
            InvalidParam,
            "changes[1]: scope must be global or device/<profile_tag>",
        ),
        (
            put_with("scope", json!("device/")),
            InvalidParam,
            "changes[1]: the profile tag: a rule id or profile tag must not be empty",
        ),
        (
            put_with("kind", json!("rooms")),
            InvalidParam,
            "changes[1]: kind must be override, content, room, sender or underride",
        ),
        (
            put_with("rule_id", json!("a/b")),
            InvalidParam,
            "changes[1]: a rule id or profile tag must not contain '/'",
        ),
        (
            put_with("rule_id", json!(".m.rule.master")),
            InvalidParam,
            "changes[1]: rule ids that begin with a dot are reserved for built-in rules",
        ),
        (put_with("rule", json!([])), BadJson, "changes[1]: rule must be a JSON object"),
        (put_with("rule", json!({})), MissingParam, "changes[1]: rule: actions is missing"),
        (put_with("kind", json!("content")), MissingParam, "changes[1]: rule: pattern is missing"),
        (
            put_with("rule", json!({"actions": [], "conditions": conditions})),
            InvalidParam,
            "changes[1]: rule: a rule may have at most 2 conditions",
        ),
        (
            put_with("rule", json!({"actions": [], "x": "y".repeat(500)})),
            MatrixErrorCode::TooLarge,
            "changes[1]: rule: a rule must not be larger than 500 bytes",
        ),
        (put_with("before", json!(null)), BadJson, "changes[1]: before must be a string"),
        (
            put_with("position", json!("a")),
            BadJson,
            "changes[1]: unknown field `position`; known fields: op, scope, kind, rule_id, rule, before and after",
        ),
        (
            body_with(json!({"op": "delete", "kind": "room", "rule_id": "a", "rule": {}})),
            BadJson,
            "changes[1]: unknown field `rule`; known fields: op, scope, kind and rule_id",
        ),
    ] {
        let error = parse_body(&body).unwrap_err();
        assert_eq!((error.code(), &*error.to_string()), (code, message), "{body}");
        assert_eq!(error.change_index(), Some(1), "{body}");
    }
}

#[test]
fn an_invalid_attribute_or_expiry_is_reported_with_the_index_of_its_change() {
    let body_with = |change: Value| json!({"changes": [put_change("a"), change]});
    for (body, code, message) in [
        (
            body_with(json!({"op": "set_enabled", "kind": "room", "rule_id": "a"})),
            MissingParam,
            "changes[1]: enabled is missing",
        ),
        (
            body_with(json!({"op": "put", "kind": "room", "rule_id": "b",
                "rule": {"actions": [], "until": 1_799_999_999_999_i64}})),
            InvalidParam,
            "changes[1]: rule: until must be in the future: it is 1799999999999, and the server's \
             clock is at 1800000000000 (Unix time in milliseconds)",
        ),
        (
            body_with(json!({"op": "set_enabled", "kind": "room", "rule_id": "a", "enabled": true,
                "until": 1})),
            InvalidParam,
            "changes[1]: until must be in the future: it is 1, and the server's clock is at \
             1800000000000 (Unix time in milliseconds)",
        ),
        (
            body_with(json!({"op": "set_enabled", "kind": "room", "rule_id": "a", "enabled": 1})),
            BadJson,
            "changes[1]: enabled must be a boolean",
        ),
        (
            body_with(
                json!({"op": "set_actions", "kind": "room", "rule_id": "a", "actions": ["x"]}),
            ),
            InvalidParam,
            "changes[1]: actions[0] must be notify, dont_notify, coalesce, set_tweak, or an object \
             with set_tweak",
        ),
    ] {
        let error = parse_body(&body).unwrap_err();
        assert_eq!((error.code(), &*error.to_string()), (code, message), "{body}");
        assert_eq!(error.change_index(), Some(1), "{body}");
    }
}

#[test]
fn a_malformed_body_is_rejected() {
    for (body, code, message) in [
        ("", MatrixErrorCode::NotJson, "the body is not JSON: EOF while parsing a value"),
        (r#"{"changes":[]"#, MatrixErrorCode::NotJson, "the body is not JSON: EOF"),
        ("[]", BadJson, "the body must be a JSON object"),
        ("{}", MissingParam, "changes is missing"),
        (r#"{"changes":{}}"#, BadJson, "changes must be an array"),
        (r#"{"changes":null}"#, BadJson, "changes must be an array"),
        (r#"{"changes":[],"mode":"x"}"#, BadJson, "unknown field `mode`; known fields: changes"),
        (r#"{"changes":[],"changes":[]}"#, BadJson, "duplicate key in object"),
    ] {
        let error = RuleChanges::parse(body.as_bytes(), LIMITS, now()).unwrap_err();
        assert_eq!((error.code(), error.change_index()), (code, None), "{body}");
        assert!(error.to_string().starts_with(message), "{body}: {error}");
    }
    let body_with_long_name = json!({"changes": [], "x".repeat(10_000): 1});
    assert!(
        parse_body(&body_with_long_name).unwrap_err().to_string().len() < 400,
        "a long name is truncated"
    );
}

#[test]
fn the_number_of_changes_is_limited() {
    let body_with = |count: usize| json!({"changes": vec![put_change("a"); count]});
    assert!(parse_body(&body_with(MAX_CHANGES)).is_ok());
    let error = parse_body(&body_with(MAX_CHANGES + 1)).unwrap_err();
    assert_eq!(error, RuleError::TooManyChanges(1000));
    assert_eq!(error.code(), MatrixErrorCode::TooLarge);
}

#[test]
fn a_rule_may_be_nested_as_deeply_as_in_a_separate_request() {
    for (depth, is_valid) in [(json::MAX_DEPTH - 1, true), (json::MAX_DEPTH, false)] {
        let rule = format!(r#"{{"actions":[],"x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        let rule_limits = NewRuleLimits::default();
        let separate = NewRule::parse(RuleKind::Room, rule.as_bytes(), rule_limits, now());
        assert_eq!(separate.is_ok(), is_valid);
        let body =
            format!(r#"{{"changes":[{{"op":"put","kind":"room","rule_id":"a","rule":{rule}}}]}}"#);
        assert_eq!(RuleChanges::parse(body.as_bytes(), rule_limits, now()).is_ok(), is_valid);
    }
}

/// Generates changes to rules with only a few different ids, so that the changes affect each other.
pub(in crate::rules) fn any_change() -> impl Strategy<Value = Value> {
    let rule = (
        prop::sample::select(&["global", "device/a", "device/b"][..]),
        prop::sample::select(&RuleKind::ALL),
        prop_oneof![8 => "[a-d]", 1 => Just(builtin::MASTER.to_owned())],
    );
    let neighbour = || prop::option::weighted(0.3, "[a-d]");
    let actions = prop_oneof![
        Just(json!([])),
        Just(json!(["notify", {"set_tweak": "sound", "value": "default"}])),
        Just(json!(["dont_notify", {"set_tweak": "highlight", "org.x": null}])),
    ];
    let operation = prop_oneof![
        5 => (actions.clone(), neighbour(), neighbour(), any::<String>()).prop_map(
            |(actions, before, after, text)| {
                let conditions = json!([{"kind": "event_match", "key": "a", "pattern": text}]);
                let rule = json!({"actions": actions, "pattern": text, "conditions": conditions,
                    "org.x": {"a": [1.5, text]}});
                let mut change = json!({"op": "put", "rule": rule});
                for (name, id) in [("before", before), ("after", after)] {
                    if let Some(id) = id {
                        change[name] = json!(id);
                    }
                }
                change
            }
        ),
        2 => Just(json!({"op": "delete"})),
        2 => any::<bool>().prop_map(|enabled| json!({"op": "set_enabled", "enabled": enabled})),
        2 => actions.prop_map(|actions| json!({"op": "set_actions", "actions": actions})),
    ];
    (rule, operation).prop_map(|((scope, kind, id), mut change)| {
        change["scope"] = json!(scope);
        change["kind"] = json!(kind);
        change["rule_id"] = json!(id);
        change
    })
}

/// Applies the changes one by one, skips changes that fail, and returns the documents that are not
/// empty.
pub(in crate::rules) fn documents_after(changes: &[Value]) -> Vec<RuleDocument> {
    let mut documents = UserRuleDocuments::default();
    for change in changes {
        let mut changed_documents = documents.clone();
        let limits = NewRuleLimits { conditions: usize::MAX, bytes: usize::MAX };
        let body = json!({"changes": [change]}).to_string();
        let parsed_changes = RuleChanges::parse(body.as_bytes(), limits, now());
        if parsed_changes.and_then(|changes| changes.apply(&mut changed_documents)).is_ok() {
            documents = changed_documents;
        }
    }
    documents.into_changed().filter(|document| !document.is_empty()).collect()
}

proptest! {
    #[test]
    fn a_list_has_the_same_result_as_its_changes_one_by_one(
        earlier_changes in prop::collection::vec(any_change(), 0..20),
        list in prop::collection::vec(any_change(), 0..6),
    ) {
        let stored_documents = documents_after(&earlier_changes);
        let parse_list = |list: &[Value]| RuleChanges::parse(
            json!({"changes": list}).to_string().as_bytes(),
            NewRuleLimits { conditions: usize::MAX, bytes: usize::MAX },
            now(),
        );
        let mut documents_one_by_one = UserRuleDocuments::new(&stored_documents);
        let mut expected = Ok(());
        for (index, change) in list.iter().enumerate() {
            let one_change = std::slice::from_ref(change);
            let result = parse_list(one_change)
                .and_then(|changes| changes.apply(&mut documents_one_by_one));
            if let Err(RuleError::InChange { error, .. }) = result {
                expected = Err(RuleError::InChange { index, error });
                break;
            }
        }
        let mut documents_together = UserRuleDocuments::new(&stored_documents);
        let result = parse_list(&list).and_then(|changes| changes.apply(&mut documents_together));
        match (&expected, &result) {
            (Ok(()), _) => {
                prop_assert_eq!(&result, &Ok(()));
                prop_assert_eq!(documents_together, documents_one_by_one);
            }
            // An invalid change is reported before an earlier change that cannot be applied.
            (Err(first_error), Err(error)) => {
                prop_assert!(first_error.change_index() <= error.change_index());
            }
            (Err(_), Ok(())) => prop_assert!(false, "{expected:?}"),
        }
    }

    #[test]
    fn parsing_does_not_panic(bytes in any::<Vec<u8>>()) {
        let _ = RuleChanges::parse(&bytes, LIMITS, now());
    }
}
