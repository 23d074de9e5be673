//! Position of a new or moved rule within its kind.

/// The `before` and `after` parameters of `PUT` of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position<'a> {
    /// The id of the rule directly above which the rule is placed.
    pub before: Option<&'a str>,
    /// The id of the rule directly below which the rule is placed. If `before` is given too,
    /// `before` decides the position, and the rule named by `after` only has to exist.
    pub after: Option<&'a str>,
}
