//! Limits on the stored rules of an account.

use super::RuleError;

/// Maximum number of conditions of a new rule.
pub const MAX_CONDITIONS: usize = 64;

/// Maximum number and size of the rules of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleLimits {
    /// Number of user rules in all scopes.
    pub rules: usize,
    /// Size of all stored documents in bytes.
    pub bytes: usize,
}

/// Limits on one rule in a body with several rules. A body with a single rule has the same limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRuleLimits {
    /// Number of conditions.
    pub conditions: usize,
    /// Size in bytes, without spaces.
    pub bytes: usize,
}

impl RuleLimits {
    /// Checks the number of rules after a change. An account that is above the limit, because the
    /// limit was lowered, may not add rules, but other changes are accepted.
    ///
    /// # Errors
    /// If the change exceeds the limit.
    pub fn check_rules(self, before: usize, after: usize) -> Result<(), RuleError> {
        if after <= self.rules.max(before) {
            return Ok(());
        }
        Err(RuleError::TooManyRules(self.rules))
    }

    /// Checks the stored size after a change. An account that is above the limit may not grow.
    ///
    /// # Errors
    /// If the change exceeds the limit.
    pub fn check_bytes(self, before: usize, after: usize) -> Result<(), RuleError> {
        if after <= self.bytes.max(before) {
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
        for (before, after, allowed) in
            [(9, 10, true), (10, 10, true), (10, 11, false), (0, 11, false), (20, 20, true)]
        {
            assert_eq!(limits.check_rules(before, after).is_ok(), allowed, "{before} {after}");
            assert_eq!(
                limits.check_bytes(before * 10, after * 10).is_ok(),
                allowed,
                "{before} {after}"
            );
        }
        assert_eq!(limits.check_rules(20, 21), Err(RuleError::TooManyRules(10)));
        assert_eq!(limits.check_rules(20, 19), Ok(()));
        assert_eq!(limits.check_bytes(101, 102), Err(RuleError::TooManyBytes(100)));
    }
}
