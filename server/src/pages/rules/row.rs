//! One rule on the page with all rules.

use std::borrow::Cow;

use belfry_core::rules::{Effect, Rule, RuleRef};
use belfry_core::text::escape_invisible;

use super::links::{anchor, rule_path};
use super::title::{contains_id, rule_title};
use crate::language::Language;
use crate::pages::timed_text::{TimeFormat, TimedText};
use crate::pages::{Layout, Notice};

/// A rule as the template shows it.
pub(super) struct RuleRow {
    pub(super) anchor: String,
    pub(super) title: String,
    /// The rule's id, unless the title contains it.
    pub(super) id: Option<String>,
    pub(super) enabled: bool,
    pub(super) is_builtin: bool,
    /// The rule's effects; none while it is disabled.
    pub(super) effects: Vec<Cow<'static, str>>,
    /// The text about the rule's expiry.
    pub(super) until: Option<TimedText>,
    /// The notice after a change to this rule.
    pub(super) notice: Option<Notice>,
    /// The field `rule`: the path of the rule.
    pub(super) path: String,
    /// The path of the rule's page.
    pub(super) page: String,
}

impl RuleRow {
    pub(super) fn new(
        name: &RuleRef,
        rule: &Rule,
        notice: Option<Notice>,
        layout: &Layout<'_>,
        lang: Option<Language>,
    ) -> Self {
        let is_builtin = rule.is_builtin();
        let shows_id = is_builtin || !contains_id(name.kind, rule);
        Self {
            anchor: anchor(name),
            title: rule_title(name.kind, rule, layout),
            id: shows_id.then(|| escape_invisible(&rule.rule_id).into_owned()),
            enabled: rule.enabled,
            is_builtin,
            effects: if rule.enabled { effects(rule, layout) } else { Vec::new() },
            until: rule.until.map(|until| {
                TimedText::new(layout, "rules-until", until.to_second(), TimeFormat::Full)
            }),
            notice,
            path: name.path(),
            page: rule_path(lang, name),
        }
    }

    /// Returns the value of the switch, which sets it to the other state.
    pub(super) fn change(&self) -> &'static str {
        if self.enabled { "disable" } else { "enable" }
    }

    pub(super) fn state(&self, layout: &Layout<'_>) -> Cow<'static, str> {
        // Not "on": on the notifications page, that means that messages notify.
        layout.text(if self.enabled { "rules-enabled" } else { "rules-disabled" })
    }
}

fn effects(rule: &Rule, layout: &Layout<'_>) -> Vec<Cow<'static, str>> {
    let keys = match Effect::from_actions(&rule.actions) {
        Effect::Silent => vec!["rules-silent"],
        Effect::Notify { sound, highlight } => {
            let mut keys = vec!["rules-notify"];
            if sound {
                keys.push("rules-sound");
            }
            if highlight {
                keys.push("rules-highlight");
            }
            keys
        }
    };
    keys.into_iter().map(|key| layout.text(key)).collect()
}
