//! Position of a new or moved rule within its kind.

use super::RuleError;

/// The `before` and `after` parameters of `PUT` of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position<'a> {
    /// The id of the rule directly above which the rule is placed.
    pub before: Option<&'a str>,
    /// The id of the rule directly below which the rule is placed. If `before` is given too,
    /// `before` decides the position, and the rule named by `after` only has to exist.
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
