//! A compiled `time_and_day` condition.

use std::time::Duration;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{TimeAndDay, TimeOfDay, TimeRange, WeekdaySet, find_time_zone};

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

/// Maximum time that `end_after` searches. A schedule repeats weekly, and a daylight-saving change shifts it by
/// less than a week, so an interval that is still active after two weeks never ends.
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

    /// Returns the number of intervals.
    pub(in crate::rules) fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Returns the allocated size in bytes. The time zone is shared by all schedules.
    pub(in crate::rules) fn heap_bytes(&self) -> usize {
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
