//! How much an account may keep.

use super::RuleError;

/// How many rules an account may have, and how many bytes they may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleLimits {
    /// Rules of the user's own, in all scopes together.
    pub rules: usize,
    /// Bytes of all that is stored of them.
    pub bytes: usize,
}

impl RuleLimits {
    /// Whether a change may make this many rules of that many. An account that has too many
    /// already, since the bound was lowered, may have fewer.
    ///
    /// # Errors
    /// When there would be too many.
    pub fn check_rules(self, before: usize, after: usize) -> Result<(), RuleError> {
        if after > self.rules.max(before) {
            Err(RuleError::TooManyRules(self.rules))
        } else {
            Ok(())
        }
    }

    /// The same for bytes.
    ///
    /// # Errors
    /// When there would be too many.
    pub fn check_bytes(self, before: usize, after: usize) -> Result<(), RuleError> {
        if after > self.bytes.max(before) {
            Err(RuleError::TooManyBytes(self.bytes))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_over_the_bound_is_refused_and_what_shrinks_is_not() {
        let bounds = RuleLimits { rules: 10, bytes: 100 };
        for (before, after, allowed) in
            [(9, 10, true), (10, 10, true), (10, 11, false), (0, 11, false), (20, 20, true)]
        {
            assert_eq!(bounds.check_rules(before, after).is_ok(), allowed, "{before} {after}");
            assert_eq!(
                bounds.check_bytes(before * 10, after * 10).is_ok(),
                allowed,
                "{before} {after}"
            );
        }
        assert_eq!(bounds.check_rules(20, 21), Err(RuleError::TooManyRules(10)));
        assert_eq!(bounds.check_rules(20, 19), Ok(()));
        assert_eq!(bounds.check_bytes(101, 102), Err(RuleError::TooManyBytes(100)));
    }
}
