//! Import of all rulesets of a user: an export, or any server's response to `GET /pushrules/`. Each
//! rule is validated like the body of a `PUT` request, except that it may have expired.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::body::{reject_unknown_fields, take_actions, take_until};
use super::error::truncate_name;
use super::response::EXPORT_VERSION;
use super::{
    NewRule, NewRuleLimits, Rule, RuleDocument, RuleError, RuleId, RuleKind, RulePatch, RuleScope,
    Ruleset, id,
};
use crate::json::{self, Fields, JsonError, Location};

/// Parses the body of `POST /pushrules/import`. Returns the documents that are not empty, without
/// expired rules. An error contains the path of the rejected value.
pub fn read_import(
    body: &[u8],
    limits: NewRuleLimits,
    now: Timestamp,
) -> Result<Vec<RuleDocument>, RuleError> {
    let members = require_object("", json::parse_with_push_rules(body)?)?;
    // Required, because otherwise an empty object, or a ruleset of one scope, would delete all
    // rules.
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

/// Reads rulesets from the value at a path: the rulesets of all scopes, or the global ruleset
/// alone. Returns the documents that are not empty. Expired rules are included.
pub(crate) fn read_rulesets(
    path: &str,
    value: Value,
    limits: NewRuleLimits,
) -> Result<Vec<RuleDocument>, RuleError> {
    let members = require_object(path, value)?;
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
) -> Result<Vec<RuleDocument>, RuleError> {
    if members.remove("version").is_some_and(|version| version != EXPORT_VERSION) {
        let error = RuleError::invalid_value("version", "be the string \"1\"");
        return Err(error.at_path(path));
    }
    members.remove("exported_ts");
    let read_scope = |path: &str, scope, ruleset| {
        read_ruleset(path, scope, require_object(path, ruleset)?, limits)
    };
    let mut documents = Vec::new();
    let mut global_document = match members.remove("global") {
        Some(ruleset) => read_scope(&join_path(path, "global"), RuleScope::Global, ruleset)?,
        None => RuleDocument::new(RuleScope::Global),
    };
    if let Some(changes) = members.remove("builtin_changes") {
        let path = join_path(path, "builtin_changes");
        for (id, change) in require_object(&path, changes)? {
            let builtin_patch =
                read_patch(&id, change).map_err(|error| error.at_path(&join_path(&path, &id)))?;
            global_document.merge_patch(id, builtin_patch);
        }
    }
    documents.push(global_document);
    if let Some(devices) = members.remove("device") {
        for (tag, ruleset) in require_object(&join_path(path, "device"), devices)? {
            let path = join_path(&join_path(path, "device"), &tag);
            let tag = tag.parse().map_err(|error| RuleError::Id(error).at_path(&path))?;
            documents.push(read_scope(&path, RuleScope::Device(tag), ruleset)?);
        }
    }
    reject_unknown_members(path, &members, "global, builtin_changes and device")?;
    documents.retain(|document| !document.is_empty());
    Ok(documents)
}

fn read_ruleset(
    path: &str,
    scope: RuleScope,
    mut rules_by_kind: Map<String, Value>,
    limits: NewRuleLimits,
) -> Result<RuleDocument, RuleError> {
    let mut rules = Ruleset::default();
    let mut builtin_rules = Vec::new();
    for &kind in RuleKind::ALL {
        let path = join_path(path, kind.as_str());
        let values = match rules_by_kind.remove(kind.as_str()) {
            None => continue,
            Some(Value::Array(values)) => values,
            Some(_) => return Err(wrong_type(&path, "an array")),
        };
        let mut seen_ids = HashSet::new();
        for (index, value) in values.into_iter().enumerate() {
            let at_index = |error: RuleError| error.at_path(&format!("{path}[{index}]"));
            match read_rule(kind, value, limits).map_err(at_index)? {
                ImportedRule::Builtin(id, attributes) => builtin_rules.push((kind, id, attributes)),
                ImportedRule::User(rule) if seen_ids.insert(rule.rule_id.clone()) => {
                    rules[kind].push(rule);
                }
                ImportedRule::User(_) => return Err(at_index(RuleError::DuplicateRule)),
            }
        }
    }
    reject_unknown_members(path, &rules_by_kind, "override, content, room, sender and underride")?;
    let mut document = RuleDocument::from_rules(scope, rules);
    for (kind, id, attributes) in builtin_rules {
        patch_builtin(&mut document, kind, id, attributes);
    }
    Ok(document)
}

enum ImportedRule {
    User(Rule),
    /// The id and the attributes of a built-in rule.
    Builtin(String, RulePatch),
}

fn read_rule(
    kind: RuleKind,
    rule: Value,
    limits: NewRuleLimits,
) -> Result<ImportedRule, RuleError> {
    let mut fields = Fields::new(rule, Location::Part("the rule"))?;
    let id = fields.require_string("rule_id")?;
    if RuleId::is_reserved(&id) {
        return Ok(ImportedRule::Builtin(id, take_patch(&mut fields)?));
    }
    let enabled = fields.take_bool("enabled")?.unwrap_or(true);
    let id = id.parse()?;
    let new_rule = NewRule::from_fields(kind, fields, limits)?;
    Ok(ImportedRule::User(new_rule.into_rule(id, enabled)))
}

fn take_patch(fields: &mut Fields) -> Result<RulePatch, RuleError> {
    let enabled = fields.take_bool("enabled")?;
    let actions = take_actions(fields)?;
    Ok(RulePatch { enabled, actions, until: take_until(fields)? })
}

/// Stores the differences between an imported built-in rule and its definition. A built-in rule
/// that only the other server has is ignored, because it has no effect here.
fn patch_builtin(document: &mut RuleDocument, kind: RuleKind, id: String, attributes: RulePatch) {
    let mut builtin_rules = document.builtin_rules(kind);
    let Some(definition) = builtin_rules.find(|rule| rule.rule_id == id) else { return };
    let enabled = attributes.enabled.filter(|enabled| *enabled != definition.enabled);
    let actions = attributes.actions.filter(|actions| *actions != definition.actions);
    document.merge_patch(id, RulePatch { enabled, actions, until: attributes.until });
}

/// Reads an explicit change to a built-in rule. It is valid even if this version does not have the
/// rule or has the same definition, so that an export is imported without loss.
fn read_patch(id: &str, change: Value) -> Result<RulePatch, RuleError> {
    if !RuleId::is_reserved(id) {
        let requirement = "be that of a built-in rule, which begins with a dot";
        return Err(RuleError::invalid_value("the id", requirement));
    }
    id::validate(id)?;
    let mut fields = Fields::new(change, Location::Part("the change"))?;
    let patch = take_patch(&mut fields)?;
    reject_unknown_fields(fields, "enabled, actions and until")?;
    if patch.until.is_some() && patch.enabled.is_none() {
        return Err(JsonError::MissingField("enabled".to_owned()).into());
    }
    Ok(patch)
}

fn require_object(path: &str, value: Value) -> Result<Map<String, Value>, RuleError> {
    match value {
        Value::Object(object) => Ok(object),
        _ if path.is_empty() => Err(Location::Body.wrong_type("a JSON object").into()),
        _ => Err(wrong_type(path, "a JSON object")),
    }
}

fn wrong_type(field: &str, expected: &'static str) -> RuleError {
    JsonError::WrongType { field: field.to_owned(), expected }.into()
}

fn reject_unknown_members(
    path: &str,
    unknown_members: &Map<String, Value>,
    known_members: &'static str,
) -> Result<(), RuleError> {
    let unknown_name = unknown_members.keys().next();
    unknown_name
        .map_or(Ok(()), |name| Err(RuleError::unknown_field(&join_path(path, name), known_members)))
}

/// Appends the name of a member, truncated, to the path of its object, for use in an error.
fn join_path(path: &str, name: &str) -> String {
    let name = truncate_name(name);
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests;
