//! One rule on the page with all rules.

use std::borrow::Cow;

use belfry_core::rules::{Effect, Rule, RuleRef};
use belfry_core::text::escape_invisible;

use super::links::{rule_anchor, rule_path};
use super::title::{rule_title, title_contains_id};
use crate::language::Language;
use crate::pages::timed_text::{TimeFormat, TimedText};
use crate::pages::{Layout, Notice};

/// A rule as the template shows it.
pub(super) struct RuleRow {
    pub(super) anchor: String,
    pub(super) title: String,
    /// The rule's id, unless the title contains it.
    pub(super) id: Option<String>,
    pub(super) is_enabled: bool,
    pub(super) is_builtin: bool,
    /// The rule's effects; none while it is disabled.
    pub(super) effects: Vec<Cow<'static, str>>,
    /// The text about the rule's expiry.
    pub(super) expiry: Option<TimedText>,
    /// The notice after a change to this rule.
    pub(super) notice: Option<Notice>,
    /// The field `rule`: the path of the rule.
    pub(super) path: String,
    /// The path of the rule's page.
    pub(super) page_path: String,
}

impl RuleRow {
    pub(super) fn new(
        rule_ref: &RuleRef,
        rule: &Rule,
        notice: Option<Notice>,
        layout: &Layout<'_>,
        lang: Option<Language>,
    ) -> Self {
        let is_builtin = rule.is_builtin();
        let shows_id = is_builtin || !title_contains_id(rule_ref.kind, rule);
        Self {
            anchor: rule_anchor(rule_ref),
            title: rule_title(rule_ref.kind, rule, layout),
            id: shows_id.then(|| escape_invisible(&rule.rule_id).into_owned()),
            is_enabled: rule.enabled,
            is_builtin,
            effects: if rule.enabled { effect_labels(rule, layout) } else { Vec::new() },
            expiry: rule.until.map(|until| {
                TimedText::new(layout, "rules-until", until.to_timestamp(), TimeFormat::Full)
            }),
            notice,
            path: rule_ref.path(),
            page_path: rule_path(lang, rule_ref),
        }
    }

    /// Returns the value of the switch, which sets it to the other state.
    pub(super) fn button_value(&self) -> &'static str {
        if self.is_enabled { "disable" } else { "enable" }
    }

    pub(super) fn state_text(&self, layout: &Layout<'_>) -> Cow<'static, str> {
        // Not "on": on the notifications page, that means that messages notify.
        layout.text(if self.is_enabled { "rules-enabled" } else { "rules-disabled" })
    }
}

fn effect_labels(rule: &Rule, layout: &Layout<'_>) -> Vec<Cow<'static, str>> {
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
