//! The condition `time_and_day` of MSC3767: intervals of the local time on days of the week.

mod schedule;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use jiff::civil::Weekday;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Serialize, Serializer};
use serde_json::Value;

pub use self::schedule::{LocalTime, Schedule};
use super::{Extra, RuleError};
use crate::json::{Fields, Location};

/// Maximum number of intervals in a condition.
pub const MAX_INTERVALS: usize = 64;

/// The names of the condition kind. Clients use the second until the proposal is accepted.
const NAMES: [&str; 2] = ["time_and_day", "org.matrix.msc3767.time_and_day"];

/// The time zone of a condition without `timezone`.
const DEFAULT_TIME_ZONE: &str = "UTC";

/// A `time_and_day` condition: the local time is in one of the intervals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimeAndDay {
    /// The name of the kind that the client used.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    intervals: Vec<TimeInterval>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TimeInterval {
    /// Time of day; `None` for the whole day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_of_day: Option<TimeRange>,
    /// Days from 0 to 7, where 0 and 7 are Sunday; `None` for every day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_of_week: Option<Vec<u8>>,
    /// Other members, stored and returned unchanged.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A range of the time of day. The last minute is part of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    start: TimeOfDay,
    end: TimeOfDay,
}

/// A minute of the day, written as `HH:MM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay(u16);

impl TimeAndDay {
    /// Creates a condition with the stable name of its kind. The time zone must exist.
    pub(super) fn new(time_zone: String, intervals: Vec<TimeInterval>) -> Self {
        Self { kind: NAMES[0], timezone: Some(time_zone), intervals }
    }

    /// Returns the name as a constant if it is one of the names of this kind.
    pub(super) fn find_name(name: &str) -> Option<&'static str> {
        NAMES.into_iter().find(|known_name| *known_name == name)
    }

    pub(super) fn take_from(
        fields: &mut Fields,
        kind: &'static str,
        location: Location,
    ) -> Result<Self, RuleError> {
        let timezone = fields.take_string("timezone")?;
        if timezone.as_deref().is_some_and(|name| find_time_zone(name).is_none()) {
            return Err(RuleError::UnknownTimeZone(fields.path("timezone")));
        }
        let Value::Array(items) = fields.require("intervals")? else {
            return Err(fields.wrong_type("intervals", "an array").into());
        };
        if items.is_empty() || items.len() > MAX_INTERVALS {
            let path = fields.path("intervals");
            let max = MAX_INTERVALS;
            return Err(RuleError::IntervalCount { path, max });
        }
        let items = items.into_iter().enumerate();
        let intervals = items.map(|(index, item)| {
            TimeInterval::from_json(item, location.with_item("intervals", index))
        });
        Ok(Self { kind, timezone, intervals: intervals.collect::<Result<_, _>>()? })
    }

    pub fn time_zone(&self) -> &str {
        self.timezone.as_deref().unwrap_or(DEFAULT_TIME_ZONE)
    }

    /// Returns the intervals, at least one.
    pub fn intervals(&self) -> &[TimeInterval] {
        &self.intervals
    }
}

impl TimeInterval {
    fn from_json(value: Value, location: Location) -> Result<Self, RuleError> {
        let mut fields = Fields::new(value, location)?;
        let time_of_day = match fields.take("time_of_day") {
            Some(value) => Some(TimeRange::from_json(&value, &fields)?),
            None => None,
        };
        let day_of_week: Option<Vec<i64>> =
            fields.take_as("day_of_week", "an array of integers")?;
        let day_of_week = match day_of_week {
            Some(days) => Some(
                check_days(&days)
                    .ok_or_else(|| RuleError::InvalidDays(fields.path("day_of_week")))?,
            ),
            None => None,
        };
        Ok(Self { time_of_day, day_of_week, extra: fields.into_remaining() })
    }

    pub fn days(&self) -> WeekdaySet {
        self.day_of_week.as_ref().map_or(WeekdaySet::ALL, |days| {
            days.iter().fold(WeekdaySet::EMPTY, |set, day| set.with(weekday_from_number(*day)))
        })
    }
}

/// Returns the days if there is at least one and all are from 0 to 7.
fn check_days(days: &[i64]) -> Option<Vec<u8>> {
    if days.is_empty() {
        return None;
    }
    days.iter().map(|day| u8::try_from(*day).ok().filter(|day| *day <= 7)).collect()
}

fn weekday_from_number(day: u8) -> Weekday {
    let weekday = i8::try_from(day).ok().and_then(|day| Weekday::from_monday_one_offset(day).ok());
    weekday.unwrap_or(Weekday::Sunday)
}

impl TimeRange {
    pub const ALL_DAY: Self = Self { start: TimeOfDay::FIRST, end: TimeOfDay::LAST };

    /// Creates a range; `None` if it starts after its end.
    pub fn new(start: TimeOfDay, end: TimeOfDay) -> Option<Self> {
        (start <= end).then_some(Self { start, end })
    }

    /// Returns the first minute.
    pub fn start(self) -> TimeOfDay {
        self.start
    }

    /// Returns the last minute.
    pub fn end(self) -> TimeOfDay {
        self.end
    }

    fn from_json(value: &Value, fields: &Fields) -> Result<Self, RuleError> {
        let items = value.as_array().map(|items| items.iter().map(Value::as_str));
        let times: Option<Vec<&str>> = items.and_then(Iterator::collect);
        let Some([start, end]) = times.as_deref() else {
            return Err(fields.wrong_type("time_of_day", "an array of two strings").into());
        };
        let parse_time = |index: usize, text: &str| {
            text.parse::<TimeOfDay>().map_err(|InvalidTimeOfDay| {
                RuleError::InvalidTimeOfDay(format!("{}[{index}]", fields.path("time_of_day")))
            })
        };
        Self::new(parse_time(0, start)?, parse_time(1, end)?)
            .ok_or_else(|| RuleError::ReversedTimeRange(fields.path("time_of_day")))
    }
}

impl Serialize for TimeRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.start, self.end].serialize(serializer)
    }
}

impl TimeOfDay {
    /// 00:00, the first minute of a day.
    pub const FIRST: Self = Self(0);
    /// 23:59, the last minute of a day.
    pub const LAST: Self = Self(24 * 60 - 1);

    /// Returns the next minute; `None` after the last minute of the day.
    pub fn next(self) -> Option<Self> {
        (self != Self::LAST).then(|| Self(self.0 + 1))
    }

    /// Returns the previous minute; `None` before the first minute of the day.
    pub fn previous(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

/// The error for a string that is not a time from `00:00` to `23:59`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTimeOfDay;

impl FromStr for TimeOfDay {
    type Err = InvalidTimeOfDay;

    fn from_str(text: &str) -> Result<Self, InvalidTimeOfDay> {
        let &[h1, h2, b':', m1, m2] = text.as_bytes() else { return Err(InvalidTimeOfDay) };
        let digit = |byte: u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
        let number = |tens, units| Some(digit(tens)? * 10 + digit(units)?);
        let hour = number(h1, h2).filter(|hour| *hour < 24).ok_or(InvalidTimeOfDay)?;
        let minute = number(m1, m2).filter(|minute| *minute < 60).ok_or(InvalidTimeOfDay)?;
        Ok(Self(hour * 60 + minute))
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekdaySet(u8);

impl WeekdaySet {
    pub const EMPTY: Self = Self(0);
    pub const ALL: Self = Self(0b111_1111);

    fn bit(day: Weekday) -> u8 {
        1 << day.to_monday_zero_offset()
    }

    /// Returns a copy with a day added.
    pub fn with(self, day: Weekday) -> Self {
        Self(self.0 | Self::bit(day))
    }

    /// Returns whether a day is in the set.
    pub fn contains(self, day: Weekday) -> bool {
        self.0 & Self::bit(day) != 0
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Returns the days in the set, from Monday to Sunday.
    pub fn iter(self) -> impl Iterator<Item = Weekday> {
        Weekday::Monday.cycle_forward().take(7).filter(move |day| self.contains(*day))
    }

    pub fn following_days(self) -> Self {
        self.iter().fold(Self::EMPTY, |set, day| set.with(day.next()))
    }
}

/// Returns the time zone with this name in the compiled-in IANA database, ignoring case.
pub fn find_time_zone(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok().filter(|zone| !zone.is_unknown())
}
