//! Body of `POST /pushrules/bulk`: a list of changes. Either all of them are applied, or none is.

use jiff::Timestamp;

use super::body::reject_unknown_fields;
use super::{NewRuleLimits, RuleChange, RuleError, UserRuleDocuments};
use crate::json::{self, Fields, Location};

/// Maximum number of changes in a request.
pub const MAX_CHANGES: usize = 1000;

/// Changes to rules of any scope, applied in order.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleChanges(Vec<RuleChange>);

impl RuleChanges {
    /// Parses a body `{"changes":[…]}`. Each rule has the same limits as in a separate request. An
    /// error in a change contains the index of the change.
    pub fn parse(body: &[u8], limits: NewRuleLimits, now: Timestamp) -> Result<Self, RuleError> {
        let mut changes = Vec::new();
        // A rule is three levels deep.
        let max_depth = json::MAX_DEPTH + 3;
        let body_without_changes =
            json::parse_streamed(body, max_depth, "changes", |index, change| {
                if index == MAX_CHANGES {
                    return Err(RuleError::TooManyChanges(MAX_CHANGES));
                }
                let result = RuleChange::from_json(change, limits, now);
                changes.push(result.map_err(|error| error.in_change(index))?);
                Ok(())
            })?;
        let mut fields = Fields::new(body_without_changes, Location::Body)?;
        if !fields.require("changes")?.is_array() {
            return Err(fields.wrong_type("changes", "an array").into());
        }
        reject_unknown_fields(fields, "changes")?;
        Ok(Self(changes))
    }

    /// Applies the changes in order. After an error the documents are in an intermediate state, and
    /// the caller has to discard them.
    pub fn apply(&self, documents: &mut UserRuleDocuments<'_>) -> Result<(), RuleError> {
        for (index, change) in self.0.iter().enumerate() {
            let result = change.apply(documents.get_mut(change.scope()));
            result.map_err(|error| error.in_change(index))?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;
