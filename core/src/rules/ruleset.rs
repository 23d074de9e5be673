//! The rules of one scope, grouped by kind.

use std::array;
use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Rule, RuleKind};

/// The rules of one scope: an array for each kind, in evaluation order.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruleset<R = Rule>([Vec<R>; 5]);

impl<R> Ruleset<R> {
    /// Builds a ruleset from a function that returns the rules of a kind.
    pub fn from_fn(mut rules: impl FnMut(RuleKind) -> Vec<R>) -> Self {
        Self(array::from_fn(|index| rules(RuleKind::ALL[index])))
    }

    /// Iterates over all rules in evaluation order.
    pub fn iter(&self) -> impl Iterator<Item = (RuleKind, &R)> {
        RuleKind::ALL.iter().flat_map(|&kind| self[kind].iter().map(move |rule| (kind, rule)))
    }
}

impl<R> Default for Ruleset<R> {
    fn default() -> Self {
        Self::from_fn(|_| Vec::new())
    }
}

impl<R> Index<RuleKind> for Ruleset<R> {
    type Output = Vec<R>;

    fn index(&self, kind: RuleKind) -> &Vec<R> {
        &self.0[kind as usize]
    }
}

impl<R> IndexMut<RuleKind> for Ruleset<R> {
    fn index_mut(&mut self, kind: RuleKind) -> &mut Vec<R> {
        &mut self.0[kind as usize]
    }
}

/// Serializes all five arrays, including empty ones.
impl<R: Serialize> Serialize for Ruleset<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(RuleKind::ALL.iter().map(|&kind| (kind, &self[kind])))
    }
}

impl<'de, R: Deserialize<'de>> Deserialize<'de> for Ruleset<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut arrays = BTreeMap::<RuleKind, Vec<R>>::deserialize(deserializer)?;
        Ok(Self::from_fn(|kind| arrays.remove(&kind).unwrap_or_default()))
    }
}
