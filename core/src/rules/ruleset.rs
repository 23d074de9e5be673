//! Rules by kind, as they are shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Document, Rule, RuleKind, RuleScope, User};

/// The rules of one scope: an array for each kind, the rule that is asked first at its head.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruleset<R = Rule>([Vec<R>; 5]);

impl<R> Ruleset<R> {
    /// Makes the array of each kind.
    pub fn of(rules: impl FnMut(RuleKind) -> Vec<R>) -> Self {
        Self(RuleKind::ALL.map(rules))
    }

    /// All rules in the order of evaluation.
    pub fn iter(&self) -> impl Iterator<Item = (RuleKind, &R)> {
        RuleKind::ALL.into_iter().flat_map(|kind| self[kind].iter().map(move |rule| (kind, rule)))
    }
}

impl<R> Default for Ruleset<R> {
    fn default() -> Self {
        Self::of(|_| Vec::new())
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

/// All five arrays, empty or not.
impl<R: Serialize> Serialize for Ruleset<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(RuleKind::ALL.map(|kind| (kind, &self[kind])))
    }
}

impl<'de, R: Deserialize<'de>> Deserialize<'de> for Ruleset<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut arrays = BTreeMap::<RuleKind, Vec<R>>::deserialize(deserializer)?;
        Ok(Self::of(|kind| arrays.remove(&kind).unwrap_or_default()))
    }
}

/// All rulesets of a user, as they are shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RulesetsResponse<'a> {
    /// By profile tag, those that have a rule.
    pub device: BTreeMap<&'a str, Ruleset<Cow<'a, Rule>>>,
    /// The one that holds everywhere.
    pub global: Ruleset<Cow<'a, Rule>>,
}

impl<'a> RulesetsResponse<'a> {
    /// What a user sees of the document of the global scope and those of devices.
    #[must_use]
    pub fn of(
        global: &'a Document,
        devices: impl IntoIterator<Item = &'a Document>,
        user: User<'_>,
    ) -> Self {
        let device = devices.into_iter().filter(|document| !document.is_empty());
        let device = device.filter_map(|document| match document.scope() {
            RuleScope::Device(tag) => Some((tag.as_str(), document.ruleset(user))),
            RuleScope::Global => None,
        });
        Self { device: device.collect(), global: global.ruleset(user) }
    }
}
