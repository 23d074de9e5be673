//! The push rules of an imported account: the response of `GET /pushrules/global/` or of
//! `GET /pushrules/`, each rule validated like the body of `PUT`.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{ImportError, ImportLimits};
use crate::json::{self, JsonError, read_array};
use crate::rules::{
    Action, Document, EnabledChange, NewRule, Position, RuleError, RuleExpiry, RuleId, RuleKind,
    RuleScope, User,
};

/// Reads the rulesets that are not empty.
pub(super) fn read(value: Value, limits: &ImportLimits) -> Result<Vec<Document>, ImportError> {
    let path = "push_rules";
    let mut members = object(path, value)?;
    let mut rulesets = Vec::new();
    if members.contains_key("global") || members.contains_key("device") {
        if let Some(global) = members.remove("global") {
            rulesets.push(read_ruleset("push_rules.global", RuleScope::Global, global, limits)?);
        }
        if let Some(devices) = members.remove("device") {
            for (tag, ruleset) in object("push_rules.device", devices)? {
                let path = format!("push_rules.device.{tag}");
                let tag = tag.parse().map_err(|error| rejected(&path, RuleError::Id(error)))?;
                rulesets.push(read_ruleset(&path, RuleScope::Device(tag), ruleset, limits)?);
            }
        }
        check_empty(path, &members, "global and device")?;
    } else {
        rulesets.push(read_ruleset(path, RuleScope::Global, Value::Object(members), limits)?);
    }
    rulesets.retain(|ruleset| !ruleset.is_empty());
    let rules = rulesets.iter().map(Document::len).sum();
    let bytes = rulesets.iter().map(|ruleset| ruleset.to_text().len()).sum();
    let checked = limits.rules.check_rules(0, rules);
    checked
        .and_then(|()| limits.rules.check_bytes(0, bytes))
        .map_err(|error| rejected(path, error))?;
    Ok(rulesets)
}

fn read_ruleset(
    path: &str,
    scope: RuleScope,
    value: Value,
    limits: &ImportLimits,
) -> Result<Document, ImportError> {
    let mut document = Document::new(scope);
    let mut kinds = object(path, value)?;
    for kind in RuleKind::ALL {
        let path = format!("{path}.{kind}");
        let rules = match kinds.remove(kind.as_str()) {
            None => continue,
            Some(Value::Array(rules)) => rules,
            Some(_) => return Err(ImportError::RulesType { path, expected: "an array" }),
        };
        let mut ids = HashSet::new();
        let mut user_rules = Vec::new();
        for (index, rule) in rules.into_iter().enumerate() {
            let path = format!("{path}[{index}]");
            let (id, enabled) = read_head(&rule).map_err(|error| rejected(&path, error))?;
            if RuleId::is_reserved(&id) {
                patch_builtin(&mut document, kind, &id, enabled, &rule)
                    .map_err(|error| rejected(&path, error))?;
                continue;
            }
            if json::to_bytes(&rule).len() > limits.rule_bytes {
                return Err(ImportError::RuleTooLarge { path, max: limits.rule_bytes });
            }
            let read = read_rule(kind, &id, rule, limits);
            let (id, rule) = read.map_err(|error| rejected(&path, error))?;
            if !ids.insert(id.as_str().to_owned()) {
                return Err(ImportError::DuplicateRule { path });
            }
            user_rules.push((id, rule, enabled));
        }
        // From the last to the first, because a new rule is placed above the others.
        for (id, rule, enabled) in user_rules.into_iter().rev() {
            put(&mut document, kind, id, rule, enabled).map_err(|error| rejected(&path, error))?;
        }
    }
    check_empty(path, &kinds, "override, content, room, sender and underride")?;
    Ok(document)
}

/// The id of a rule, and whether it is enabled, if that is given.
fn read_head(rule: &Value) -> Result<(String, Option<bool>), RuleError> {
    let wrong_type = |field: &str, expected| {
        RuleError::from(JsonError::WrongType { field: field.to_owned(), expected })
    };
    let rule = rule.as_object().ok_or_else(|| wrong_type("the rule", "a JSON object"))?;
    let id = rule.get("rule_id").ok_or_else(|| JsonError::MissingField("rule_id".to_owned()))?;
    let id = id.as_str().ok_or_else(|| wrong_type("rule_id", "a string"))?;
    let enabled = match rule.get("enabled") {
        None => None,
        Some(Value::Bool(enabled)) => Some(*enabled),
        Some(_) => return Err(wrong_type("enabled", "a boolean")),
    };
    Ok((id.to_owned(), enabled))
}

fn read_rule(
    kind: RuleKind,
    id: &str,
    rule: Value,
    limits: &ImportLimits,
) -> Result<(RuleId, NewRule), RuleError> {
    let (id, rule) = (id.parse()?, NewRule::from_json(kind, rule)?);
    rule.check_conditions(limits.conditions)?;
    Ok((id, rule))
}

fn put(
    document: &mut Document,
    kind: RuleKind,
    id: RuleId,
    rule: NewRule,
    enabled: Option<bool>,
) -> Result<(), RuleError> {
    let name = id.as_str().to_owned();
    document.put(kind, id, rule, Position::default())?;
    enabled.map_or(Ok(()), |enabled| document.set_enabled(kind, &name, enabled))
}

/// Stores what differs from the definition of a built-in rule. A built-in rule that only the other
/// system has is ignored, because it has no effect here.
fn patch_builtin(
    document: &mut Document,
    kind: RuleKind,
    id: &str,
    enabled: Option<bool>,
    rule: &Value,
) -> Result<(), RuleError> {
    let actions = match rule.get("actions") {
        Some(actions) => Some(read_array("actions", actions.clone(), Action::from_json)?),
        None => None,
    };
    let until = rule.get("until").map(RuleExpiry::from_json).transpose()?;
    // Enabled and actions do not depend on the user.
    let Ok(builtin) = document.rule(kind, id, User::new("")).map(Cow::into_owned) else {
        return Ok(());
    };
    if let Some(enabled) = enabled.filter(|enabled| *enabled != builtin.enabled) {
        document.change_enabled(kind, id, EnabledChange { enabled, until })?;
    }
    match actions {
        Some(actions) if actions != builtin.actions => document.set_actions(kind, id, actions),
        _ => Ok(()),
    }
}

fn object(path: &str, value: Value) -> Result<Map<String, Value>, ImportError> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(ImportError::RulesType { path: path.to_owned(), expected: "a JSON object" }),
    }
}

fn check_empty(
    path: &str,
    rest: &Map<String, Value>,
    expected: &'static str,
) -> Result<(), ImportError> {
    let unknown = |name| ImportError::UnknownRules { path: format!("{path}.{name}"), expected };
    rest.keys().next().map_or(Ok(()), |name| Err(unknown(name)))
}

fn rejected(path: &str, error: RuleError) -> ImportError {
    ImportError::Rules { path: path.to_owned(), error }
}
