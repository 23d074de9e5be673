//! When the rules of an account were read, so that it can be told later whether they still hold.

use super::Rulesets;
use crate::store::Store;
use crate::store::cache::Moment;

/// The rules of an account, and when they were read.
#[derive(Debug, Clone)]
pub struct RulesetsRead {
    /// The rules.
    pub rulesets: Rulesets,
    /// When they were read.
    pub reading: Reading,
}

/// What had been heard of when the rules of an account were read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub(super) moment: Moment,
    /// Whether the writes of other nodes were heard of. Otherwise nobody can say what still holds.
    believed: bool,
}

impl Reading {
    /// Whether both found the same rules, as far as this node has heard.
    #[must_use]
    pub fn is_same(self, other: Self) -> bool {
        self.believed && other.believed && self.moment == other.moment
    }
}

impl Store {
    /// Whether an account still has the rules that were found then, as far as this node has heard:
    /// it hears of its own writes before they are acknowledged, and of those of others as the
    /// memory of the store does.
    #[must_use]
    pub fn is_current(&self, account: i64, reading: Reading) -> bool {
        reading.is_same(self.reading(account))
    }

    /// To be taken before the rules of an account are read. The moment comes first: one that is
    /// taken in a silence is not believed, and one from before it is over when the silence begins.
    pub(super) fn reading(&self, account: i64) -> Reading {
        let moment = self.cache.moment(&account);
        Reading { moment, believed: self.cache.is_believed() }
    }
}
