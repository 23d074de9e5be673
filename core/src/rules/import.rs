//! Whole rulesets of a user: an export, or the response of `GET /pushrules/` of any server. Each
//! rule is validated like the body of `PUT`.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::body::{read_until, reject_unknown};
use super::error::shorten;
use super::export::VERSION;
use super::{
    Action, Document, NewRule, NewRuleLimits, Rule, RuleError, RuleExpiry, RuleId, RuleKind,
    RulePatch, RuleScope, Ruleset, id,
};
use crate::json::{self, Fields, JsonError, Location, read_array};

/// Parses the body of `POST /pushrules/import`. Returns the documents that are not empty, without
/// timed rules that have ended.
///
/// # Errors
/// If the body has another form, or a rule is not valid. The error names the path of the rule.
pub fn read_import(
    body: &[u8],
    limits: NewRuleLimits,
    now: Timestamp,
) -> Result<Vec<Document>, RuleError> {
    let members = object("", json::parse_with_rules(body)?)?;
    // Otherwise an empty object, or a ruleset of one scope, would delete all rules.
    if !members.contains_key("global") {
        return Err(JsonError::MissingField("global".to_owned()).into());
    }
    let mut documents = read_scopes("", members, limits)?;
    for document in &mut documents {
        document.remove_expired(now);
    }
    documents.retain(|document| !document.is_empty());
    Ok(documents)
}

/// Reads rulesets from the value at a path: those of all scopes, or the global ruleset alone.
/// Returns the documents that are not empty.
///
/// # Errors
/// As [`read_import`].
pub(crate) fn read_rulesets(
    path: &str,
    value: Value,
    limits: NewRuleLimits,
) -> Result<Vec<Document>, RuleError> {
    let members = object(path, value)?;
    if members.contains_key("global") || members.contains_key("device") {
        return read_scopes(path, members, limits);
    }
    let document = read_ruleset(path, RuleScope::Global, members, limits)?;
    Ok(if document.is_empty() { Vec::new() } else { vec![document] })
}

fn read_scopes(
    path: &str,
    mut members: Map<String, Value>,
    limits: NewRuleLimits,
) -> Result<Vec<Document>, RuleError> {
    if members.remove("version").is_some_and(|version| version != VERSION) {
        let error = RuleError::Value { field: "version", expected: "the string \"1\"" };
        return Err(error.at(path));
    }
    members.remove("exported_ts");
    let read_scope =
        |path: &str, scope, ruleset| read_ruleset(path, scope, object(path, ruleset)?, limits);
    let mut documents = Vec::new();
    let mut global = match members.remove("global") {
        Some(ruleset) => read_scope(&join(path, "global"), RuleScope::Global, ruleset)?,
        None => Document::new(RuleScope::Global),
    };
    if let Some(changes) = members.remove("builtin_changes") {
        let path = join(path, "builtin_changes");
        for (id, change) in object(&path, changes)? {
            let change = read_patch(&id, change).map_err(|error| error.at(&join(&path, &id)))?;
            global.merge_patch(id, change);
        }
    }
    documents.push(global);
    if let Some(devices) = members.remove("device") {
        for (tag, ruleset) in object(&join(path, "device"), devices)? {
            let path = join(&join(path, "device"), &tag);
            let tag = tag.parse().map_err(|error| RuleError::Id(error).at(&path))?;
            documents.push(read_scope(&path, RuleScope::Device(tag), ruleset)?);
        }
    }
    check_unknown(path, &members, "global, builtin_changes and device")?;
    documents.retain(|document| !document.is_empty());
    Ok(documents)
}

fn read_ruleset(
    path: &str,
    scope: RuleScope,
    mut kinds: Map<String, Value>,
    limits: NewRuleLimits,
) -> Result<Document, RuleError> {
    let mut rules = Ruleset::default();
    let mut builtin = Vec::new();
    for kind in RuleKind::ALL {
        let path = join(path, kind.as_str());
        let values = match kinds.remove(kind.as_str()) {
            None => continue,
            Some(Value::Array(values)) => values,
            Some(_) => return Err(wrong_type(&path, "an array")),
        };
        let mut ids = HashSet::new();
        for (index, value) in values.into_iter().enumerate() {
            let rejected = |error: RuleError| error.at(&format!("{path}[{index}]"));
            let (id, enabled) = read_head(&value).map_err(rejected)?;
            if RuleId::is_reserved(&id) {
                let actions = read_actions(value.get("actions").cloned()).map_err(rejected)?;
                let until = value.get("until").map(RuleExpiry::from_json).transpose();
                let until = until.map_err(rejected)?;
                builtin.push((kind, id, RulePatch { enabled, actions, until }));
                continue;
            }
            let rule = read_rule(kind, &id, enabled, value, limits).map_err(rejected)?;
            if !ids.insert(id) {
                return Err(rejected(RuleError::DuplicateRule));
            }
            rules[kind].push(rule);
        }
    }
    check_unknown(path, &kinds, "override, content, room, sender and underride")?;
    let mut document = Document::from_rules(scope, rules);
    for (kind, id, rule) in builtin {
        patch_builtin(&mut document, kind, id, rule);
    }
    Ok(document)
}

/// The id of a rule, and whether it is enabled, if that is given.
fn read_head(rule: &Value) -> Result<(String, Option<bool>), RuleError> {
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
    enabled: Option<bool>,
    rule: Value,
    limits: NewRuleLimits,
) -> Result<Rule, RuleError> {
    let id: RuleId = id.parse()?;
    let new = NewRule::from_existing(kind, rule, limits)?;
    Ok(new.into_rule(id, enabled.unwrap_or(true)))
}

fn read_actions(actions: Option<Value>) -> Result<Option<Vec<Action>>, RuleError> {
    actions.map(|actions| read_array("actions", actions, Action::from_json)).transpose()
}

/// Stores what differs from the definition of a built-in rule. A built-in rule that only the other
/// server has is ignored, because it has no effect here.
fn patch_builtin(document: &mut Document, kind: RuleKind, id: String, rule: RulePatch) {
    let mut builtin_rules = document.builtin_rules(kind);
    let Some(builtin) = builtin_rules.find(|builtin| builtin.rule_id == id) else { return };
    let enabled = rule.enabled.filter(|enabled| *enabled != builtin.enabled);
    let actions = rule.actions.filter(|actions| *actions != builtin.actions);
    document.merge_patch(id, RulePatch { enabled, actions, until: rule.until });
}

/// Reads an explicit change to a built-in rule. It is stored as it is, also if this version does
/// not have the rule or has the same definition, so that an export is imported without a loss.
fn read_patch(id: &str, change: Value) -> Result<RulePatch, RuleError> {
    if !RuleId::is_reserved(id) {
        let expected = "that of a built-in rule, which begins with a dot";
        return Err(RuleError::Value { field: "the id", expected });
    }
    id::check(id)?;
    if !change.is_object() {
        return Err(wrong_type("the change", "a JSON object"));
    }
    let mut fields = Fields::new(change, Location::Body)?;
    let enabled = fields.take_bool("enabled")?;
    let actions = read_actions(fields.take("actions"))?;
    let until = read_until(&mut fields)?;
    reject_unknown(fields, "enabled, actions and until")?;
    if until.is_some() && enabled.is_none() {
        return Err(JsonError::MissingField("enabled".to_owned()).into());
    }
    Ok(RulePatch { enabled, actions, until })
}

fn object(path: &str, value: Value) -> Result<Map<String, Value>, RuleError> {
    match value {
        Value::Object(object) => Ok(object),
        _ if path.is_empty() => Err(Location::Body.wrong_type("a JSON object").into()),
        _ => Err(wrong_type(path, "a JSON object")),
    }
}

fn wrong_type(field: &str, expected: &'static str) -> RuleError {
    JsonError::WrongType { field: field.to_owned(), expected }.into()
}

fn check_unknown(
    path: &str,
    rest: &Map<String, Value>,
    expected: &'static str,
) -> Result<(), RuleError> {
    let unknown = rest.keys().next();
    unknown.map_or(Ok(()), |name| Err(RuleError::unknown_field(&join(path, name), expected)))
}

/// The path of a member of the object at a path, for an error.
fn join(path: &str, name: &str) -> String {
    let name = shorten(name);
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests;
