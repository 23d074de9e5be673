//! Quiet hours: one rule for a period of time on some days of the week.

use std::fmt;

use jiff::civil::Weekday;
use jiff::{Timestamp, Zoned};

use super::super::time_and_day::{
    Schedule, TimeAndDay, TimeInterval, TimeOfDay, TimeRange, WeekdaySet, find_time_zone,
};
use super::super::{
    Condition, ConditionKind, Effect, NewRule, NewRuleLimits, Rule, RuleDocument, RuleError,
    RuleId, RuleKind, RulePosition,
};
use super::PreferenceError;
use crate::form::{Pairs, last_value};
use crate::wire_enum::wire_enum;

/// The id of the rule that the notifications page adds and changes.
const RULE_ID: &str = "quiet-hours";

/// The kinds of rules for quiet hours, in evaluation order.
const KINDS: [RuleKind; 2] = [RuleKind::Override, RuleKind::Underride];

/// Quiet hours as the notifications page shows and sets them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    pub days: WeekdaySet,
    /// The first minute of the period.
    pub start: TimeOfDay,
    /// The first minute after the period. If it is not after `start`, the period ends on the next
    /// day.
    pub end: TimeOfDay,
    pub time_zone: String,
    pub level: QuietLevel,
}

wire_enum! {
    /// The messages that notify the user during quiet hours. Form fields and message keys contain
    /// the names.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum QuietLevel {
        /// Everything that a rule of another kind notifies of, such as mentions, keywords,
        /// invitations, and people and rooms that the user has chosen: the rule is the first
        /// underride rule.
        ExceptImportant = "important",
        /// Nothing: the rule is the first override rule.
        Total = "total",
    }
}

/// The days with the names of their form fields, which are also part of message keys.
pub const DAY_FIELDS: [(Weekday, &str); 7] = [
    (Weekday::Monday, "monday"),
    (Weekday::Tuesday, "tuesday"),
    (Weekday::Wednesday, "wednesday"),
    (Weekday::Thursday, "thursday"),
    (Weekday::Friday, "friday"),
    (Weekday::Saturday, "saturday"),
    (Weekday::Sunday, "sunday"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHoursPreference {
    /// The quiet hours; `None` if a client has set times that do not form one period.
    pub quiet_hours: Option<QuietHours>,
    pub enabled: bool,
}

/// A time during which rules for quiet hours match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietPeriod {
    pub level: QuietLevel,
    /// The end; `None` if it never ends.
    pub until: Option<Timestamp>,
    /// True if the rule is that of the notifications page.
    pub is_own: bool,
}

impl QuietLevel {
    fn kind(self) -> RuleKind {
        match self {
            Self::Total => RuleKind::Override,
            Self::ExceptImportant => RuleKind::Underride,
        }
    }

    fn from_kind(kind: RuleKind) -> Self {
        if kind == RuleKind::Override { Self::Total } else { Self::ExceptImportant }
    }
}

impl QuietHours {
    /// Reads the form of the notifications page.
    pub(super) fn from_form(pairs: &Pairs) -> Result<Self, PreferenceError> {
        let value = |name: &str| last_value(pairs, name).trim();
        let checked_days = DAY_FIELDS.into_iter().filter(|(_, name)| !value(name).is_empty());
        let days = checked_days.fold(WeekdaySet::EMPTY, |days, (day, _)| days.with(day));
        if days.is_empty() {
            return Err(PreferenceError::QuietDaysMissing);
        }
        let time = |name| TimeOfDay::parse(value(name)).ok_or(PreferenceError::QuietTimeInvalid);
        let start = time("from")?;
        let end = time("to")?;
        let time_zone = value("timezone");
        if find_time_zone(time_zone).is_none() {
            return Err(PreferenceError::QuietZoneUnknown);
        }
        let level = QuietLevel::from_name(value("level")).ok_or(PreferenceError::UnknownChange)?;
        Ok(Self { days, start, end, time_zone: time_zone.to_owned(), level })
    }

    /// Returns the intervals of the condition: two if the period ends on the next day.
    fn to_intervals(&self) -> Vec<TimeInterval> {
        let last_minute = self.end.previous();
        let interval = |days: WeekdaySet, start, end| {
            let numbers = || days.iter().map(|day| day.to_monday_one_offset().unsigned_abs());
            TimeInterval {
                time_of_day: TimeRange::new(start, end),
                day_of_week: (days != WeekdaySet::ALL).then(|| numbers().collect()),
                ..TimeInterval::default()
            }
        };
        if self.start < self.end {
            let last_minute = last_minute.unwrap_or(TimeOfDay::LAST);
            return vec![interval(self.days, self.start, last_minute)];
        }
        let first_day = interval(self.days, self.start, TimeOfDay::LAST);
        let next_day = last_minute
            .map(|minute| interval(self.days.following_days(), TimeOfDay::FIRST, minute));
        [first_day].into_iter().chain(next_day).collect()
    }

    /// Reads the quiet hours of a condition; `None` if its intervals do not form one period.
    fn from_condition(condition: &TimeAndDay, level: QuietLevel) -> Option<Self> {
        let range = |interval: &TimeInterval| interval.time_of_day.unwrap_or(TimeRange::ALL_DAY);
        let intervals = condition.intervals();
        let (first, last) = match intervals {
            [only] => (only, only),
            [first, last] => (first, last),
            _ => return None,
        };
        let quiet_hours = Self {
            days: first.days(),
            start: range(first).start(),
            end: range(last).end().next().unwrap_or(TimeOfDay::FIRST),
            time_zone: condition.time_zone().to_owned(),
            level,
        };
        let times = |intervals: &[TimeInterval]| {
            intervals.iter().map(|interval| (interval.days(), range(interval))).collect::<Vec<_>>()
        };
        (times(&quiet_hours.to_intervals()) == times(intervals)).then_some(quiet_hours)
    }

    /// Enables these quiet hours. Their rule becomes the first of its kind. Returns an error if the
    /// current setting is neither `displayed_setting` nor the new one.
    pub(super) fn apply(
        &self,
        document: &mut RuleDocument,
        displayed_setting: &str,
        limits: NewRuleLimits,
    ) -> Result<(), RuleError> {
        let current = QuietHoursPreference::from_document(document);
        let new = QuietHoursPreference { quiet_hours: Some(self.clone()), enabled: true };
        let current_setting = current.as_ref().map(ToString::to_string).unwrap_or_default();
        if current_setting != displayed_setting && current.as_ref() != Some(&new) {
            let kind = self.level.kind();
            let id = RULE_ID.to_owned();
            return Err(RuleError::ChangedMeanwhile { kind, id });
        }
        let condition = TimeAndDay::new(self.time_zone.clone(), self.to_intervals());
        let condition = Condition::from(ConditionKind::TimeAndDay(Box::new(condition)));
        let rule = Rule { conditions: Some(vec![condition]), ..Rule::default() };
        let (id, new_rule): (RuleId, _) = (RULE_ID.parse()?, NewRule::from_rule(rule, limits)?);
        let kind = self.level.kind();
        for other_kind in KINDS {
            // Removed even if the kind stays the same, because a replaced rule would keep its
            // position and stay disabled.
            if other_kind == kind || find_rule(document, other_kind).is_some() {
                // Fails only if there is no such rule.
                let _ = document.remove(other_kind, RULE_ID);
            }
        }
        document.put(kind, id, new_rule, RulePosition::default())
    }
}

impl QuietHoursPreference {
    /// Reads the quiet hours of a document. If it has a rule of each kind, the first one that is
    /// enabled counts.
    pub(super) fn from_document(document: &RuleDocument) -> Option<Self> {
        let rules = KINDS.into_iter().filter_map(|kind| Some((kind, find_rule(document, kind)?)));
        let (kind, rule) = rules.min_by_key(|(_, rule)| !rule.enabled)?;
        let level = QuietLevel::from_kind(kind);
        let quiet_hours = QuietHours::from_condition(rule.quiet_hours()?, level);
        Some(Self { quiet_hours, enabled: rule.enabled })
    }
}

/// Writes the value that a form sends back, to detect whether the quiet hours were changed after
/// they were shown.
impl fmt::Display for QuietHoursPreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.quiet_hours {
            Some(QuietHours { days, start, end, time_zone, level }) => {
                for day in days.iter() {
                    write!(f, "{}", day.to_monday_one_offset())?;
                }
                write!(f, "-{start}-{end}-{time_zone}-{level}")?;
            }
            None => f.write_str("custom")?,
        }
        f.write_str(if self.enabled { "" } else { "-off" })
    }
}

/// Disables the rules of the quiet hours, if there are any.
pub(super) fn switch_off(document: &mut RuleDocument) -> Result<(), RuleError> {
    for kind in KINDS {
        if find_rule(document, kind).is_some() {
            document.set_enabled(kind, RULE_ID, false)?;
        }
    }
    Ok(())
}

/// Returns the rule of this kind for the quiet hours of the notifications page.
fn find_rule(document: &RuleDocument, kind: RuleKind) -> Option<&Rule> {
    document.user_rules()[kind].iter().find(|rule| is_own_rule(kind, rule))
}

/// Returns whether a rule is for the quiet hours of the notifications page.
pub(super) fn is_own_rule(kind: RuleKind, rule: &Rule) -> bool {
    KINDS.contains(&kind) && rule.rule_id == RULE_ID && rule.quiet_hours().is_some()
}

impl QuietPeriod {
    /// Returns the period of the first rule for quiet hours that matches at `now`, including rules
    /// that other clients have added.
    pub fn from_document(document: &RuleDocument, now: Timestamp) -> Option<Self> {
        KINDS.into_iter().find_map(|kind| {
            let level = QuietLevel::from_kind(kind);
            let mut rules = document.user_rules()[kind].iter().filter(|rule| rule.enabled);
            rules.find_map(|rule| {
                let schedule = Schedule::new(rule.quiet_hours()?)?;
                let until = schedule.end_after(now).as_ref().map(Zoned::timestamp);
                let is_own = rule.rule_id == RULE_ID;
                schedule.includes(now).then_some(Self { level, until, is_own })
            })
        })
    }
}

impl Rule {
    /// Returns the time condition of a quiet hours rule: an override or underride rule that does
    /// not notify and has no other condition.
    pub fn quiet_hours(&self) -> Option<&TimeAndDay> {
        match self.conditions.as_deref() {
            Some([Condition { kind: ConditionKind::TimeAndDay(condition), .. }])
                if Effect::from_actions(&self.actions) == Effect::Silent =>
            {
                Some(condition)
            }
            _ => None,
        }
    }
}
