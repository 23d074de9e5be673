//! Fuzz target for push rules: an accepted rule survives serialization, storage and parsing.
//!
//! An input is a path after `/pushrules/` on the first line, and a body on the following lines.

use belfry_core::json;
use belfry_core::rules::body::parse_reset_scope;
use belfry_core::rules::{
    NewRule, NewRuleLimits, RuleChange, RuleDocument, RuleId, RuleKind, RulePath, RulePosition,
    RuleRef, RuleScope, RulesetsExport, RulesetsResponse, User, UserRuleDocuments, read_import,
};
use jiff::Timestamp;

const LIMITS: NewRuleLimits = NewRuleLimits { conditions: usize::MAX, bytes: usize::MAX };

pub fn check_input(input: &[u8]) {
    let newline = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (path, rest) = input.split_at(newline);
    let path = String::from_utf8_lossy(path);
    let body = rest.strip_prefix(b"\n").unwrap_or(rest);

    let (scope, id) = match RulePath::parse(&path) {
        Ok(RulePath::Rule(rule) | RulePath::Enabled(rule) | RulePath::Actions(rule)) => {
            (rule.scope, rule.id.parse().ok())
        }
        Ok(RulePath::Ruleset(scope) | RulePath::Kind(scope, _)) => (scope, None),
        _ => (RuleScope::Global, None),
    };
    assert_eq!(scope.to_string().parse(), Ok(scope.clone()));
    let id: RuleId = id.or_else(|| "x".parse().ok()).expect("x is a valid id");
    for &kind in RuleKind::ALL {
        if let Ok(rule) = NewRule::parse(kind, body, LIMITS, Timestamp::MIN) {
            check_round_trip(&scope, kind, id.clone(), &rule);
        }
    }
    let rule_ref = |id: &RuleId| RuleRef {
        scope: scope.clone(),
        kind: RuleKind::Room,
        id: id.as_str().to_owned(),
    };
    let _ = RuleChange::set_actions(rule_ref(&id), body, LIMITS);
    let _ = RuleChange::set_enabled(rule_ref(&id), body, Timestamp::MIN);
    let _ = parse_reset_scope(body);
    if let Ok(documents) = read_import(body, LIMITS, Timestamp::MIN) {
        check_import(&documents);
    }
}

fn check_import(stored_documents: &[RuleDocument]) {
    for document in stored_documents {
        let parsed_document =
            RuleDocument::from_text(document.scope().clone(), &document.to_text());
        assert_eq!(parsed_document.ok().as_ref(), Some(document), "a stored document is read back");
    }
    let export = json::to_bytes(&RulesetsExport::new(stored_documents, Timestamp::UNIX_EPOCH));
    let imported_documents =
        read_import(&export, LIMITS, Timestamp::MIN).expect("an export is valid");
    let mut documents = UserRuleDocuments::new(stored_documents);
    documents.replace_all(&imported_documents);
    assert!(
        documents.into_changed().eq(stored_documents.to_vec()),
        "an imported export changes nothing"
    );
}

fn check_round_trip(scope: &RuleScope, kind: RuleKind, id: RuleId, rule: &NewRule) {
    let mut document = RuleDocument::new(scope.clone());
    document
        .put(kind, id, rule.clone(), RulePosition::default())
        .expect("a rule without a position is accepted");
    // A client may send back a rule as it received it.
    let rule_json = json::to_bytes(&document.user_rules()[kind][0]);
    assert_eq!(NewRule::parse(kind, &rule_json, LIMITS, Timestamp::MIN).ok().as_ref(), Some(rule));
    let document_text = document.to_text();
    let parsed_document = RuleDocument::from_text(scope.clone(), &document_text)
        .expect("a stored document is readable");
    assert_eq!(parsed_document, document);
    let response = json::to_bytes(&RulesetsResponse::new([&document], User::new("@alice:x")));
    json::parse(&response).expect("a response is JSON");
}
