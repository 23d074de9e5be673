//! Tests of changes to one rule.

use serde_json::{Value, json};

use super::*;
use crate::json as strict_json;
use crate::matrix::MatrixErrorCode::{
    self, BadJson, InvalidParam, MissingParam, TooLarge, Unknown,
};
use crate::rules::{RuleKind, RulesetsExport, read_import};

const LIMITS: NewRuleLimits = NewRuleLimits { conditions: 2, bytes: 200 };

fn now() -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000).unwrap()
}

fn rule_ref(id: &str) -> RuleRef {
    RuleRef { scope: RuleScope::Global, kind: RuleKind::Room, id: id.to_owned() }
}

fn parse_target(id: &str, query: &str) -> Result<PutTarget, RuleError> {
    PutTarget::new(rule_ref(id), crate::percent::parse_query(query).unwrap())
}

fn parse_put(id: &str, body: &Value) -> Result<RuleChange, RuleError> {
    RuleChange::put(parse_target(id, "")?, body.to_string().as_bytes(), LIMITS, now())
}

/// Returns a rule body of this size in bytes.
fn body_of_size(bytes: usize) -> Value {
    json!({"actions": [], "x": "x".repeat(bytes - r#"{"actions":[],"x":""}"#.len())})
}

#[test]
fn before_and_after_are_read_from_the_query_and_must_not_be_repeated() {
    for (query, before, after) in [
        ("", None, None),
        ("before=a", Some("a"), None),
        ("after=b&Before=y&before=", Some(""), Some("b")),
    ] {
        let target = parse_target("r", query).unwrap();
        assert_eq!((target.before.as_deref(), target.after.as_deref()), (before, after), "{query}");
    }
    for query in ["before=a&before=a", "after=a&before=b&after=c"] {
        assert_eq!(parse_target("r", query).unwrap_err().code(), Unknown, "{query}");
    }
}

#[test]
fn a_rule_is_accepted_only_if_its_id_and_body_are_valid() {
    let condition = json!({"kind": "contains_display_name"});
    let with_conditions =
        |count| json!({"actions": [], "conditions": vec![condition.clone(); count]});
    let with_until = |until: i64| json!({"actions": [], "until": until});
    for body in [
        body_of_size(LIMITS.bytes),
        with_conditions(LIMITS.conditions),
        with_until(1_800_000_000_001),
    ] {
        assert!(parse_put("a", &body).is_ok(), "{body}");
    }
    for (id, body, code) in [
        (".a", json!({"actions": []}), InvalidParam),
        ("a", json!([]), BadJson),
        ("a", json!({}), MissingParam),
        ("a", json!({"actions": ["ring"]}), InvalidParam),
        ("a", body_of_size(LIMITS.bytes + 1), TooLarge),
        ("a", with_conditions(LIMITS.conditions + 1), InvalidParam),
        ("a", with_until(1_800_000_000_000), InvalidParam),
    ] {
        assert_eq!(parse_put(id, &body).unwrap_err().code(), code, "{id} {body}");
    }
}

#[test]
fn an_enabled_change_is_accepted_only_if_its_body_is_valid() {
    let parse = |body: &str| RuleChange::set_enabled(rule_ref("a"), body.as_bytes(), now());
    for body in ["true", r#"{"enabled":false}"#, r#"{"enabled":true,"until":1800000000001}"#] {
        assert!(parse(body).is_ok(), "{body}");
    }
    for (body, code) in [
        ("1", BadJson),
        ("{}", MissingParam),
        (r#"{"enabled":true,"until":1800000000000}"#, InvalidParam),
    ] {
        assert_eq!(parse(body).unwrap_err().code(), code, "{body}");
    }
}

#[test]
fn an_actions_body_is_an_object_with_an_array() {
    let parse = |body: &str| RuleChange::set_actions(rule_ref("a"), body.as_bytes(), LIMITS);
    for body in [r#"{"actions":["notify"]}"#, r#"{"actions":[],"x":1}"#] {
        assert!(parse(body).is_ok(), "{body}");
    }
    for (body, code) in [
        ("{}", MissingParam),
        ("[]", BadJson),
        (r#"{"actions":{}}"#, BadJson),
        (r#"{"action":[]}"#, MissingParam),
        (r#"{"actions":["ring"]}"#, InvalidParam),
        ("", MatrixErrorCode::NotJson),
    ] {
        assert_eq!(parse(body).unwrap_err().code(), code, "{body}");
    }
}

#[test]
fn new_actions_cannot_grow_a_rule_above_the_maximum_size() {
    let set_actions = |document: &mut RuleDocument, count: usize, bytes: usize| {
        let body = json!({"actions": vec!["notify"; count]}).to_string();
        let limits = NewRuleLimits { bytes, ..LIMITS };
        RuleChange::set_actions(rule_ref("a"), body.as_bytes(), limits)?.apply(document)
    };
    let mut document = RuleDocument::new(RuleScope::Global);
    parse_put("a", &body_of_size(LIMITS.bytes - 9)).unwrap().apply(&mut document).unwrap();
    // The first action takes 8 bytes, each additional one 9.
    assert_eq!(
        set_actions(&mut document, 2, LIMITS.bytes),
        Err(RuleError::RuleTooLarge(LIMITS.bytes))
    );
    assert_eq!(document.user_rules()[RuleKind::Room][0].actions, []);
    assert_eq!(set_actions(&mut document, 1, LIMITS.bytes), Ok(()));
    // After the limit was lowered, the rule may shrink.
    assert_eq!(set_actions(&mut document, 2, 100), Err(RuleError::RuleTooLarge(100)));
    assert_eq!(set_actions(&mut document, 1, 100), Ok(()));
    assert_eq!(set_actions(&mut document, 0, 100), Ok(()));
}

#[test]
fn a_rule_of_maximum_size_is_exported_and_imported() {
    let mut document = RuleDocument::new(RuleScope::Global);
    parse_put(&"i".repeat(255), &body_of_size(LIMITS.bytes)).unwrap().apply(&mut document).unwrap();
    let export = strict_json::to_bytes(&RulesetsExport::new([&document], now()));
    assert_eq!(read_import(&export, LIMITS, now()), Ok(vec![document]));
}
