//! Body of `POST /pushrules/bulk`: a list of changes that are all made, or none of them.

use jiff::Timestamp;
use serde_json::Value;

use super::body::{need_actions, read_until, reject_unknown};
use super::{
    Action, Documents, EnabledChange, NewRule, NewRuleLimits, Position, RuleError, RuleId, RuleRef,
    RuleScope,
};
use crate::json::{self, Fields, JsonError, Location};

/// Maximum number of changes in a request.
pub const MAX_CHANGES: usize = 1000;

/// Changes of rules in any scopes, made in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleChanges(Vec<RuleChange>);

#[derive(Debug, Clone, PartialEq)]
struct RuleChange {
    rule: RuleRef,
    operation: Operation,
}

/// The operations of the requests for a single rule.
#[derive(Debug, Clone, PartialEq)]
enum Operation {
    /// Creates or replaces a rule. Boxed, because it is much larger than the others.
    Put(Box<Put>),
    Delete,
    SetEnabled(EnabledChange),
    SetActions(Vec<Action>),
}

#[derive(Debug, Clone, PartialEq)]
struct Put {
    id: RuleId,
    new: NewRule,
    before: Option<String>,
    after: Option<String>,
}

impl RuleChanges {
    /// Parses a body `{"changes":[…]}`, in which each rule has the limits of a body of its own.
    ///
    /// # Errors
    /// If the body has another form or too many changes, or a change is not valid. The error names
    /// the index of the change.
    pub fn read(body: &[u8], limits: NewRuleLimits, now: Timestamp) -> Result<Self, RuleError> {
        let mut changes = Vec::new();
        let max_depth = json::MAX_DEPTH_WITH_RULES;
        let body = json::parse_streamed(body, max_depth, "changes", |index, change| {
            if index == MAX_CHANGES {
                return Err(RuleError::TooManyChanges(MAX_CHANGES));
            }
            let read = RuleChange::read(change, limits, now);
            changes.push(read.map_err(|error| error.in_change(index))?);
            Ok(())
        })?;
        let mut fields = Fields::new(body, Location::Body)?;
        if !fields.need("changes")?.is_array() {
            return Err(fields.wrong_type("changes", "an array").into());
        }
        reject_unknown(fields, "changes")?;
        Ok(Self(changes))
    }

    /// Makes the changes. After an error the documents are in an intermediate state, and the caller
    /// has to discard them.
    ///
    /// # Errors
    /// If a change cannot be made. The error names its index.
    pub fn apply(&self, documents: &mut Documents<'_>) -> Result<(), RuleError> {
        for (index, change) in self.0.iter().enumerate() {
            change.apply(documents).map_err(|error| error.in_change(index))?;
        }
        Ok(())
    }
}

impl RuleChange {
    fn read(change: Value, limits: NewRuleLimits, now: Timestamp) -> Result<Self, RuleError> {
        if !change.is_object() {
            let (field, expected) = ("the change".to_owned(), "a JSON object");
            return Err(JsonError::WrongType { field, expected }.into());
        }
        let mut fields = Fields::new(change, Location::Body)?;
        let operation = fields.need_string("op")?;
        let scope = match fields.take_string("scope")? {
            Some(scope) => scope.parse()?,
            None => RuleScope::Global,
        };
        let kind = fields.need_string("kind")?.parse()?;
        let rule = RuleRef::new(scope, kind, fields.need_string("rule_id")?)?;
        let (operation, names) = match operation.as_str() {
            "put" => {
                let id = rule.id.parse()?;
                let new = fields.need("rule")?;
                if !new.is_object() {
                    return Err(fields.wrong_type("rule", "a JSON object").into());
                }
                let new = NewRule::read_within(kind, new, limits).map_err(|it| it.at("rule"))?;
                new.check_until(now).map_err(|error| error.at("rule"))?;
                let (before, after) = (fields.take_string("before")?, fields.take_string("after")?);
                let names = "op, scope, kind, rule_id, rule, before and after";
                (Operation::Put(Box::new(Put { id, new, before, after })), names)
            }
            "delete" => (Operation::Delete, "op, scope, kind and rule_id"),
            "set_enabled" => {
                let enabled = fields.need_bool("enabled")?;
                let change = EnabledChange { enabled, until: read_until(&mut fields)? };
                change.check_until(now)?;
                (Operation::SetEnabled(change), "op, scope, kind, rule_id, enabled and until")
            }
            "set_actions" => {
                let actions = need_actions(&mut fields)?;
                (Operation::SetActions(actions), "op, scope, kind, rule_id and actions")
            }
            _ => {
                let expected = "put, delete, set_enabled or set_actions";
                return Err(RuleError::Value { field: "op", expected });
            }
        };
        reject_unknown(fields, names)?;
        Ok(Self { rule, operation })
    }

    fn apply(&self, documents: &mut Documents<'_>) -> Result<(), RuleError> {
        let RuleRef { scope, kind, id } = &self.rule;
        let document = documents.get_mut(scope);
        match &self.operation {
            Operation::Put(put) => {
                let position =
                    Position { before: put.before.as_deref(), after: put.after.as_deref() };
                document.put(*kind, put.id.clone(), put.new.clone(), position)
            }
            Operation::Delete => document.remove(*kind, id),
            Operation::SetEnabled(change) => document.change_enabled(*kind, id, *change),
            Operation::SetActions(actions) => document.set_actions(*kind, id, actions.clone()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
