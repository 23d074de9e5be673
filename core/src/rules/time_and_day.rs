//! The condition `time_and_day` of MSC3767: intervals of the local time on days of the week.

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use jiff::civil::Weekday;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Extra, RuleError};
use crate::json::{Fields, Location};

/// Maximum number of intervals in a condition.
pub const MAX_INTERVALS: usize = 64;

/// The names of the condition kind. Clients use the second until the proposal is accepted.
pub(super) const NAMES: [&str; 2] = ["time_and_day", "org.matrix.msc3767.time_and_day"];

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

    pub(super) fn take_from(
        fields: &mut Fields,
        kind: &'static str,
        location: Location,
    ) -> Result<Self, RuleError> {
        let timezone = fields.take_string("timezone")?;
        if timezone.as_deref().is_some_and(|name| find_time_zone(name).is_none()) {
            let requirement = "be the name of a time zone, such as Europe/Berlin";
            return Err(RuleError::invalid_value(fields.path("timezone"), requirement));
        }
        let Value::Array(items) = fields.require("intervals")? else {
            return Err(fields.wrong_type("intervals", "an array").into());
        };
        if items.is_empty() || items.len() > MAX_INTERVALS {
            let requirement = "have 1 to 64 intervals";
            return Err(RuleError::invalid_value(fields.path("intervals"), requirement));
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
        let time_of_day = fields.take("time_of_day");
        let time_of_day =
            time_of_day.map(|value| TimeRange::from_json(&value, &fields)).transpose()?;
        let days: Option<Vec<i64>> = fields.take_as("day_of_week", "an array of integers")?;
        let invalid_days = || {
            let requirement = "have days from 1 (Monday) to 7 (Sunday, also 0)";
            RuleError::invalid_value(fields.path("day_of_week"), requirement)
        };
        let day_of_week =
            days.map(|days| check_days(&days).ok_or_else(invalid_days)).transpose()?;
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
        let path = || fields.path("time_of_day");
        let parse_time = |index: usize, text: &str| {
            TimeOfDay::parse(text).ok_or_else(|| {
                let requirement = "be a time from 00:00 to 23:59";
                RuleError::invalid_value(format!("{}[{index}]", path()), requirement)
            })
        };
        Self::new(parse_time(0, start)?, parse_time(1, end)?).ok_or_else(|| {
            let requirement = "not start after its end; use two intervals for a time over midnight";
            RuleError::invalid_value(path(), requirement)
        })
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

    /// Parses a time from `00:00` to `23:59`.
    pub fn parse(text: &str) -> Option<Self> {
        let &[h1, h2, b':', m1, m2] = text.as_bytes() else { return None };
        let digit = |byte: u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
        let number = |tens, units| Some(digit(tens)? * 10 + digit(units)?);
        let hour = number(h1, h2).filter(|hour| *hour < 24)?;
        let minute = number(m1, m2).filter(|minute| *minute < 60)?;
        Some(Self(hour * 60 + minute))
    }

    /// Returns the next minute; `None` after the last minute of the day.
    pub fn next(self) -> Option<Self> {
        (self != Self::LAST).then(|| Self(self.0 + 1))
    }

    /// Returns the previous minute; `None` before the first minute of the day.
    pub fn previous(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
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

    pub fn contains(self, day: Weekday) -> bool {
        self.0 & Self::bit(day) != 0
    }

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

/// The intervals of a condition, with the time zone that they are in.
#[derive(Debug, Clone)]
pub struct Schedule {
    zone: TimeZone,
    intervals: Box<[(WeekdaySet, TimeRange)]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    pub day: Weekday,
    pub time_of_day: TimeOfDay,
}

/// Maximum time that `end_after` searches. A schedule repeats weekly, and a daylight-saving change
/// shifts it by less than a week, so an interval that is still active after two weeks never ends.
const MAX_SEARCH: Duration = Duration::from_hours(14 * 24);

const MINUTE: Duration = Duration::from_mins(1);

impl Schedule {
    /// Compiles a condition; `None` if its time zone does not exist.
    pub fn new(condition: &TimeAndDay) -> Option<Self> {
        let intervals = condition
            .intervals()
            .iter()
            .map(|interval| (interval.days(), interval.time_of_day.unwrap_or(TimeRange::ALL_DAY)));
        let zone = find_time_zone(condition.time_zone())?;
        Some(Self { zone, intervals: intervals.collect() })
    }

    pub(super) fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Returns the allocated size in bytes. The time zone is shared by all schedules.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.intervals)
    }

    /// Returns the day and minute of a time in the schedule's time zone.
    pub fn local_time(&self, now: Timestamp) -> LocalTime {
        let local = self.zone.to_datetime(now);
        let hour = local.hour().unsigned_abs();
        let minute = local.minute().unsigned_abs();
        let time_of_day = TimeOfDay(u16::from(hour) * 60 + u16::from(minute));
        LocalTime { day: local.weekday(), time_of_day }
    }

    /// Returns whether one of the intervals includes the time.
    pub fn includes(&self, now: Timestamp) -> bool {
        self.last_minute(self.local_time(now)).is_some()
    }

    /// Returns the latest end of the intervals that include a local time.
    fn last_minute(&self, local: LocalTime) -> Option<TimeOfDay> {
        let includes = |range: TimeRange| (range.start..=range.end).contains(&local.time_of_day);
        let intervals = self.intervals.iter().filter(|(days, _)| days.contains(local.day));
        intervals.filter(|(_, range)| includes(*range)).map(|(_, range)| range.end).max()
    }

    /// Returns the time at which the intervals that include `now` end, in the schedule's time zone.
    /// Intervals that follow each other count as one. Returns `None` if none includes `now`, or
    /// if the schedule never ends.
    pub fn end_after(&self, now: Timestamp) -> Option<Zoned> {
        let search_end = now.checked_add(MAX_SEARCH).ok()?;
        let mut end = now;
        while let Some(last_minute) = self.last_minute(self.local_time(end)) {
            end = self.end_of_minute(end, last_minute)?;
            if end > search_end {
                return None;
            }
        }
        (end > now).then(|| end.to_zoned(self.zone.clone()))
    }

    /// Returns the end of `last_minute` on the day of `now`, or the next daylight-saving change if
    /// that is earlier, because local times after it are shifted.
    fn end_of_minute(&self, now: Timestamp, last_minute: TimeOfDay) -> Option<Timestamp> {
        let local = self.zone.to_datetime(now);
        let minutes = last_minute.0.checked_sub(self.local_time(now).time_of_day.0)?;
        let elapsed_in_minute = Duration::new(local.second().unsigned_abs().into(), 0)
            + Duration::from_nanos(local.subsec_nanosecond().unsigned_abs().into());
        let end = now
            .checked_add((u32::from(minutes) + 1) * MINUTE)
            .ok()?
            .checked_sub(elapsed_in_minute)
            .ok()?;
        let clock_change = self.zone.following(now).next().map(|change| change.timestamp());
        Some(clock_change.map_or(end, |clock_change| end.min(clock_change)))
    }
}

/// Serialized with the member names and numbers of a condition's interval.
impl Serialize for LocalTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(2))?;
        object.serialize_entry("day_of_week", &self.day.to_monday_one_offset())?;
        object.serialize_entry("time_of_day", &self.time_of_day)?;
        object.end()
    }
}
