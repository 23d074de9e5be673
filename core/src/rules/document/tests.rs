//! Tests of rule documents.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::json;
use crate::matrix::MatrixErrorCode;
use crate::rules::{RulesetsResponse, User, builtin};

mod model;
mod timed;

fn alice() -> User<'static> {
    User::new("@alice:x.org")
}

fn global_document() -> RuleDocument {
    RuleDocument::new(RuleScope::Global)
}

fn phone_document() -> RuleDocument {
    RuleDocument::new("device/phone".parse().unwrap())
}

fn silent_rule(kind: RuleKind) -> NewRule {
    NewRule::parse(
        kind,
        br#"{"actions":[],"pattern":"p"}"#,
        NewRuleLimits::default(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap()
}

fn before(id: &str) -> RulePosition<'_> {
    RulePosition { before: Some(id), after: None }
}

fn after(id: &str) -> RulePosition<'_> {
    RulePosition { before: None, after: Some(id) }
}

fn put_rule(
    document: &mut RuleDocument,
    kind: RuleKind,
    id: &str,
    position: RulePosition<'_>,
) -> Result<(), RuleError> {
    document.put(kind, id.parse().unwrap(), silent_rule(kind), position)
}

/// Returns a document with these room rules, in this order.
fn document_with_rooms<const N: usize>(ids: [&str; N]) -> RuleDocument {
    let mut document = global_document();
    for id in ids.into_iter().rev() {
        put_rule(&mut document, RuleKind::Room, id, RulePosition::default()).unwrap();
    }
    document
}

fn user_rule_ids(document: &RuleDocument, kind: RuleKind) -> Vec<&str> {
    document.user_rules()[kind].iter().map(|rule| rule.rule_id.as_str()).collect()
}

#[test]
fn a_new_rule_is_placed_above_all_rules_of_its_kind() {
    let mut document = document_with_rooms(["a", "b"]);
    put_rule(&mut document, RuleKind::Room, "c", RulePosition::default()).unwrap();
    assert_eq!(user_rule_ids(&document, RuleKind::Room), ["c", "a", "b"]);
    assert!(user_rule_ids(&document, RuleKind::Sender).is_empty());
}

#[test]
fn a_new_override_rule_goes_below_master_and_above_the_other_builtin_rules() {
    let mut document = global_document();
    put_rule(&mut document, RuleKind::Override, "a", RulePosition::default()).unwrap();
    let rules = document.rules(RuleKind::Override, alice());
    let ids: Vec<&str> = rules.iter().map(|rule| rule.rule_id.as_str()).collect();
    assert_eq!(ids[..3], [".m.rule.master", "a", ".m.rule.suppress_notices"]);
}

#[test]
fn a_new_underride_rule_goes_above_the_builtin_rules() {
    let mut document = global_document();
    put_rule(&mut document, RuleKind::Underride, "a", RulePosition::default()).unwrap();
    let rules = document.rules(RuleKind::Underride, alice());
    assert_eq!((&*rules[0].rule_id, &*rules[1].rule_id), ("a", ".m.rule.call"));
}

#[test]
fn before_and_after_determine_the_position() {
    let before_and_after =
        |before, after| RulePosition { before: Some(before), after: Some(after) };
    for (id, position, order) in [
        ("x", before("a"), "xabc"),
        ("x", before("c"), "abxc"),
        ("x", after("a"), "axbc"),
        ("x", after("c"), "abcx"),
        ("x", before_and_after("b", "a"), "axbc"),
        ("x", before_and_after("a", "c"), "xabc"),
        ("x", before_and_after("b", "b"), "axbc"),
        ("a", RulePosition::default(), "abc"),
        ("a", before("c"), "bac"),
        ("a", after("c"), "bca"),
        ("a", before("b"), "abc"),
        ("a", after("b"), "bac"),
        ("c", before("a"), "cab"),
        ("c", after("a"), "acb"),
        ("c", after("b"), "abc"),
        ("b", before_and_after("a", "c"), "bac"),
    ] {
        let mut document = document_with_rooms(["a", "b", "c"]);
        put_rule(&mut document, RuleKind::Room, id, position).unwrap();
        assert_eq!(user_rule_ids(&document, RuleKind::Room).concat(), order, "{id} {position:?}");
    }
}

#[test]
fn an_invalid_position_is_rejected_and_changes_nothing() {
    let mut document = document_with_rooms(["a", "b"]);
    put_rule(&mut document, RuleKind::Sender, "s", RulePosition::default()).unwrap();
    let original = document.clone();
    for (kind, id, position, message) in [
        (
            RuleKind::Room,
            "x",
            before("y"),
            r#"there is no room rule "y" to place the rule next to"#,
        ),
        (RuleKind::Room, "a", after("y"), r#"there is no room rule "y" to place the rule next to"#),
        (RuleKind::Room, "x", before(""), r#"there is no room rule "" to place the rule next to"#),
        (RuleKind::Room, "x", after("s"), r#"there is no room rule "s" to place the rule next to"#),
        (
            RuleKind::Override,
            "x",
            after(".m.rule.master"),
            r#"".m.rule.master" is a built-in rule; a rule can be placed next to your own rules only"#,
        ),
        (RuleKind::Room, "a", before("a"), "a rule cannot be placed next to itself"),
        (RuleKind::Room, "x", after("x"), "a rule cannot be placed next to itself"),
        (
            RuleKind::Room,
            "x",
            RulePosition { before: Some("a"), after: Some("y") },
            r#"there is no room rule "y" to place the rule next to"#,
        ),
        (
            RuleKind::Room,
            "x",
            RulePosition { before: Some("y"), after: Some("a") },
            r#"there is no room rule "y" to place the rule next to"#,
        ),
    ] {
        let error = put_rule(&mut document, kind, id, position).unwrap_err();
        assert_eq!(
            (error.code(), error.to_string()),
            (MatrixErrorCode::Unknown, message.to_owned())
        );
        assert_eq!(document, original);
    }
}

#[test]
fn a_rule_in_a_different_scope_is_not_a_neighbour() {
    let mut document = phone_document();
    put_rule(&mut document, RuleKind::Room, "a", RulePosition::default()).unwrap();
    let error = put_rule(&mut global_document(), RuleKind::Room, "b", before("a")).unwrap_err();
    assert_eq!(error.code(), MatrixErrorCode::Unknown);
}

#[test]
fn replacing_a_rule_preserves_enabled() {
    for position in [RulePosition::default(), before("b"), after("b")] {
        let mut document = document_with_rooms(["a", "b"]);
        document.set_enabled(RuleKind::Room, "a", false).unwrap();
        let notifying_rule = NewRule::parse(
            RuleKind::Room,
            br#"{"actions":["notify"],"enabled":true}"#,
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        document.put(RuleKind::Room, "a".parse().unwrap(), notifying_rule, position).unwrap();
        assert_eq!(
            json!(document.rule(RuleKind::Room, "a", alice()).unwrap()),
            json!({"rule_id": "a", "default": false, "enabled": false, "actions": ["notify"]})
        );
        assert_eq!(document.rule_count(), 2);
    }
}

#[test]
fn a_deleted_and_recreated_rule_is_enabled() {
    let mut document = document_with_rooms(["a"]);
    document.set_enabled(RuleKind::Room, "a", false).unwrap();
    document.remove(RuleKind::Room, "a").unwrap();
    put_rule(&mut document, RuleKind::Room, "a", RulePosition::default()).unwrap();
    assert!(document.rule(RuleKind::Room, "a", alice()).unwrap().enabled);
}

#[test]
fn rules_of_different_kinds_may_have_the_same_id() {
    let mut document = document_with_rooms(["a"]);
    put_rule(&mut document, RuleKind::Sender, "a", RulePosition::default()).unwrap();
    document.set_enabled(RuleKind::Sender, "a", false).unwrap();
    assert!(document.rule(RuleKind::Room, "a", alice()).unwrap().enabled);
    document.remove(RuleKind::Room, "a").unwrap();
    assert_eq!(user_rule_ids(&document, RuleKind::Sender), ["a"]);
    assert!(user_rule_ids(&document, RuleKind::Room).is_empty());
}

#[test]
fn user_changes_override_a_builtin_rule() {
    let mut document = global_document();
    let rule_json = |document: &RuleDocument| {
        json!(document.rule(RuleKind::Content, ".m.rule.contains_user_name", alice()).unwrap())
    };
    let mut expected = rule_json(&document);
    document.set_enabled(RuleKind::Content, ".m.rule.contains_user_name", false).unwrap();
    expected["enabled"] = json!(false);
    assert_eq!(rule_json(&document), expected);
    let actions = vec![Action::DontNotify];
    document
        .set_actions(
            RuleKind::Content,
            ".m.rule.contains_user_name",
            actions,
            NewRuleLimits::default(),
        )
        .unwrap();
    expected["actions"] = json!(["dont_notify"]);
    assert_eq!(rule_json(&document), expected);
    assert_eq!(json!(document.rules(RuleKind::Content, alice())), json!([expected]));
    assert_eq!((document.rule_count(), document.is_empty()), (0, false));
}

#[test]
fn an_absent_rule_is_not_found() {
    let absent_rules = [
        (global_document(), RuleKind::Room, "a"),
        (document_with_rooms(["a"]), RuleKind::Sender, "a"),
        (global_document(), RuleKind::Content, ".m.rule.master"),
        (global_document(), RuleKind::Override, ".m.rule.none"),
        (phone_document(), RuleKind::Override, ".m.rule.master"),
    ];
    for (mut document, kind, id) in absent_rules {
        let original = document.clone();
        let errors = [
            document.rule(kind, id, alice()).unwrap_err(),
            document.remove(kind, id).unwrap_err(),
            document.set_enabled(kind, id, true).unwrap_err(),
            document.set_actions(kind, id, vec![], NewRuleLimits::default()).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error, RuleError::NoSuchRule { kind, id: id.to_owned() });
            assert_eq!(error.code(), MatrixErrorCode::NotFound);
        }
        assert_eq!(document, original);
    }
}

#[test]
fn a_changed_builtin_rule_cannot_be_deleted() {
    let mut document = global_document();
    document.set_enabled(RuleKind::Override, builtin::MASTER, true).unwrap();
    let error = document.remove(RuleKind::Override, builtin::MASTER).unwrap_err();
    assert_eq!(error, RuleError::BuiltinDeletion(builtin::MASTER.to_owned()));
    assert_eq!(error.code(), MatrixErrorCode::NotFound);
    assert!(document.rule(RuleKind::Override, builtin::MASTER, alice()).unwrap().enabled);
}

#[test]
fn a_device_has_no_builtin_rules() {
    let empty_ruleset =
        json!({"override": [], "content": [], "room": [], "sender": [], "underride": []});
    assert_eq!(json!(phone_document().ruleset(alice())), empty_ruleset);
}

#[test]
fn the_response_lists_devices_with_a_rule() {
    let mut phone = phone_document();
    put_rule(&mut phone, RuleKind::Room, "!r:x", RulePosition::default()).unwrap();
    let tablet = RuleDocument::new("device/tablet".parse().unwrap());
    let global = global_document();
    let bytes = json::to_bytes(&RulesetsResponse::new([&global, &phone, &tablet], alice()));
    let response: Value = serde_json::from_slice(&bytes).unwrap();
    let rule = json!({
        "rule_id": "!r:x", "default": false, "enabled": true, "actions": [], "pattern": "p",
    });
    let ruleset =
        json!({"override": [], "content": [], "room": [rule], "sender": [], "underride": []});
    assert_eq!(response["device"], json!({"phone": ruleset}));
    assert_eq!(response["global"], json!(global.ruleset(alice())));

    phone.remove(RuleKind::Room, "!r:x").unwrap();
    assert_eq!(
        json!(RulesetsResponse::new([&global, &phone, &tablet], alice()))["device"],
        json!({})
    );
}

/// A document as stored before the format had a version. It must stay readable.
const STORED_DOCUMENT: &str = concat!(
    r#"{"rules":{"override":[{"rule_id":"a","default":false,"enabled":false,"actions":["notify","#,
    r#"{"set_tweak":"sound","value":"bell"}],"conditions":[{"kind":"room_member_count","is":"<9"},"#,
    r#"{"kind":"org.x.moon","phase":1}]}],"content":[{"rule_id":"cake","default":false,"#,
    r#""enabled":true,"actions":[],"pattern":"cake","org.x":"\u0000"}],"room":[],"sender":[],"#,
    r#""underride":[]},"changes":{".m.rule.gone":{"enabled":true},".m.rule.master":"#,
    r#"{"enabled":true,"actions":["dont_notify"]}}}"#,
);

#[test]
fn stored_documents_stay_readable() {
    let document = RuleDocument::from_text(RuleScope::Global, STORED_DOCUMENT).unwrap();
    assert_eq!(document.to_text(), STORED_DOCUMENT.replacen('{', r#"{"version":"1","#, 1));
    assert_eq!(RuleDocument::from_text(RuleScope::Global, &document.to_text()).unwrap(), document);
    assert_eq!(document.rule_count(), 2);
    assert!(document.rule(RuleKind::Override, builtin::MASTER, alice()).unwrap().enabled);
    assert_eq!(
        global_document().to_text(),
        concat!(
            r#"{"version":"1","rules":{"override":[],"content":[],"room":[],"sender":[],"#,
            r#""underride":[]},"changes":{}}"#
        )
    );
}

#[test]
fn a_change_to_a_removed_builtin_rule_is_stored_without_effect() {
    let document = RuleDocument::from_text(RuleScope::Global, STORED_DOCUMENT).unwrap();
    assert!(document.patch(".m.rule.gone").is_some());
    assert_eq!(document.ruleset(alice()).iter().count(), builtin::all().iter().count() + 2);
}

#[test]
fn a_document_in_an_unknown_format_is_rejected() {
    for text in [
        "",
        "[]",
        "{}",
        r#"{"rules":{},"changes":{},"more":1}"#,
        r#"{"version":"2","rules":{},"changes":{}}"#,
        r#"{"rules":{"postcontent":[]},"changes":{}}"#,
        r#"{"rules":{"room":[{}]},"changes":{}}"#,
        r#"{"rules":{},"changes":{".m.rule.master":{"enabled":1}}}"#,
    ] {
        assert!(RuleDocument::from_text(RuleScope::Global, text).is_err(), "{text}");
    }
}

#[test]
fn a_maximally_nested_body_is_stored_and_parsed() {
    let depth = json::MAX_DEPTH - 1;
    let body = format!(r#"{{"actions":[],"x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let mut document = phone_document();
    let new_rule = NewRule::parse(
        RuleKind::Room,
        body.as_bytes(),
        NewRuleLimits::default(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    document.put(RuleKind::Room, "a".parse().unwrap(), new_rule, RulePosition::default()).unwrap();
    let parsed_document =
        RuleDocument::from_text(document.scope().clone(), &document.to_text()).unwrap();
    assert_eq!(parsed_document, document);
    let response = json::to_bytes(&RulesetsResponse::new([&document], alice()));
    assert!(serde_json::from_slice::<Value>(&response).is_ok());
}
