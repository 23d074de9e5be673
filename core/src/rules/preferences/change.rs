//! Changes of preferences, as operations on the document of a scope.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::pattern::lower;
use super::super::{
    Action, Document, Effect, EnabledChange, Extra, NewRule, NewRuleLimits, Position, Rule,
    RuleError, RuleExpiry, RuleId, RuleKind, RuleRef, builtin,
};
use super::{Preferences, Setting, Subject, Switch, actions, subject};

/// A change of one preference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreferenceChange {
    /// Pauses all notifications.
    Pause {
        /// The end of the pause.
        until: Option<Timestamp>,
    },
    /// Ends the pause.
    Resume,
    /// Adds a keyword, or changes its effect.
    SetKeyword {
        /// The keyword.
        target: KeywordTarget,
        /// How it notifies, or that it mutes.
        effect: Effect,
    },
    /// Removes the keyword of this rule id. A keyword that does not exist is not an error, because
    /// a form may be submitted twice.
    RemoveKeyword(String),
    /// Decides about a person or a room.
    SetSubject {
        /// The person or room.
        subject: Subject,
        /// The decision.
        choice: SubjectChoice,
        /// The setting that was shown, if there was one.
        seen: Option<String>,
    },
    /// Removes all rules about a person or a room, if there are any.
    RemoveSubject(Subject),
    /// Turns a switch on or off.
    SetSwitch(Switch, bool),
}

/// The keyword that a change is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeywordTarget {
    /// A word. If it is a keyword already, that one is changed.
    Word(String),
    /// The keyword of a rule.
    Rule {
        /// The id of the rule.
        id: String,
        /// The setting that was shown.
        seen: String,
    },
}

/// The decision about a person or a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectChoice {
    /// Notify of every message, with a sound.
    Notify,
    /// Notify of every message, with a sound and a highlight.
    Highlight,
    /// Do not notify, except of what precedes the rule: mentions, calls and keywords.
    Mute {
        /// The end of the mute.
        until: Option<Timestamp>,
    },
}

/// Two ends of a mute that differ by less are of one form that was submitted twice.
const SAME_CHOICE_MILLIS: i64 = 2 * 60 * 1000;

impl PreferenceChange {
    /// Whether it changes built-in rules, which only the global scope has.
    pub fn is_global(&self) -> bool {
        matches!(self, Self::Pause { .. } | Self::Resume | Self::SetSwitch(..))
    }

    /// Whether it removes a preference.
    pub fn is_removal(&self) -> bool {
        matches!(self, Self::RemoveKeyword(_) | Self::RemoveSubject(_))
    }

    /// The rule of the word, person or room that this change has set in a document.
    pub fn rule(&self, document: &Document) -> Option<RuleRef> {
        let (kind, id) = match self {
            Self::SetKeyword { target: KeywordTarget::Word(word), .. } => {
                (RuleKind::Content, &*keyword_rule(document, word)?.rule_id)
            }
            Self::SetSubject { subject, .. } => (subject.kind(), subject.id()),
            _ => return None,
        };
        Some(RuleRef { scope: document.scope().clone(), kind, id: id.to_owned() })
    }

    /// Changes a document. A rule that it stores has the limits of a rule of the API.
    ///
    /// # Errors
    /// [`RuleError::ChangedMeanwhile`] if the setting is not the one that was shown, and not the
    /// new one either; [`RuleError::NoSuchRule`] if it was removed; an error of [`NewRule`] if the
    /// rule exceeds a limit. The document is unchanged then.
    pub fn apply(&self, document: &mut Document, limits: NewRuleLimits) -> Result<(), RuleError> {
        match self {
            Self::Pause { until } => pause(document, *until, limits),
            Self::Resume => document.set_enabled(RuleKind::Override, builtin::MASTER, false),
            Self::SetKeyword { target, effect } => set_keyword(document, target, *effect, limits),
            Self::RemoveKeyword(id) => match document.remove(RuleKind::Content, id) {
                Err(RuleError::NoSuchRule { .. }) => Ok(()),
                removed => removed,
            },
            Self::SetSubject { subject, choice, seen } => {
                set_subject(document, subject, *choice, seen.as_deref(), limits)
            }
            Self::RemoveSubject(subject) => {
                remove_override_mutes(document, subject)?;
                match document.remove(subject.kind(), subject.id()) {
                    Err(RuleError::NoSuchRule { .. }) => Ok(()),
                    removed => removed,
                }
            }
            Self::SetSwitch(switch, on) => switch.set(document, *on, limits),
        }
    }
}

fn pause(
    document: &mut Document,
    until: Option<Timestamp>,
    limits: NewRuleLimits,
) -> Result<(), RuleError> {
    let (kind, id) = (RuleKind::Override, builtin::MASTER);
    document.set_actions(kind, id, Vec::new(), limits)?;
    let until = until.map(RuleExpiry::at);
    document.change_enabled(kind, id, EnabledChange { enabled: true, until })
}

fn set_keyword(
    document: &mut Document,
    target: &KeywordTarget,
    effect: Effect,
    limits: NewRuleLimits,
) -> Result<(), RuleError> {
    let rules = &document.user_rules()[RuleKind::Content];
    let existing = match target {
        KeywordTarget::Word(word) => keyword_rule(document, word),
        KeywordTarget::Rule { id, seen } => {
            let missing = || RuleError::NoSuchRule { kind: RuleKind::Content, id: id.clone() };
            let rule = rules.iter().find(|rule| rule.rule_id == *id).ok_or_else(missing)?;
            let setting = Setting::of(rule, RuleKind::Content);
            let is_done = setting.effect == effect && setting.enabled;
            if setting.to_string() != *seen && !is_done {
                return Err(RuleError::ChangedMeanwhile {
                    kind: RuleKind::Content,
                    id: id.clone(),
                });
            }
            Some(rule)
        }
    };
    let new = match (existing, target) {
        (Some(rule), _) => {
            let actions = actions::with_effect(&rule.actions, effect);
            (rule.rule_id.parse()?, with_actions(Some(rule), &actions))
        }
        (None, KeywordTarget::Word(word) | KeywordTarget::Rule { id: word, .. }) => {
            let mut body = with_actions(None, &actions::with_effect(&[], effect));
            body.insert("pattern".to_owned(), json!(word));
            (keyword_id(document, word)?, body)
        }
    };
    put(document, RuleKind::Content, new, limits)
}

/// The content rule of a word, in any case.
fn keyword_rule<'d>(document: &'d Document, word: &str) -> Option<&'d Rule> {
    let is_same = |rule: &&Rule| rule.pattern.as_deref().map(lower) == Some(lower(word));
    document.user_rules()[RuleKind::Content].iter().find(is_same)
}

/// The id of a new keyword: the word, as clients choose it, if it is a valid id that is not in use.
fn keyword_id(document: &Document, word: &str) -> Result<RuleId, RuleError> {
    let valid: String =
        word.chars().map(|c| if matches!(c, '/' | '\\') { '_' } else { c }).collect();
    let valid = match valid.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => valid,
    };
    let rules = &document.user_rules()[RuleKind::Content];
    let is_free = |id: &String| rules.iter().all(|rule| rule.rule_id != *id);
    let numbered = (2..).map(|number: u32| format!("{valid} {number}"));
    let free = std::iter::once(valid.clone()).chain(numbered).find(is_free);
    Ok(free.unwrap_or(valid).parse()?)
}

fn set_subject(
    document: &mut Document,
    subject: &Subject,
    choice: SubjectChoice,
    seen: Option<&str>,
    limits: NewRuleLimits,
) -> Result<(), RuleError> {
    let (kind, id) = (subject.kind(), subject.id());
    if let Some(seen) = seen {
        let preferences = Preferences::read(document);
        let listed = preferences.people.iter().chain(&preferences.rooms).find(|it| it.id == id);
        let missing = || RuleError::NoSuchRule { kind, id: id.to_owned() };
        let setting = listed.ok_or_else(missing)?.setting;
        if setting.to_string() != seen && !is_set_to(setting, choice) {
            return Err(RuleError::ChangedMeanwhile { kind, id: id.to_owned() });
        }
    }
    let existing = document.user_rules()[kind].iter().find(|rule| rule.rule_id == id);
    let old = existing.map_or(&[][..], |rule| &rule.actions);
    let (effect, until) = match choice {
        SubjectChoice::Notify => {
            let highlight = matches!(Effect::of(old), Effect::Notify { highlight: true, .. });
            (Effect::Notify { sound: true, highlight }, None)
        }
        SubjectChoice::Highlight => (Effect::Notify { sound: true, highlight: true }, None),
        SubjectChoice::Mute { until } => (Effect::Silent, until),
    };
    let mut body = with_actions(existing, &actions::with_effect(old, effect));
    body.remove("until");
    body.extend(until.map(|until| ("until".to_owned(), json!(RuleExpiry::at(until)))));
    put(document, kind, (id.parse()?, body), limits)?;
    // An override rule would still silence the room.
    remove_override_mutes(document, subject)
}

/// Whether a setting is the result of this choice.
fn is_set_to(setting: Setting, choice: SubjectChoice) -> bool {
    let is_same_end = |chosen: Option<Timestamp>| match (setting.until, chosen) {
        (None, None) => true,
        (Some(until), Some(chosen)) => {
            (until.as_millisecond() - chosen.as_millisecond()).abs() <= SAME_CHOICE_MILLIS
        }
        _ => false,
    };
    setting.enabled
        && !setting.includes_mentions
        && match (setting.effect, choice) {
            (Effect::Notify { sound, .. }, SubjectChoice::Notify) => sound && is_same_end(None),
            (Effect::Notify { sound, highlight }, SubjectChoice::Highlight) => {
                sound && highlight && is_same_end(None)
            }
            (Effect::Silent, SubjectChoice::Mute { until }) => is_same_end(until),
            _ => false,
        }
}

/// The members of a rule with other actions. Those that are unknown here are preserved.
fn with_actions(existing: Option<&Rule>, actions: &[Action]) -> Extra {
    let mut body = match existing.map(|rule| json!(rule)) {
        Some(Value::Object(members)) => members,
        _ => Extra::new(),
    };
    body.insert("actions".to_owned(), json!(actions));
    body
}

/// Stores a rule and enables it.
fn put(
    document: &mut Document,
    kind: RuleKind,
    (id, body): (RuleId, Extra),
    limits: NewRuleLimits,
) -> Result<(), RuleError> {
    let rule = NewRule::from_existing(kind, Value::Object(body), limits)?;
    document.put(kind, id.clone(), rule, Position::default())?;
    document.set_enabled(kind, id.as_str(), true)
}

/// Removes the override rules that silence a room.
fn remove_override_mutes(document: &mut Document, subject: &Subject) -> Result<(), RuleError> {
    let Subject::Room(room) = subject else { return Ok(()) };
    let kind = RuleKind::Override;
    let is_mute = |rule: &&Rule| subject::of_rule(kind, rule) == Some(room);
    let mutes = document.user_rules()[kind].iter().filter(is_mute);
    let ids: Vec<String> = mutes.map(|rule| rule.rule_id.clone()).collect();
    ids.iter().try_for_each(|id| document.remove(kind, id))
}
