//! Limits on an account's stored rules.

use super::{Rule, RuleError};

/// Maximum number of conditions in a new rule.
pub const MAX_CONDITIONS: usize = 64;

/// Maximum number and size of an account's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleLimits {
    /// Number of user rules in all scopes.
    pub rules: usize,
    /// Size of all stored documents in bytes.
    pub bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRuleLimits {
    pub conditions: usize,
    /// Size in bytes: see [`Rule::body_bytes`].
    pub bytes: usize,
}

impl Default for NewRuleLimits {
    fn default() -> Self {
        Self { conditions: MAX_CONDITIONS, bytes: 64 * 1024 }
    }
}

impl NewRuleLimits {
    /// Checks the size and the number of conditions of a new rule.
    pub(super) fn check_rule(self, rule: &Rule) -> Result<(), RuleError> {
        if rule.body_bytes() > self.bytes {
            return Err(RuleError::RuleTooLarge(self.bytes));
        }
        if rule.conditions.as_ref().is_some_and(|conditions| conditions.len() > self.conditions) {
            return Err(RuleError::TooManyConditions(self.conditions));
        }
        Ok(())
    }

    /// Checks the size of a changed rule. A rule may exceed the limit after the limit was lowered;
    /// then it may not grow, but other changes are accepted.
    pub(super) fn check_growth(self, old_rule: &Rule, new_rule: &Rule) -> Result<(), RuleError> {
        let new_bytes = new_rule.body_bytes();
        if new_bytes <= self.bytes || new_bytes <= old_rule.body_bytes() {
            return Ok(());
        }
        Err(RuleError::RuleTooLarge(self.bytes))
    }
}

impl RuleLimits {
    /// Checks the number of rules after a change. An account may exceed the limit after the limit
    /// was lowered; then it may not add rules, but other changes are accepted.
    pub fn check_rule_count(self, old_count: usize, new_count: usize) -> Result<(), RuleError> {
        if new_count <= self.rules.max(old_count) {
            return Ok(());
        }
        Err(RuleError::TooManyRules(self.rules))
    }

    /// Checks the stored size after a change. An account that is above the limit may not grow.
    pub fn check_bytes(self, old_bytes: usize, new_bytes: usize) -> Result<(), RuleError> {
        if new_bytes <= self.bytes.max(old_bytes) {
            return Ok(());
        }
        Err(RuleError::TooManyBytes(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_above_the_limit_is_rejected() {
        let limits = RuleLimits { rules: 10, bytes: 100 };
        for (old_count, new_count, is_allowed) in
            [(9, 10, true), (10, 10, true), (10, 11, false), (0, 11, false), (20, 20, true)]
        {
            assert_eq!(
                limits.check_rule_count(old_count, new_count).is_ok(),
                is_allowed,
                "{old_count} {new_count}"
            );
            assert_eq!(
                limits.check_bytes(old_count * 10, new_count * 10).is_ok(),
                is_allowed,
                "{old_count} {new_count}"
            );
        }
        assert_eq!(limits.check_rule_count(20, 21), Err(RuleError::TooManyRules(10)));
        assert_eq!(limits.check_rule_count(20, 19), Ok(()));
        assert_eq!(limits.check_bytes(101, 102), Err(RuleError::TooManyBytes(100)));
    }
}
