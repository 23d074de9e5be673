//! Preference changes, as operations on a scope's document.

use jiff::Timestamp;

use super::super::action::with_effect;
use super::super::pattern::lower;
use super::super::{
    Effect, EnabledChange, NewRule, NewRuleLimits, Rule, RuleDocument, RuleError, RuleExpiry,
    RuleId, RuleKind, RulePosition, builtin,
};
use super::{Preferences, QuietHours, Setting, Subject, Switch, quiet_hours, subject};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreferenceChange {
    Pause {
        /// Time at which the pause ends; `None` if the user has to end it.
        until: Option<Timestamp>,
    },
    Resume,
    SetQuietHours {
        quiet_hours: QuietHours,
        /// The setting that was shown; empty if there was none.
        displayed_setting: String,
    },
    /// Disables the quiet hours, if there are any.
    SwitchOffQuietHours,
    /// Adds a keyword, or changes its effect.
    SetKeyword {
        /// A new keyword, or the rule of an existing one.
        target: KeywordTarget,
        effect: Effect,
    },
    /// Removes the keyword with this rule id, if there is one.
    RemoveKeyword(String),
    /// Sets the effect for a person or a room.
    SetSubject {
        subject: Subject,
        /// The chosen effect on messages from the person or in the room.
        choice: SubjectChoice,
        /// The setting that was shown, if there was one.
        displayed_setting: Option<String>,
    },
    /// Removes all rules about a person or a room, if there are any.
    RemoveSubject(Subject),
    /// Turns a switch on (`true`) or off.
    SetSwitch(Switch, bool),
    /// Enables or disables a rule that expresses no preference.
    SetRuleEnabled(RuleKind, String, bool),
    /// Removes a rule that expresses no preference, if there is one.
    RemoveRule(RuleKind, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeywordTarget {
    /// A word. An existing keyword or muted word with this text is changed.
    Word(String),
    Rule {
        id: String,
        displayed_setting: String,
    },
}

/// The chosen effect for a person or a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectChoice {
    /// Notify of every message, with a sound.
    Notify,
    /// Do not notify, except of messages that an override or content rule notifies of, such as
    /// mentions and messages with keywords.
    Mute {
        /// Time at which the mute expires; `None` if the user has to end it.
        until: Option<Timestamp>,
    },
}

/// Maximum difference between the expiry times of two mutes that count as one form submitted twice.
const RESUBMISSION_TOLERANCE_MILLIS: i64 = 2 * 60 * 1000;

impl PreferenceChange {
    /// Returns whether the change always applies to all devices. Only the global scope has built-in
    /// rules, and in the scope of a device the underride rule of quiet hours would silence
    /// mentions.
    pub fn is_global(&self) -> bool {
        matches!(
            self,
            Self::Pause { .. }
                | Self::Resume
                | Self::SetQuietHours { .. }
                | Self::SwitchOffQuietHours
                | Self::SetSwitch(..)
        )
    }

    /// Returns whether the change removes a preference.
    pub fn is_removal(&self) -> bool {
        matches!(self, Self::RemoveKeyword(_) | Self::RemoveSubject(_) | Self::RemoveRule(..))
    }

    /// Returns whether the change mutes a word that is a keyword in the document, or makes a muted
    /// word a keyword.
    pub fn reverses_word(&self, document: &RuleDocument) -> bool {
        let Self::SetKeyword { target: KeywordTarget::Word(word), effect } = self else {
            return false;
        };
        find_keyword_rule(document, word)
            .is_some_and(|rule| is_silent(rule) != (*effect == Effect::Silent))
    }

    /// Applies the change to a document. After an error the document is unchanged.
    ///
    /// The error is [`RuleError::ChangedMeanwhile`] if the setting is neither the one that was
    /// shown nor the new one, and [`RuleError::NoSuchRule`] if it was removed. A rule that exceeds
    /// the limits of the API is rejected as well.
    pub fn apply(
        &self,
        document: &mut RuleDocument,
        limits: NewRuleLimits,
    ) -> Result<(), RuleError> {
        match self {
            Self::Pause { until } => pause(document, *until, limits),
            Self::Resume => document.set_enabled(RuleKind::Override, builtin::MASTER, false),
            Self::SetQuietHours { quiet_hours, displayed_setting } => {
                quiet_hours.apply(document, displayed_setting, limits)
            }
            Self::SwitchOffQuietHours => quiet_hours::switch_off(document),
            Self::SetKeyword { target, effect } => set_keyword(document, target, *effect, limits),
            // A form may be submitted twice, so it is not an error if there is no such rule.
            Self::RemoveKeyword(id) => document.remove(RuleKind::Content, id).or(Ok(())),
            Self::SetSubject { subject, choice, displayed_setting } => {
                set_subject(document, subject, *choice, displayed_setting.as_deref(), limits)
            }
            Self::RemoveSubject(subject) => {
                remove_override_mutes(document, subject)?;
                document.remove(subject.kind(), subject.id()).or(Ok(()))
            }
            Self::SetSwitch(switch, is_on) => switch.set(document, *is_on, limits),
            Self::SetRuleEnabled(kind, id, enabled) => document.set_enabled(*kind, id, *enabled),
            Self::RemoveRule(kind, id) => document.remove(*kind, id).or(Ok(())),
        }
    }
}

fn pause(
    document: &mut RuleDocument,
    until: Option<Timestamp>,
    limits: NewRuleLimits,
) -> Result<(), RuleError> {
    let kind = RuleKind::Override;
    let id = builtin::MASTER;
    document.set_actions(kind, id, Vec::new(), limits)?;
    let until = until.map(RuleExpiry::from_timestamp);
    document.set_enabled(kind, id, EnabledChange { enabled: true, until })
}

fn set_keyword(
    document: &mut RuleDocument,
    target: &KeywordTarget,
    effect: Effect,
    limits: NewRuleLimits,
) -> Result<(), RuleError> {
    let rules = &document.user_rules()[RuleKind::Content];
    let current_rule = match target {
        KeywordTarget::Word(word) => find_keyword_rule(document, word),
        KeywordTarget::Rule { id, displayed_setting } => {
            let no_such_rule = || RuleError::NoSuchRule { kind: RuleKind::Content, id: id.clone() };
            let rule = rules.iter().find(|rule| rule.rule_id == *id).ok_or_else(no_such_rule)?;
            let setting = Setting::from_rule(rule, RuleKind::Content);
            let is_already_set = setting.effect == effect && setting.enabled;
            if setting.to_string() != *displayed_setting && !is_already_set {
                return Err(RuleError::ChangedMeanwhile {
                    kind: RuleKind::Content,
                    id: id.clone(),
                });
            }
            Some(rule)
        }
    };
    let (new_id, new_rule) = match (current_rule, target) {
        (Some(rule), _) => {
            let actions = with_effect(&rule.actions, effect);
            (rule.rule_id.parse()?, Rule { actions, ..rule.clone() })
        }
        (None, KeywordTarget::Word(word) | KeywordTarget::Rule { id: word, .. }) => {
            let actions = with_effect(&[], effect);
            let pattern = Some(word.clone());
            (new_keyword_id(document, word)?, Rule { actions, pattern, ..Rule::default() })
        }
    };
    // Muted words precede keywords, so a message with both is silent regardless of which was
    // created first.
    let is_muted = effect == Effect::Silent;
    let must_move = current_rule.is_none_or(|rule| is_silent(rule) != is_muted);
    let mut other_rules = rules.iter().filter(|rule| rule.rule_id != new_id.as_str());
    let (next_rule, previous_rule) = if is_muted {
        (other_rules.next(), None)
    } else {
        (None, other_rules.rfind(|rule| is_silent(rule)))
    };
    let neighbour_id =
        |rule: Option<&Rule>| rule.filter(|_| must_move).map(|rule| rule.rule_id.clone());
    let before = neighbour_id(next_rule);
    let after = neighbour_id(previous_rule);
    let position = RulePosition { before: before.as_deref(), after: after.as_deref() };
    put_rule(document, RuleKind::Content, (new_id, new_rule), position, limits)
}

fn is_silent(rule: &Rule) -> bool {
    Effect::from_actions(&rule.actions) == Effect::Silent
}

/// Returns the content rule for a word, ignoring case.
fn find_keyword_rule<'d>(document: &'d RuleDocument, word: &str) -> Option<&'d Rule> {
    let has_word = |rule: &&Rule| rule.pattern.as_deref().map(lower) == Some(lower(word));
    document.user_rules()[RuleKind::Content].iter().find(has_word)
}

/// Returns the id for a new keyword: the word itself, as clients choose it, if it is a valid and
/// unused id; otherwise a similar one.
fn new_keyword_id(document: &RuleDocument, word: &str) -> Result<RuleId, RuleError> {
    let without_slashes = word.replace(['/', '\\'], "_");
    let base_id = match without_slashes.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => without_slashes,
    };
    let rules = &document.user_rules()[RuleKind::Content];
    let is_free = |id: &String| rules.iter().all(|rule| rule.rule_id != *id);
    let numbered_ids = (2..).map(|number: u32| format!("{base_id} {number}"));
    let free_id = std::iter::once(base_id.clone()).chain(numbered_ids).find(is_free);
    Ok(free_id.unwrap_or(base_id).parse()?)
}

fn set_subject(
    document: &mut RuleDocument,
    subject: &Subject,
    choice: SubjectChoice,
    displayed_setting: Option<&str>,
    limits: NewRuleLimits,
) -> Result<(), RuleError> {
    let kind = subject.kind();
    let id = subject.id();
    if let Some(displayed_setting) = displayed_setting {
        let preferences = Preferences::from_document(document);
        let preference =
            preferences.people.iter().chain(&preferences.rooms).find(|entry| entry.id == id);
        let no_such_rule = || RuleError::NoSuchRule { kind, id: id.to_owned() };
        let setting = preference.ok_or_else(no_such_rule)?.setting;
        if setting.to_string() != displayed_setting && !is_set_to(setting, choice) {
            return Err(RuleError::ChangedMeanwhile { kind, id: id.to_owned() });
        }
    }
    let current_rule = document.user_rules()[kind]
        .iter()
        .find(|rule| rule.rule_id == id)
        .cloned()
        .unwrap_or_default();
    let current_actions = &current_rule.actions;
    let (effect, until) = match choice {
        SubjectChoice::Notify => {
            let highlight = matches!(
                Effect::from_actions(current_actions),
                Effect::Notify { highlight: true, .. }
            );
            (Effect::Notify { sound: true, highlight }, None)
        }
        SubjectChoice::Mute { until } => (Effect::Silent, until),
    };
    let actions = with_effect(current_actions, effect);
    let until = until.map(RuleExpiry::from_timestamp);
    let rule = Rule { actions, until, ..current_rule };
    put_rule(document, kind, (id.parse()?, rule), RulePosition::default(), limits)?;
    // An override rule would still silence the room, because it precedes the room rule.
    remove_override_mutes(document, subject)
}

/// Returns whether a setting is the result of this choice.
fn is_set_to(setting: Setting, choice: SubjectChoice) -> bool {
    let (has_effect, chosen_expiry) = match (setting.effect, choice) {
        (Effect::Notify { sound, .. }, SubjectChoice::Notify) => (sound, None),
        (Effect::Silent, SubjectChoice::Mute { until }) => (true, until),
        _ => (false, None),
    };
    let has_expiry = match (setting.until, chosen_expiry) {
        (Some(until), Some(chosen_expiry)) => {
            (until.as_millisecond() - chosen_expiry.as_millisecond()).abs()
                <= RESUBMISSION_TOLERANCE_MILLIS
        }
        (until, chosen_expiry) => until == chosen_expiry,
    };
    setting.enabled && !setting.includes_mentions && has_effect && has_expiry
}

/// Stores a rule and enables it.
fn put_rule(
    document: &mut RuleDocument,
    kind: RuleKind,
    (id, rule): (RuleId, Rule),
    position: RulePosition<'_>,
    limits: NewRuleLimits,
) -> Result<(), RuleError> {
    let new_rule = NewRule::from_rule(rule, limits)?;
    document.put(kind, id.clone(), new_rule, position)?;
    document.set_enabled(kind, id.as_str(), true)
}

fn remove_override_mutes(document: &mut RuleDocument, subject: &Subject) -> Result<(), RuleError> {
    let Subject::Room(room) = subject else { return Ok(()) };
    let kind = RuleKind::Override;
    let is_mute = |rule: &&Rule| subject::id_in_rule(kind, rule) == Some(room);
    let mutes = document.user_rules()[kind].iter().filter(is_mute);
    let ids: Vec<String> = mutes.map(|rule| rule.rule_id.clone()).collect();
    ids.iter().try_for_each(|id| document.remove(kind, id))
}
