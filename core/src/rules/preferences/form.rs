//! Forms of the notifications page, and the form for a new rule.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    KeywordTarget, MAX_WORD_BYTES, PreferenceChange, PreferenceError, Subject, SubjectChoice,
    Switch,
};
use crate::oauth::form::{Pairs, last_value};
use crate::percent;
use crate::rules::Effect;

// Durations in milliseconds.
const MINUTE: i64 = 60 * 1000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The time of day at which a pause until the morning ends.
const MORNING: i64 = 8 * HOUR;

/// The minimum length of a pause until the morning. A pause that starts at 3:00 ends on the same
/// day, a pause that starts at 7:00 on the next day.
const SHORTEST_NIGHT: i64 = 4 * HOUR;

impl PreferenceChange {
    /// Reads a form of the notifications page that was submitted at `now`.
    pub fn from_pairs(pairs: &Pairs, now: Timestamp) -> Result<Self, PreferenceError> {
        let value = |name: &str| last_value(pairs, name);
        let is_checked = |name: &str| !value(name).is_empty();
        let seen = || Some(value("seen").to_owned()).filter(|seen| !seen.is_empty());
        let listed_id = read_listed_id(pairs)?;
        let subject = || Subject::parse(listed_id.as_deref().unwrap_or_else(|| value("id")));
        Ok(match value("change") {
            "pause" => Self::Pause { until: read_pause(value("for"), value("morning"), now)? },
            "resume" => Self::Resume,
            "keyword" => Self::SetKeyword {
                target: match listed_id {
                    Some(id) => KeywordTarget::Rule { id, seen: value("seen").to_owned() },
                    None => KeywordTarget::Word(read_word(value("word"))?),
                },
                effect: Effect::Notify {
                    sound: is_checked("sound"),
                    highlight: is_checked("highlight"),
                },
            },
            "mute-word" => Self::SetKeyword {
                target: KeywordTarget::Word(read_word(value("word"))?),
                effect: Effect::Silent,
            },
            "remove-keyword" | "remove-muted-word" => {
                Self::RemoveKeyword(listed_id.ok_or(PreferenceError::UnknownChange)?)
            }
            "subject" => Self::SetSubject {
                subject: subject()?,
                choice: read_choice(value("choice"), now)?,
                seen: seen(),
            },
            "remove-subject" => Self::RemoveSubject(subject()?),
            "switch" => read_switch(value("switch")).ok_or(PreferenceError::UnknownChange)?,
            _ => return Err(PreferenceError::UnknownChange),
        })
    }

    /// Reads the form that mutes or highlights a word, a person or a room.
    ///
    /// A muted word is a content rule without actions, not an override rule, which would silence
    /// mentions too.
    pub fn from_rule_form(pairs: &Pairs) -> Result<Self, PreferenceError> {
        let value = |name: &str| last_value(pairs, name);
        let (effect, choice) = match value("effect") {
            "mute" => (Effect::Silent, SubjectChoice::Mute { until: None }),
            "highlight" => {
                (Effect::Notify { sound: true, highlight: true }, SubjectChoice::Highlight)
            }
            _ => return Err(PreferenceError::UnknownChange),
        };
        let subject = match value("subject") {
            "word" if Subject::parse(value("value")).is_ok() => {
                return Err(PreferenceError::WordIsId);
            }
            "word" => {
                let target = KeywordTarget::Word(read_word(value("value"))?);
                return Ok(Self::SetKeyword { target, effect });
            }
            "person" | "room" => Subject::parse(value("value"))?,
            _ => return Err(PreferenceError::UnknownChange),
        };
        if matches!(subject, Subject::Person(_)) != (value("subject") == "person") {
            return Err(PreferenceError::IdInvalid);
        }
        Ok(Self::SetSubject { subject, choice, seen: None })
    }
}

/// Returns the id of the listed rule that a form is about. The form contains it percent-encoded,
/// because browsers change line breaks in form fields.
fn read_listed_id(pairs: &Pairs) -> Result<Option<String>, PreferenceError> {
    let encoded = Some(last_value(pairs, "rule")).filter(|encoded| !encoded.is_empty());
    let decode = |encoded| percent::decode_segment(encoded).map(Into::into);
    encoded.map(decode).transpose().map_err(|_| PreferenceError::UnknownChange)
}

/// Reads the value of a switch's button, such as `call-off`.
fn read_switch(button: &str) -> Option<PreferenceChange> {
    let (name, state) = button.rsplit_once('-')?;
    let on = match state {
        "on" => true,
        "off" => false,
        _ => return None,
    };
    Some(PreferenceChange::SetSwitch(Switch::from_name(name)?, on))
}

fn read_word(text: &str) -> Result<String, PreferenceError> {
    match text.trim() {
        "" => Err(PreferenceError::WordBlank),
        word if word.len() > MAX_WORD_BYTES => Err(PreferenceError::WordTooLong),
        word => Ok(word.to_owned()),
    }
}

/// Returns the time at which a pause ends. The browser may send the next morning in its time zone.
fn read_pause(
    length: &str,
    morning: &str,
    now: Timestamp,
) -> Result<Option<Timestamp>, PreferenceError> {
    Ok(match length {
        "hour" => Some(end_after(now, HOUR)),
        "8-hours" => Some(end_after(now, 8 * HOUR)),
        "morning" => Some(read_morning(morning, now).unwrap_or_else(|| next_morning(now))),
        "open" => None,
        _ => return Err(PreferenceError::UnknownChange),
    })
}

fn read_choice(choice: &str, now: Timestamp) -> Result<SubjectChoice, PreferenceError> {
    let mute = |millis| SubjectChoice::Mute { until: Some(end_after(now, millis)) };
    Ok(match choice {
        "notify" => SubjectChoice::Notify,
        "mute" => SubjectChoice::Mute { until: None },
        "mute-hour" => mute(HOUR),
        "mute-8-hours" => mute(8 * HOUR),
        "mute-day" => mute(DAY),
        "mute-week" => mute(7 * DAY),
        _ => return Err(PreferenceError::UnknownChange),
    })
}

/// Returns the time `millis` after `now`, rounded up to a whole minute, as the page shows it.
fn end_after(now: Timestamp, millis: i64) -> Timestamp {
    let end = now.as_millisecond() + millis + MINUTE - 1;
    Timestamp::from_millisecond(end - end.rem_euclid(MINUTE)).unwrap_or(Timestamp::MAX)
}

/// Returns the morning that the browser computed, if it is in the future and not too far away to be
/// the next morning.
fn read_morning(millis: &str, now: Timestamp) -> Option<Timestamp> {
    let morning = Timestamp::from_millisecond(millis.parse().ok()?).ok()?;
    let longest_pause = Duration::from_millis((DAY + SHORTEST_NIGHT).unsigned_abs());
    (morning > now && now.checked_add(longest_pause).is_ok_and(|end| morning <= end))
        .then_some(morning)
}

/// Returns the next morning in UTC that is at least [`SHORTEST_NIGHT`] away.
fn next_morning(now: Timestamp) -> Timestamp {
    let now = now.as_millisecond();
    let morning_today = now - now.rem_euclid(DAY) + MORNING;
    let until_morning = (morning_today - now).rem_euclid(DAY);
    let wait = if until_morning < SHORTEST_NIGHT { until_morning + DAY } else { until_morning };
    Timestamp::from_millisecond(now + wait).unwrap_or(Timestamp::MAX)
}
