//! Position of a new or moved rule.

use super::RuleError;

/// The `before` and `after` parameters of `PUT` of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position<'a> {
    /// Places the rule directly above this one.
    pub before: Option<&'a str>,
    /// Places the rule directly below this one. If `before` is given too, it decides the position,
    /// and this rule only has to exist.
    pub after: Option<&'a str>,
}

impl<'a> Position<'a> {
    /// Reads the position from the pairs of a query string.
    ///
    /// # Errors
    /// If `before` or `after` is repeated.
    pub fn read(query: &'a [(String, String)]) -> Result<Self, RuleError> {
        let single = |parameter: &str| {
            let mut values = query.iter().filter(|(name, _)| name == parameter);
            let first = values.next().map(|(_, id)| id.as_str());
            if values.next().is_some() { Err(RuleError::RepeatedNeighbour) } else { Ok(first) }
        };
        Ok(Self { before: single("before")?, after: single("after")? })
    }
}
