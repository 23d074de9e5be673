//! Rows in the lists of words, people, rooms and other rules.

use belfry_core::percent;
use belfry_core::rules::preferences::{Keyword, Setting, SubjectPreference};
use belfry_core::rules::{Effect, Rule, RuleKind};
use jiff::Timestamp;

use super::super::Layout;
use crate::pages::format_name;
use crate::pages::rule_title::rule_title;
use crate::pages::timed_text::{TimeFormat, TimedText};

pub(super) struct EntryRow {
    pub(super) title: String,
    /// The percent-encoded id of the rule, preceded by its kind for other rules.
    pub(super) rule: String,
    /// The setting that the page shows, to detect a conflicting change.
    pub(super) seen_setting: String,
    pub(super) is_enabled: bool,
    pub(super) has_sound: bool,
    pub(super) has_highlight: bool,
    /// The value of the selected choice for a person or room; empty if the setting expires.
    pub(super) choice: &'static str,
    /// The text about the setting's expiry.
    pub(super) expiry: Option<TimedText>,
    pub(super) marks: Vec<TimedText>,
}

impl EntryRow {
    fn new(
        layout: &Layout<'_>,
        (title, rule): (String, &str),
        setting: &Setting,
        state_key: Option<&str>,
        now: Timestamp,
    ) -> Self {
        let (has_sound, has_highlight, choice) = match setting.effect {
            Effect::Silent => (false, false, "mute"),
            Effect::Notify { sound, highlight } => (sound, highlight, "notify"),
        };
        let mut keys = Vec::new();
        if !setting.enabled {
            keys.push("notifications-off");
        }
        keys.extend(state_key);
        // "Always notifies" implies a sound.
        if has_sound && state_key != Some("notifications-notifies") {
            keys.push("notifications-sound");
        }
        if has_highlight {
            keys.push("notifications-highlight");
        }
        let format = TimeFormat::Short(now);
        let describe_expiry = |until| TimedText::new(layout, "notifications-until", until, format);
        let marks = keys.into_iter().map(|key| TimedText::plain(layout.text(key)));
        Self {
            title,
            rule: percent::encode(rule),
            seen_setting: setting.to_string(),
            is_enabled: setting.enabled,
            has_sound,
            has_highlight,
            choice: if setting.until.is_none() { choice } else { "" },
            expiry: setting.until.map(describe_expiry),
            marks: marks.chain(setting.until.map(describe_expiry)).collect(),
        }
    }

    pub(super) fn from_word(layout: &Layout<'_>, word: &Keyword<'_>, now: Timestamp) -> Self {
        Self::new(layout, (format_name(word.pattern), word.id), &word.setting, None, now)
    }

    pub(super) fn from_subject(
        layout: &Layout<'_>,
        SubjectPreference { id, setting }: &SubjectPreference<'_>,
        now: Timestamp,
    ) -> Self {
        let state_key = match setting.effect {
            Effect::Notify { .. } => "notifications-notifies",
            Effect::Silent if setting.includes_mentions => "notifications-silent",
            Effect::Silent => "notifications-muted",
        };
        Self::new(layout, (format_name(id), id), setting, Some(state_key), now)
    }

    /// Creates the row of a rule that expresses no preference.
    pub(super) fn from_rule(
        layout: &Layout<'_>,
        kind: RuleKind,
        rule: &Rule,
        now: Timestamp,
    ) -> Self {
        let id = &rule.rule_id;
        let title = match kind {
            RuleKind::Override | RuleKind::Underride => format_name(id),
            RuleKind::Content | RuleKind::Room | RuleKind::Sender => rule_title(kind, rule, layout),
        };
        let setting = Setting::from_rule(rule, kind);
        let state_key = match setting.effect {
            Effect::Silent if rule.quiet_hours().is_some() => "rules-about-quiet-hours",
            Effect::Silent => "rules-silent",
            Effect::Notify { .. } => "rules-notify",
        };
        Self::new(layout, (title, &format!("{kind}/{id}")), &setting, Some(state_key), now)
    }
}
