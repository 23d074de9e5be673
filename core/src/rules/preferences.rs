//! Preferences: the rules of one scope as the notifications page presents them.
//!
//! | preference | rules |
//! |---|---|
//! | pause | `.m.rule.master` is enabled and does not notify |
//! | quiet hours | the override or underride rule `quiet-hours`, which is silent at certain times |
//! | keyword | a content rule that notifies |
//! | muted word | a content rule that does not notify |
//! | person | a sender rule whose id is a user id |
//! | room | a room rule, or a silent override rule whose only condition is the room |
//! | switch | one or two built-in rules |
//!
//! Clients use the same rules: Element adds a keyword as a content rule, and mutes a room by an
//! override rule.

mod change;
mod form;
mod quiet_hours;
mod subject;
mod switch;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use strum::IntoStaticStr;
use thiserror::Error;

pub use self::change::{KeywordTarget, PreferenceChange, SubjectChoice};
pub use self::quiet_hours::{
    DAY_FIELDS, QuietHours, QuietHoursPreference, QuietLevel, QuietPeriod,
};
pub use self::subject::Subject;
pub use self::switch::{Switch, SwitchState};
use super::pattern::lower;
use super::{Effect, Rule, RuleDocument, RuleExpiry, RuleKind, RuleScope};

/// Maximum length of a keyword in bytes. It leaves room for a number in the rule id.
pub const MAX_WORD_BYTES: usize = 240;

/// The reason a form is rejected. The variant names are message keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum PreferenceError {
    #[error("The form is not one of this page")]
    UnknownChange,
    #[error("The keyword is blank")]
    WordBlank,
    #[error("The keyword is longer than {MAX_WORD_BYTES} bytes")]
    WordTooLong,
    #[error("The id is blank")]
    IdBlank,
    #[error("The id is too long")]
    IdTooLong,
    #[error("A room alias is not a room id")]
    RoomAlias,
    #[error("The user id has no server")]
    PersonWithoutServer,
    #[error("The id is neither a user id nor a room id")]
    IdInvalid,
    #[error("The text is blank")]
    TextBlank,
    #[error("No day of the week is chosen")]
    QuietDaysMissing,
    #[error("The time of day is not from 00:00 to 23:59")]
    QuietTimeInvalid,
    #[error("The time zone is unknown")]
    QuietZoneUnknown,
}

/// The preferences that the rules of one scope express.
#[derive(Debug, Clone, PartialEq)]
pub struct Preferences<'d> {
    pub pause: Option<Pause>,
    /// The quiet hours, if they have been set.
    pub quiet_hours: Option<QuietHoursPreference>,
    /// Keywords, in alphabetical order.
    pub keywords: Vec<Keyword<'d>>,
    /// Muted words, in alphabetical order.
    pub muted_words: Vec<Keyword<'d>>,
    /// People, by user id.
    pub people: Vec<SubjectPreference<'d>>,
    pub rooms: Vec<SubjectPreference<'d>>,
    /// The switches of built-in rules. A device has none.
    pub switches: Vec<(Switch, SwitchState)>,
    /// The user rules that do not express any of these preferences, in evaluation order.
    pub other_rules: Vec<(RuleKind, &'d Rule)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Time at which the pause ends; `None` if the user has to end it.
    pub until: Option<Timestamp>,
}

/// A word that messages are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyword<'d> {
    pub id: &'d str,
    /// The word, which may contain the wildcards `*` and `?`.
    pub pattern: &'d str,
    /// The effect on messages with the word.
    pub setting: Setting,
}

/// A person or room with a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectPreference<'d> {
    pub id: &'d str,
    /// The effect on messages from the person or in the room.
    pub setting: Setting,
}

/// The setting of a keyword, a person or a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The effect on messages with the keyword, from the person or in the room.
    pub effect: Effect,
    /// True if the effect is the same for messages that mention the user, because the rule is an
    /// override rule.
    pub includes_mentions: bool,
    pub enabled: bool,
    /// Time at which the rule expires.
    pub until: Option<Timestamp>,
}

impl Setting {
    pub fn from_rule(rule: &Rule, kind: RuleKind) -> Self {
        Self {
            effect: Effect::from_actions(&rule.actions),
            includes_mentions: kind == RuleKind::Override,
            enabled: rule.enabled,
            until: rule.until.map(RuleExpiry::to_timestamp),
        }
    }
}

/// Writes the value that a form sends back, to detect whether the setting was changed after it was
/// shown.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.effect {
            Effect::Silent if self.includes_mentions => "silent",
            Effect::Silent => "muted",
            Effect::Notify { sound: false, highlight: false } => "notify",
            Effect::Notify { sound: true, highlight: false } => "sound",
            Effect::Notify { sound: false, highlight: true } => "highlight",
            Effect::Notify { sound: true, highlight: true } => "sound-highlight",
        })?;
        if !self.enabled {
            f.write_str("-off")?;
        }
        self.until.map_or(Ok(()), |until| write!(f, "-{}", until.as_millisecond()))
    }
}

impl<'d> Preferences<'d> {
    pub fn from_document(document: &'d RuleDocument) -> Self {
        let rules = document.user_rules();
        let mut keywords: Vec<Keyword<'d>> =
            rules[RuleKind::Content].iter().filter_map(read_keyword).collect();
        keywords.sort_by_cached_key(|keyword| (lower(keyword.pattern), keyword.id));
        let (muted_words, keywords): (Vec<_>, Vec<_>) =
            keywords.into_iter().partition(|keyword| keyword.setting.effect == Effect::Silent);
        let people = read_subjects(document, &[RuleKind::Sender], Subject::is_user_id);
        // If a room has rules of both kinds, the override rule decides, because it is evaluated
        // first. Its kind is therefore read last.
        let rooms =
            read_subjects(document, &[RuleKind::Room, RuleKind::Override], Subject::is_room_id);
        Self {
            pause: Pause::from_document(document),
            quiet_hours: QuietHoursPreference::from_document(document),
            keywords,
            muted_words,
            people,
            rooms,
            switches: match document.scope() {
                RuleScope::Global => {
                    Switch::ALL.iter().map(|&switch| (switch, switch.state(document))).collect()
                }
                RuleScope::Device(_) => Vec::new(),
            },
            other_rules: rules.iter().filter(|(kind, rule)| !is_preference(*kind, rule)).collect(),
        }
    }
}

/// Returns whether a user rule expresses a preference.
fn is_preference(kind: RuleKind, rule: &Rule) -> bool {
    let subject_id = subject::id_in_rule(kind, rule);
    quiet_hours::is_own_rule(kind, rule)
        || match kind {
            RuleKind::Content => read_keyword(rule).is_some(),
            RuleKind::Sender => subject_id.is_some_and(Subject::is_user_id),
            RuleKind::Room | RuleKind::Override => subject_id.is_some_and(Subject::is_room_id),
            RuleKind::Underride => false,
        }
}

fn read_keyword(rule: &Rule) -> Option<Keyword<'_>> {
    // A content rule with conditions is not a plain keyword.
    if rule.conditions.as_ref().is_some_and(|conditions| !conditions.is_empty()) {
        return None;
    }
    let setting = Setting::from_rule(rule, RuleKind::Content);
    Some(Keyword { id: &rule.rule_id, pattern: rule.pattern.as_deref()?, setting })
}

/// Returns the people or rooms with rules of these kinds.
fn read_subjects<'d>(
    document: &'d RuleDocument,
    kinds: &[RuleKind],
    is_subject_id: impl Fn(&str) -> bool,
) -> Vec<SubjectPreference<'d>> {
    let mut subjects = BTreeMap::<&str, Setting>::new();
    for &kind in kinds {
        // In reverse order, because the first rule decides, and a later entry replaces an earlier
        // one.
        for rule in document.user_rules()[kind].iter().rev() {
            let Some(id) = subject::id_in_rule(kind, rule).filter(|id| is_subject_id(id)) else {
                continue;
            };
            let setting = Setting::from_rule(rule, kind);
            let entry = subjects.entry(id).or_insert(setting);
            // A disabled rule has no effect, so it does not hide an enabled one.
            if setting.enabled || !entry.enabled {
                *entry = setting;
            }
        }
    }
    subjects.into_iter().map(|(id, setting)| SubjectPreference { id, setting }).collect()
}
