//! A change to one rule.

use jiff::Timestamp;

use super::body::require_actions;
use super::{
    Action, EnabledChange, NewRule, NewRuleLimits, RuleDocument, RuleError, RuleId, RulePosition,
    RuleRef, RuleScope,
};
use crate::json::Fields;

/// A valid change. Whether it can be applied depends on the user's rules.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleChange {
    rule: RuleRef,
    operation: Operation,
}

#[derive(Debug, Clone, PartialEq)]
enum Operation {
    /// Creates or replaces a rule. Boxed, because it is much larger than the other variants.
    Put(Box<(PutTarget, NewRule)>),
    Delete,
    SetEnabled(EnabledChange),
    SetActions(Vec<Action>, NewRuleLimits),
}

/// The rule that a `PUT` request creates or replaces, and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct PutTarget {
    rule: RuleRef,
    id: RuleId,
    before: Option<String>,
    after: Option<String>,
}

impl PutTarget {
    /// Creates the target from the path and the query string of a `PUT` request for a rule.
    pub fn new(rule: RuleRef, query: Vec<(String, String)>) -> Result<Self, RuleError> {
        let mut target = Self { id: rule.id.parse()?, rule, before: None, after: None };
        for (name, id) in query {
            let neighbour = match name.as_str() {
                "before" => &mut target.before,
                "after" => &mut target.after,
                _ => continue,
            };
            if neighbour.replace(id).is_some() {
                return Err(RuleError::RepeatedNeighbour);
            }
        }
        Ok(target)
    }
}

impl RuleChange {
    pub fn put(
        target: PutTarget,
        body: &[u8],
        limits: NewRuleLimits,
        now: Timestamp,
    ) -> Result<Self, RuleError> {
        let new_rule = NewRule::parse(target.rule.kind, body, limits, now)?;
        Ok(Self {
            rule: target.rule.clone(),
            operation: Operation::Put(Box::new((target, new_rule))),
        })
    }

    pub fn delete(rule: RuleRef) -> Self {
        Self { rule, operation: Operation::Delete }
    }

    /// Parses a `PUT` request for `enabled`.
    pub fn set_enabled(rule: RuleRef, body: &[u8], now: Timestamp) -> Result<Self, RuleError> {
        Ok(Self { rule, operation: Operation::SetEnabled(EnabledChange::parse(body, now)?) })
    }

    /// Parses a `PUT` request for `actions`: `{"actions":[…]}`.
    pub fn set_actions(
        rule: RuleRef,
        body: &[u8],
        limits: NewRuleLimits,
    ) -> Result<Self, RuleError> {
        let actions = require_actions(&mut Fields::parse(body)?)?;
        Ok(Self { rule, operation: Operation::SetActions(actions, limits) })
    }

    /// Returns the scope of the rule, whose document the change applies to.
    pub fn scope(&self) -> &RuleScope {
        &self.rule.scope
    }

    /// Applies the change to the document of its scope. After an error the document is unchanged.
    pub fn apply(&self, document: &mut RuleDocument) -> Result<(), RuleError> {
        let RuleRef { kind, id, .. } = &self.rule;
        match &self.operation {
            Operation::Put(put) => {
                let (target, new_rule) = &**put;
                let position = RulePosition {
                    before: target.before.as_deref(),
                    after: target.after.as_deref(),
                };
                document.put(*kind, target.id.clone(), new_rule.clone(), position)
            }
            Operation::Delete => document.remove(*kind, id),
            Operation::SetEnabled(change) => document.set_enabled(*kind, id, *change),
            Operation::SetActions(actions, limits) => {
                document.set_actions(*kind, id, actions.clone(), *limits)
            }
        }
    }
}

#[cfg(test)]
mod tests;
