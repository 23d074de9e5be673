//! Tests of the condition `time_and_day`: parsing, matching and ends.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::matrix::MatrixErrorCode::{self, BadJson, InvalidParam, MissingParam};
use crate::rules::evaluate::generate;
use crate::rules::{Condition, ConditionKind};

fn parse_condition(value: Value) -> Result<Condition, RuleError> {
    Condition::from_json(value, Location::Item("conditions", 2))
}

fn parse_schedule(timezone: &str, intervals: &Value) -> Schedule {
    let json = json!({"kind": "time_and_day", "timezone": timezone, "intervals": intervals});
    let ConditionKind::TimeAndDay(condition) = parse_condition(json).unwrap().kind else {
        panic!("not a time_and_day condition");
    };
    Schedule::new(&condition).unwrap()
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn a_condition_is_serialized_as_it_was_parsed() {
    let night = json!({"time_of_day": ["22:00", "23:59"], "day_of_week": [1, 2, 3, 4, 5]});
    for wire_json in [
        json!({"kind": "time_and_day", "timezone": "Europe/Berlin", "intervals": [night]}),
        json!({"kind": "org.matrix.msc3767.time_and_day", "intervals": [night, {}]}),
        json!({"kind": "time_and_day", "timezone": "europe/berlin", "intervals": [{}]}),
        json!({"kind": "time_and_day", "timezone": "Etc/GMT+5", "intervals": [{}]}),
        json!({"kind": "time_and_day", "intervals": [{"time_of_day": ["00:00", "00:00"]}]}),
        json!({"kind": "time_and_day", "intervals": [{"day_of_week": [7, 0, 0]}]}),
        json!({"kind": "time_and_day", "intervals": [{"org.x": [1]}], "org.x": {"a": null}}),
        json!({"kind": "time_and_day", "intervals": vec![json!({}); MAX_INTERVALS]}),
    ] {
        let condition = parse_condition(wire_json.clone()).unwrap();
        assert!(matches!(condition.kind, ConditionKind::TimeAndDay(_)), "{wire_json}");
        assert_eq!(json!(condition), wire_json);
        let location = Location::Item("conditions", 0);
        assert_eq!(Condition::from_stored(wire_json, location).unwrap(), condition);
    }
}

#[track_caller]
fn assert_rejected(mut wire_json: Value, code: MatrixErrorCode, message: &str) {
    wire_json["kind"] = json!("time_and_day");
    let error = parse_condition(wire_json.clone()).unwrap_err();
    let expected = (code, format!("conditions[2].{message}"));
    assert_eq!((error.code(), error.to_string()), expected, "{wire_json}");
}

#[test]
fn an_invalid_condition_is_rejected_with_the_path_of_the_field() {
    let intervals_message = "intervals must have 1 to 64 intervals";
    let zone_message = "timezone must be the name of a time zone, such as Europe/Berlin";
    let with_zone = |zone: Value| json!({"intervals": [{}], "timezone": zone});
    for (wire_json, code, message) in [
        (json!({}), MissingParam, "intervals is missing"),
        (json!({"intervals": {}}), BadJson, "intervals must be an array"),
        (json!({"intervals": []}), InvalidParam, intervals_message),
        (json!({"intervals": vec![json!({}); 65]}), InvalidParam, intervals_message),
        (json!({"intervals": ["night"]}), BadJson, "intervals[0] must be a JSON object"),
        (with_zone(json!(null)), BadJson, "timezone must be a string"),
        (with_zone(json!("Europe/Atlantis")), InvalidParam, zone_message),
        (with_zone(json!("")), InvalidParam, zone_message),
        (with_zone(json!("Etc/Unknown")), InvalidParam, zone_message),
        (with_zone(json!("+02:00")), InvalidParam, zone_message),
    ] {
        assert_rejected(wire_json, code, message);
    }
}

#[test]
fn an_invalid_interval_is_rejected_with_the_path_of_the_field() {
    let type_message = "time_of_day must be an array of two strings";
    let start_message = "time_of_day[0] must be a time from 00:00 to 23:59";
    let end_message = "time_of_day[1] must be a time from 00:00 to 23:59";
    let order_message =
        "time_of_day must not start after its end; use two intervals for a time over midnight";
    let days_message = "day_of_week must have days from 1 (Monday) to 7 (Sunday, also 0)";
    let number_message = "day_of_week must be an array of integers";
    for (field, value, code, message) in [
        ("time_of_day", json!("22:00"), BadJson, type_message),
        ("time_of_day", json!(["22:00"]), BadJson, type_message),
        ("time_of_day", json!(["00:00", "01:00", "02:00"]), BadJson, type_message),
        ("time_of_day", json!([0, 60]), BadJson, type_message),
        ("time_of_day", json!(null), BadJson, type_message),
        ("time_of_day", json!(["8:00", "09:00"]), InvalidParam, start_message),
        ("time_of_day", json!(["08:00", "24:00"]), InvalidParam, end_message),
        ("time_of_day", json!(["08:00", "08:60"]), InvalidParam, end_message),
        ("time_of_day", json!(["08:00", "+9:00"]), InvalidParam, end_message),
        ("time_of_day", json!(["08:00", "09:00:00"]), InvalidParam, end_message),
        ("time_of_day", json!(["22:00", "07:00"]), InvalidParam, order_message),
        ("day_of_week", json!(1), BadJson, number_message),
        ("day_of_week", json!([1.5]), BadJson, number_message),
        ("day_of_week", json!([]), InvalidParam, days_message),
        ("day_of_week", json!([1, 8]), InvalidParam, days_message),
        ("day_of_week", json!([-1]), InvalidParam, days_message),
        ("day_of_week", json!([257]), InvalidParam, days_message),
    ] {
        let wire_json = json!({"intervals": [{}, {field: value}]});
        assert_rejected(wire_json, code, &format!("intervals[1].{message}"));
    }
}

#[test]
fn a_stored_condition_that_is_now_invalid_never_matches() {
    let wire_json = json!({"kind": "time_and_day", "intervals": [{}], "timezone": "Mars/Base"});
    let condition = Condition::from_stored(wire_json.clone(), Location::Body).unwrap();
    assert_eq!(condition.kind, ConditionKind::Unknown { kind: "time_and_day".to_owned() });
    assert_eq!(json!(condition), wire_json);
}

#[test]
fn a_schedule_includes_the_local_times_of_its_intervals() {
    let all_day = json!([{}]);
    let sunday_as_0 = json!([{"day_of_week": [0]}]);
    let sunday_as_7 = json!([{"day_of_week": [7]}]);
    let night = json!([
        {"time_of_day": ["22:00", "23:59"], "day_of_week": [1]},
        {"time_of_day": ["00:00", "06:59"], "day_of_week": [2]},
    ]);
    let minute = json!([{"time_of_day": ["08:00", "08:00"]}]);
    let two_to_three = json!([{"time_of_day": ["02:00", "02:59"]}]);
    for (zone, intervals, now, is_included) in [
        ("UTC", &all_day, "2026-11-18T10:00:00Z", true),
        // 15 November 2026 is a Sunday.
        ("UTC", &sunday_as_0, "2026-11-15T00:00:00Z", true),
        ("UTC", &sunday_as_7, "2026-11-15T23:59:59Z", true),
        ("UTC", &sunday_as_0, "2026-11-16T00:00:00Z", false),
        ("UTC", &sunday_as_7, "2026-11-14T23:59:59Z", false),
        // The day is the local one.
        ("Asia/Tokyo", &sunday_as_7, "2026-11-14T15:00:00Z", true),
        ("Asia/Tokyo", &sunday_as_7, "2026-11-15T15:00:00Z", false),
        ("America/New_York", &sunday_as_7, "2026-11-16T04:59:59Z", true),
        // The last minute is included to its end.
        ("UTC", &minute, "2026-11-18T07:59:59.999Z", false),
        ("UTC", &minute, "2026-11-18T08:00:00Z", true),
        ("UTC", &minute, "2026-11-18T08:00:59.999Z", true),
        ("UTC", &minute, "2026-11-18T08:01:00Z", false),
        ("Asia/Kathmandu", &minute, "2026-11-18T02:15:30Z", true),
        // One of several intervals is enough.
        ("UTC", &night, "2026-11-16T21:59:59Z", false),
        ("UTC", &night, "2026-11-16T22:00:00Z", true),
        ("UTC", &night, "2026-11-17T06:59:59Z", true),
        ("UTC", &night, "2026-11-17T07:00:00Z", false),
        ("UTC", &night, "2026-11-17T22:00:00Z", false),
        // In Berlin the clocks skip 02:00 to 03:00 on 29 March 2026, and repeat it on 25 October.
        ("Europe/Berlin", &two_to_three, "2026-03-28T01:30:00Z", true),
        ("Europe/Berlin", &two_to_three, "2026-03-29T00:59:59Z", false),
        ("Europe/Berlin", &two_to_three, "2026-03-29T01:00:00Z", false),
        ("Europe/Berlin", &two_to_three, "2026-10-24T23:59:59Z", false),
        ("Europe/Berlin", &two_to_three, "2026-10-25T00:00:00Z", true),
        ("Europe/Berlin", &two_to_three, "2026-10-25T01:59:59Z", true),
        ("Europe/Berlin", &two_to_three, "2026-10-25T02:00:00Z", false),
        // After the last transition in the database, the zone's rule applies.
        ("Europe/Berlin", &minute, "2199-07-01T06:00:00Z", true),
        ("Europe/Berlin", &minute, "2199-12-01T07:00:00Z", true),
    ] {
        let schedule = parse_schedule(zone, intervals);
        assert_eq!(schedule.includes(time(now)), is_included, "{zone} {intervals} {now}");
    }
}

#[test]
fn the_end_is_the_first_time_outside_of_the_intervals() {
    let day = json!([{"time_of_day": ["08:00", "16:59"]}]);
    let weekend = json!([{"day_of_week": [6, 7]}]);
    let night = json!([
        {"time_of_day": ["22:00", "23:59"]},
        {"time_of_day": ["00:00", "06:59"]},
        {"time_of_day": ["05:00", "05:10"]},
    ]);
    let over_change = json!([{"time_of_day": ["01:00", "02:29"]}]);
    for (zone, intervals, now, end) in [
        ("UTC", &day, "2026-11-18T07:59:59Z", None),
        ("UTC", &day, "2026-11-18T08:00:30.5Z", Some("2026-11-18T17:00:00Z")),
        ("UTC", &weekend, "2026-11-14T03:00:00Z", Some("2026-11-16T00:00:00Z")),
        ("UTC", &json!([{}]), "2026-11-14T03:00:00Z", None),
        ("UTC", &json!([{"day_of_week": [1, 2, 3, 4, 5, 6, 0]}]), "2026-11-14T03:00:00Z", None),
        ("UTC", &night, "2026-11-18T23:30:00Z", Some("2026-11-19T07:00:00Z")),
        ("UTC", &night, "2026-11-18T05:05:00Z", Some("2026-11-18T07:00:00Z")),
        // The nights in which the clocks change are an hour shorter and longer.
        ("Europe/Berlin", &night, "2026-03-28T21:00:00Z", Some("2026-03-29T05:00:00Z")),
        ("Europe/Berlin", &night, "2026-10-24T20:00:00Z", Some("2026-10-25T06:00:00Z")),
        // An end in the skipped hour is the change; in the repeated hour, its first occurrence.
        ("Europe/Berlin", &over_change, "2026-03-29T00:30:00Z", Some("2026-03-29T01:00:00Z")),
        ("Europe/Berlin", &over_change, "2026-10-24T23:30:00Z", Some("2026-10-25T00:30:00Z")),
        ("Europe/Berlin", &over_change, "2026-10-25T01:10:00Z", Some("2026-10-25T01:30:00Z")),
    ] {
        let schedule = parse_schedule(zone, intervals);
        let actual = schedule.end_after(time(now)).map(|end| end.timestamp());
        assert_eq!(actual, end.map(time), "{zone} {intervals} {now}");
    }
    assert_eq!(parse_schedule("UTC", &json!([{}])).end_after(Timestamp::MAX), None);
}

#[test]
fn the_local_time_is_serialized_with_the_names_of_the_condition() {
    let schedule = parse_schedule("Europe/Berlin", &json!([{}]));
    let local_time = schedule.local_time(time("2026-11-15T10:05:00Z"));
    assert_eq!(json!(local_time), json!({"day_of_week": 7, "time_of_day": "11:05"}));
}

proptest! {
    #[test]
    fn a_schedule_is_met_until_its_end_and_not_at_its_end(
        condition in generate::any_time_condition(),
        now in generate::any_time(),
    ) {
        let ConditionKind::TimeAndDay(condition) = parse_condition(condition).unwrap().kind else {
            panic!("not a time_and_day condition");
        };
        let schedule = Schedule::new(&condition).unwrap();
        let is_included = |minutes: i64| {
            schedule.includes(Timestamp::from_second(now.as_second() + minutes * 60).unwrap())
        };
        match schedule.end_after(now) {
            Some(end) => {
                prop_assert!(!schedule.includes(end.timestamp()));
                let minutes = (end.timestamp().as_second() - now.as_second()) / 60;
                prop_assert!((0..minutes).all(is_included));
            }
            None => prop_assert!(!is_included(0) || (0..7 * 24 * 60).all(is_included)),
        }
    }
}
