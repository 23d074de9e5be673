//! What stands behind `/pushrules/`, and on the lines below it a body: both are read or refused,
//! and what was read is read again from what is shown and stored.

use belfry_core::json;
use belfry_core::rules::body::{read_actions, read_enabled};
use belfry_core::rules::{
    Document, NewRule, Position, RuleId, RuleKind, RulePath, RuleScope, User,
};
use belfry_core::rules::{answer, untouched};
use serde_json::json;

/// Checks one input.
pub fn check(input: &[u8]) {
    let cut = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (path, rest) = input.split_at(cut);
    let path = String::from_utf8_lossy(path);
    let body = rest.strip_prefix(b"\n").unwrap_or(rest);

    let (scope, id) = match RulePath::read(&path) {
        Ok(RulePath::Rule(name) | RulePath::Enabled(name) | RulePath::Actions(name)) => {
            (name.scope, name.id.parse().ok())
        }
        Ok(RulePath::Ruleset(scope) | RulePath::Kind(scope, _)) => (scope, None),
        _ => (RuleScope::Global, None),
    };
    assert_eq!(scope.to_string().parse(), Ok(scope.clone()));
    let id: RuleId = id.or_else(|| "x".parse().ok()).expect("x is an id");
    for kind in RuleKind::ALL {
        if let Ok(rule) = NewRule::read(kind, body) {
            is_read_again(&scope, kind, id.clone(), &rule);
        }
    }
    if let Ok(actions) = read_actions(body) {
        let shown = json::write(&json!({"actions": actions}));
        assert_eq!(read_actions(&shown).ok(), Some(actions));
    }
    if let Ok(enabled) = read_enabled(body) {
        assert_eq!(read_enabled(enabled.to_string().as_bytes()).ok(), Some(enabled));
    }
    let user = User::new(&path);
    assert_eq!(untouched(user), answer([].iter(), user));
}

fn is_read_again(scope: &RuleScope, kind: RuleKind, id: RuleId, rule: &NewRule) {
    let mut document = Document::new(scope.clone());
    document.put(kind, id, rule.clone(), Position::default()).expect("it has no neighbours");
    // A client may send back what it was shown.
    let shown = json::write(&document.user_rules()[kind][0]);
    assert_eq!(NewRule::read(kind, &shown).ok().as_ref(), Some(rule));
    let stored = document.to_text();
    let read = Document::from_text(scope.clone(), &stored).expect("it was just written");
    assert_eq!(read, document);
    let all = answer([&document].into_iter(), User::new("@alice:x"));
    json::read(&all).expect("an answer is JSON");
}
