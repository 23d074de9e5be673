//! Forms of the notifications page.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    KeywordTarget, MAX_WORD_BYTES, PreferenceChange, PreferenceError, QuietHours, Subject,
    SubjectChoice, Switch,
};
use crate::form::{Pairs, last_value};
use crate::percent;
use crate::rules::{Effect, RuleKind};

const MINUTE_MILLIS: i64 = 60 * 1000;
const HOUR_MILLIS: i64 = 60 * MINUTE_MILLIS;
const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;

/// The time of day at which a pause until the morning ends, in milliseconds since midnight.
const MORNING_MILLIS: i64 = 8 * HOUR_MILLIS;

/// The minimum length of a pause until the morning. A pause that starts at 3:00 ends on the same
/// day, a pause that starts at 7:00 on the next day.
const MIN_MORNING_PAUSE_MILLIS: i64 = 4 * HOUR_MILLIS;

impl PreferenceChange {
    /// Reads a form of the notifications page that was submitted at `now`.
    pub fn from_form(pairs: &Pairs, now: Timestamp) -> Result<Self, PreferenceError> {
        let value = |name: &str| last_value(pairs, name);
        let is_checked = |name: &str| !value(name).is_empty();
        let displayed_setting =
            || Some(value("seen").to_owned()).filter(|setting| !setting.is_empty());
        let listed_id = read_listed_id(pairs)?;
        let subject = || Subject::parse(listed_id.as_deref().unwrap_or_else(|| value("id")));
        Ok(match value("change") {
            "pause" => Self::Pause { until: read_pause_end(value("for"), value("morning"), now)? },
            "resume" => Self::Resume,
            "quiet-hours" => Self::SetQuietHours {
                quiet_hours: QuietHours::from_form(pairs)?,
                displayed_setting: value("seen").to_owned(),
            },
            "quiet-hours-off" => Self::SwitchOffQuietHours,
            "keyword" => Self::SetKeyword {
                target: match listed_id {
                    Some(id) => {
                        KeywordTarget::Rule { id, displayed_setting: value("seen").to_owned() }
                    }
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
                displayed_setting: displayed_setting(),
            },
            "remove-subject" => Self::RemoveSubject(subject()?),
            "switch" => {
                read_switch_change(value("switch")).ok_or(PreferenceError::UnknownChange)?
            }
            change @ ("enable-rule" | "disable-rule" | "remove-rule") => {
                let rule = listed_id.as_deref().and_then(|rule| rule.split_once('/'));
                let (kind, id) = rule.ok_or(PreferenceError::UnknownChange)?;
                let kind = RuleKind::from_name(kind).ok_or(PreferenceError::UnknownChange)?;
                match change {
                    "remove-rule" => Self::RemoveRule(kind, id.to_owned()),
                    _ => Self::SetRuleEnabled(kind, id.to_owned(), change == "enable-rule"),
                }
            }
            _ => return Err(PreferenceError::UnknownChange),
        })
    }
}

/// Returns the id of the rule whose row on the page was submitted; `None` if the form does not
/// belong to a row. The form contains the id percent-encoded, because browsers change line breaks
/// in form fields.
fn read_listed_id(pairs: &Pairs) -> Result<Option<String>, PreferenceError> {
    let encoded = Some(last_value(pairs, "rule")).filter(|encoded| !encoded.is_empty());
    let decode = |encoded| percent::decode_segment(encoded).map(Into::into);
    encoded.map(decode).transpose().map_err(|_| PreferenceError::UnknownChange)
}

/// Reads the value of a switch's button, such as `call-off`.
fn read_switch_change(button: &str) -> Option<PreferenceChange> {
    let (name, state) = button.rsplit_once('-')?;
    let is_on = match state {
        "on" => true,
        "off" => false,
        _ => return None,
    };
    Some(PreferenceChange::SetSwitch(Switch::from_name(name)?, is_on))
}

fn read_word(text: &str) -> Result<String, PreferenceError> {
    match text.trim() {
        "" => Err(PreferenceError::WordBlank),
        word if word.len() > MAX_WORD_BYTES => Err(PreferenceError::WordTooLong),
        word => Ok(word.to_owned()),
    }
}

/// Returns the time at which a pause ends. The browser may send the next morning in its time zone.
fn read_pause_end(
    duration: &str,
    browser_morning: &str,
    now: Timestamp,
) -> Result<Option<Timestamp>, PreferenceError> {
    Ok(match duration {
        "hour" => Some(end_after(now, HOUR_MILLIS)),
        "8-hours" => Some(end_after(now, 8 * HOUR_MILLIS)),
        "morning" => Some(read_morning(browser_morning, now).unwrap_or_else(|| next_morning(now))),
        "open" => None,
        _ => return Err(PreferenceError::UnknownChange),
    })
}

fn read_choice(choice: &str, now: Timestamp) -> Result<SubjectChoice, PreferenceError> {
    let mute = |millis| SubjectChoice::Mute { until: Some(end_after(now, millis)) };
    Ok(match choice {
        "notify" => SubjectChoice::Notify,
        "mute" => SubjectChoice::Mute { until: None },
        "mute-hour" => mute(HOUR_MILLIS),
        "mute-8-hours" => mute(8 * HOUR_MILLIS),
        "mute-day" => mute(DAY_MILLIS),
        "mute-week" => mute(7 * DAY_MILLIS),
        _ => return Err(PreferenceError::UnknownChange),
    })
}

/// Returns the time `millis` after `now`, rounded up, because the page shows whole minutes.
fn end_after(now: Timestamp, millis: i64) -> Timestamp {
    let end_millis = now.as_millisecond() + millis + MINUTE_MILLIS - 1;
    Timestamp::from_millisecond(end_millis - end_millis.rem_euclid(MINUTE_MILLIS))
        .unwrap_or(Timestamp::MAX)
}

/// Returns the morning that the browser computed, if it is in the future and not too far away to be
/// the next morning.
fn read_morning(millis_text: &str, now: Timestamp) -> Option<Timestamp> {
    let morning = Timestamp::from_millisecond(millis_text.parse().ok()?).ok()?;
    let longest_pause =
        Duration::from_millis((DAY_MILLIS + MIN_MORNING_PAUSE_MILLIS).unsigned_abs());
    (morning > now && now.checked_add(longest_pause).is_ok_and(|end| morning <= end))
        .then_some(morning)
}

/// Returns the next morning in UTC that is at least [`MIN_MORNING_PAUSE_MILLIS`] away.
fn next_morning(now: Timestamp) -> Timestamp {
    let now_millis = now.as_millisecond();
    let morning_today = now_millis - now_millis.rem_euclid(DAY_MILLIS) + MORNING_MILLIS;
    let millis_to_morning = (morning_today - now_millis).rem_euclid(DAY_MILLIS);
    let wait_millis = if millis_to_morning < MIN_MORNING_PAUSE_MILLIS {
        millis_to_morning + DAY_MILLIS
    } else {
        millis_to_morning
    };
    Timestamp::from_millisecond(now_millis + wait_millis).unwrap_or(Timestamp::MAX)
}
