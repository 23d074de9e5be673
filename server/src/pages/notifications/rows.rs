//! Rows in the lists of words, people and rooms.

use belfry_core::percent;
use belfry_core::rules::Effect;
use belfry_core::rules::preferences::{Keyword, Setting, SubjectPreference};
use belfry_core::text::escape_invisible;
use jiff::Timestamp;

use super::super::Layout;
use crate::language::isolate;
use crate::pages::text::truncate;
use crate::pages::timed_text::{TimeFormat, TimedText};

/// The maximum number of characters shown of a name, because an account may have megabytes of
/// rules.
const MAX_NAME_CHARS: usize = 200;

/// A keyword.
pub(super) struct KeywordRow {
    pub(super) word: String,
    /// The percent-encoded id of the rule.
    pub(super) rule: String,
    /// The setting that the page shows, to detect a conflicting change.
    pub(super) seen_setting: String,
    pub(super) has_sound: bool,
    pub(super) has_highlight: bool,
    pub(super) marks: Vec<TimedText>,
}

/// A muted word.
pub(super) struct MutedWordRow {
    pub(super) word: String,
    /// The percent-encoded id of the rule.
    pub(super) rule: String,
    pub(super) marks: Vec<TimedText>,
}

/// A person or a room.
pub(super) struct SubjectRow {
    pub(super) name: String,
    /// The percent-encoded id of the rule.
    pub(super) rule: String,
    /// The setting that the page shows, to detect a conflicting change.
    pub(super) seen_setting: String,
    /// The value of the selected choice; empty if the setting expires.
    pub(super) choice: &'static str,
    /// The text about the setting's expiry.
    pub(super) expiry: Option<TimedText>,
    pub(super) marks: Vec<TimedText>,
}

pub(super) fn keyword_row(
    layout: &Layout<'_>,
    keyword: &Keyword<'_>,
    now: Timestamp,
) -> KeywordRow {
    let setting = &keyword.setting;
    let text = |key: &str| TimedText::plain(layout.text(key));
    let (has_sound, has_highlight) = match setting.effect {
        Effect::Silent => (false, false),
        Effect::Notify { sound, highlight } => (sound, highlight),
    };
    let mut marks = Vec::new();
    if !setting.enabled {
        marks.push(text("notifications-off"));
    }
    for (is_set, key) in
        [(has_sound, "notifications-sound"), (has_highlight, "notifications-highlight")]
    {
        if is_set {
            marks.push(text(key));
        }
    }
    marks.extend(describe_expiry(layout, setting, now));
    KeywordRow {
        word: format_name(keyword.pattern),
        rule: percent::encode(keyword.id),
        seen_setting: setting.to_string(),
        has_sound,
        has_highlight,
        marks,
    }
}

pub(super) fn muted_word_row(
    layout: &Layout<'_>,
    word: &Keyword<'_>,
    now: Timestamp,
) -> MutedWordRow {
    let mut marks = Vec::new();
    if !word.setting.enabled {
        marks.push(TimedText::plain(layout.text("notifications-off")));
    }
    marks.extend(describe_expiry(layout, &word.setting, now));
    MutedWordRow { word: format_name(word.pattern), rule: percent::encode(word.id), marks }
}

pub(super) fn subject_row(
    layout: &Layout<'_>,
    subject: &SubjectPreference<'_>,
    now: Timestamp,
) -> SubjectRow {
    let setting = &subject.setting;
    let (key, choice) = match setting.effect {
        Effect::Notify { .. } => ("notifications-notifies", "notify"),
        Effect::Silent if setting.includes_mentions => ("notifications-silent", "mute"),
        Effect::Silent => ("notifications-muted", "mute"),
    };
    let mut marks = vec![TimedText::plain(layout.text(key))];
    if matches!(setting.effect, Effect::Notify { highlight: true, .. }) {
        marks.push(TimedText::plain(layout.text("notifications-highlight")));
    }
    if !setting.enabled {
        marks.insert(0, TimedText::plain(layout.text("notifications-off")));
    }
    marks.extend(describe_expiry(layout, setting, now));
    SubjectRow {
        name: format_name(subject.id),
        rule: percent::encode(subject.id),
        seen_setting: setting.to_string(),
        choice: if setting.until.is_none() { choice } else { "" },
        expiry: describe_expiry(layout, setting, now),
        marks,
    }
}

/// Returns the text about the expiry of a setting, if it expires.
fn describe_expiry(layout: &Layout<'_>, setting: &Setting, now: Timestamp) -> Option<TimedText> {
    let until = setting.until?;
    Some(TimedText::new(layout, "notifications-until", until, TimeFormat::Short(now)))
}

/// Returns a word, an id or a profile tag as pages show it: truncated, and with invisible
/// characters escaped.
pub(super) fn format_name(name: &str) -> String {
    isolate(&escape_invisible(&truncate(name, MAX_NAME_CHARS)))
}
