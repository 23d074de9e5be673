//! One rule on the page with all rules.

use std::borrow::Cow;

use belfry_core::rules::preferences::Switch;
use belfry_core::rules::{Effect, Rule, RuleKind, RuleRef, RuleScope};
use belfry_core::text::escape_invisible;

use super::links::{anchor, rule_path};
use crate::language::Language;
use crate::pages::Layout;
use crate::pages::text::truncate;
use crate::pages::timed_text::{TimeFormat, TimedText};

/// A rule as the template shows it.
pub(super) struct RuleRow {
    pub(super) anchor: String,
    pub(super) name: String,
    /// Effect of a built-in rule.
    pub(super) sentence: Option<Cow<'static, str>>,
    /// Its pattern, unless it equals the id.
    pub(super) pattern: Option<String>,
    pub(super) enabled: bool,
    pub(super) is_builtin: bool,
    pub(super) effects: Vec<Cow<'static, str>>,
    /// When it ends.
    pub(super) until: Option<TimedText>,
    /// The field `rule`: the path of the rule.
    pub(super) path: String,
    /// The link to its page.
    pub(super) page: String,
}

/// The maximum number of characters of a pattern. An account may have megabytes of rules.
const MAX_PATTERN: usize = 200;

impl RuleRow {
    pub(super) fn new(
        scope: &RuleScope,
        kind: RuleKind,
        rule: &Rule,
        layout: &Layout<'_>,
        lang: Option<Language>,
    ) -> Self {
        let name = RuleRef { scope: scope.clone(), kind, id: rule.rule_id.clone() };
        let is_builtin = rule.is_builtin();
        let pattern = rule.pattern.as_deref().filter(|pattern| *pattern != rule.rule_id);
        let pattern = pattern.filter(|_| !is_builtin);
        Self {
            anchor: anchor(&name),
            sentence: sentence(kind, rule, layout),
            pattern: pattern.map(|pattern| {
                let pattern = truncate(pattern, MAX_PATTERN);
                layout.language.text_with("rules-pattern", "pattern", &*escape_invisible(&pattern))
            }),
            enabled: rule.enabled,
            is_builtin,
            effects: effects(rule, layout),
            until: rule.until.map(|until| {
                TimedText::new(layout, "rules-until", until.to_second(), TimeFormat::Full)
            }),
            path: name.path(),
            page: rule_path(lang, &name),
            name: escape_invisible(&rule.rule_id).into_owned(),
        }
    }
}

/// The sentence of a built-in rule on the notifications page.
fn sentence(kind: RuleKind, rule: &Rule, layout: &Layout<'_>) -> Option<Cow<'static, str>> {
    let is_of_rule = |switch: &&Switch| switch.rules().contains(&(kind, rule.rule_id.as_str()));
    let switch = Switch::ALL.iter().find(is_of_rule)?;
    Some(layout.text(&format!("notifications-switch-{switch}")))
}

fn effects(rule: &Rule, layout: &Layout<'_>) -> Vec<Cow<'static, str>> {
    let keys = match Effect::from_actions(&rule.actions) {
        Effect::Silent => vec!["rules-silent"],
        Effect::Notify { sound, highlight } => {
            let more = [(sound, "rules-sound"), (highlight, "rules-highlight")];
            let more = more.into_iter().filter_map(|(is_set, key)| is_set.then_some(key));
            ["rules-notify"].into_iter().chain(more).collect()
        }
    };
    keys.into_iter().map(|key| layout.text(key)).collect()
}
