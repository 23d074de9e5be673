//! Fuzz target for push rules: an accepted rule survives serialisation, storage and parsing.
//!
//! An input is a path after `/pushrules/` on the first line, and a body on the following lines.

use belfry_core::json;
use belfry_core::rules::body::read_reset;
use belfry_core::rules::{
    Document, Documents, NewRule, NewRuleLimits, Position, RuleChange, RuleChanges, RuleId,
    RuleKind, RulePath, RuleRef, RuleScope, RulesetsExport, RulesetsResponse, User, read_import,
};
use jiff::Timestamp;

const LIMITS: NewRuleLimits = NewRuleLimits { conditions: usize::MAX, bytes: usize::MAX };

/// Checks one input.
pub fn check(input: &[u8]) {
    let newline = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (path, rest) = input.split_at(newline);
    let path = String::from_utf8_lossy(path);
    let body = rest.strip_prefix(b"\n").unwrap_or(rest);

    let (scope, id) = match RulePath::read(&path) {
        Ok(RulePath::Rule(rule) | RulePath::Enabled(rule) | RulePath::Actions(rule)) => {
            (rule.scope, rule.id.parse().ok())
        }
        Ok(RulePath::Ruleset(scope) | RulePath::Kind(scope, _)) => (scope, None),
        _ => (RuleScope::Global, None),
    };
    assert_eq!(scope.to_string().parse(), Ok(scope.clone()));
    let id: RuleId = id.or_else(|| "x".parse().ok()).expect("x is a valid id");
    for kind in RuleKind::ALL {
        if let Ok(rule) = NewRule::read(kind, body, LIMITS, Timestamp::MIN) {
            check_round_trip(&scope, kind, id.clone(), &rule);
        }
    }
    let rule = |id: &RuleId| RuleRef {
        scope: scope.clone(),
        kind: RuleKind::Room,
        id: id.as_str().to_owned(),
    };
    let _ = RuleChange::set_actions(rule(&id), body, LIMITS);
    let _ = RuleChange::set_enabled(rule(&id), body, Timestamp::MIN);
    let _ = read_reset(body);
    if let Ok(changes) = RuleChanges::read(body, LIMITS, Timestamp::MIN) {
        check_changes(&changes);
    }
}

/// Checks that accepted changes result in documents that can be stored, exported and imported.
fn check_changes(changes: &RuleChanges) {
    let mut documents = Documents::default();
    if changes.apply(&mut documents).is_err() {
        return;
    }
    let stored: Vec<Document> = documents.into_changed().filter(|it| !it.is_empty()).collect();
    for document in &stored {
        let read = Document::from_text(document.scope().clone(), &document.to_text());
        assert_eq!(read.ok().as_ref(), Some(document), "a stored document is read back");
    }
    let exported = json::to_bytes(&RulesetsExport::new(&stored, Timestamp::UNIX_EPOCH));
    let imported = read_import(&exported, LIMITS, Timestamp::MIN).expect("an export is valid");
    let mut replaced = Documents::new(&stored);
    replaced.replace_all(&imported);
    assert!(replaced.into_changed().eq(stored.clone()), "an imported export changes nothing");
}

fn check_round_trip(scope: &RuleScope, kind: RuleKind, id: RuleId, rule: &NewRule) {
    let mut document = Document::new(scope.clone());
    document
        .put(kind, id, rule.clone(), Position::default())
        .expect("a rule without a position is accepted");
    // A client may send back a rule as it received it.
    let sent = json::to_bytes(&document.user_rules()[kind][0]);
    assert_eq!(NewRule::read(kind, &sent, LIMITS, Timestamp::MIN).ok().as_ref(), Some(rule));
    let stored = document.to_text();
    let read = Document::from_text(scope.clone(), &stored).expect("a stored document is readable");
    assert_eq!(read, document);
    let response = json::to_bytes(&RulesetsResponse::new([&document], User::new("@alice:x")));
    json::parse(&response).expect("a response is JSON");
}
