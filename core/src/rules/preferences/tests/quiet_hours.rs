//! Tests of quiet hours.

use super::*;
use crate::form;
use crate::rules::{NewRuleLimits, RuleError};

const ALL_DAYS: &str =
    "monday=on&tuesday=on&wednesday=on&thursday=on&friday=on&saturday=on&sunday=on";

fn read_form(query: &str) -> Result<PreferenceChange, PreferenceError> {
    let query = format!("change=quiet-hours&{query}");
    PreferenceChange::from_form(&form::parse(query.as_bytes()).unwrap(), Timestamp::UNIX_EPOCH)
}

fn apply_form(document: &mut RuleDocument, query: &str) -> Result<(), RuleError> {
    read_form(query).unwrap().apply(document, NewRuleLimits::default())
}

fn condition(intervals: &Value) -> Value {
    json!({"kind": "time_and_day", "timezone": "Europe/Berlin", "intervals": intervals})
}

fn rule(intervals: &Value) -> Value {
    json!({
        "rule_id": "quiet-hours", "default": false, "enabled": true, "actions": [],
        "conditions": [condition(intervals)],
    })
}

#[test]
fn a_form_becomes_a_rule_that_is_read_as_the_same_quiet_hours() {
    for (query, intervals) in [
        (
            "monday=on&friday=on&from=09:00&to=17:00",
            json!([{"time_of_day": ["09:00", "16:59"], "day_of_week": [1, 5]}]),
        ),
        // A period over midnight is split.
        (
            "friday=on&sunday=on&from=22:00&to=07:00",
            json!([
                {"time_of_day": ["22:00", "23:59"], "day_of_week": [5, 7]},
                {"time_of_day": ["00:00", "06:59"], "day_of_week": [1, 6]},
            ]),
        ),
        (
            &format!("{ALL_DAYS}&from=22:00&to=07:00"),
            json!([{"time_of_day": ["22:00", "23:59"]}, {"time_of_day": ["00:00", "06:59"]}]),
        ),
        ("saturday=on&from=20:00&to=00:00", {
            json!([{"time_of_day": ["20:00", "23:59"], "day_of_week": [6]}])
        }),
        // The same time twice is a whole day.
        ("sunday=on&from=00:00&to=00:00", {
            json!([{"time_of_day": ["00:00", "23:59"], "day_of_week": [7]}])
        }),
        (
            "sunday=on&from=06:00&to=06:00",
            json!([
                {"time_of_day": ["06:00", "23:59"], "day_of_week": [7]},
                {"time_of_day": ["00:00", "05:59"], "day_of_week": [1]},
            ]),
        ),
    ] {
        for (level, kind) in [("total", "override"), ("important", "underride")] {
            let query = format!("{query}&timezone=Europe/Berlin&level={level}");
            let mut document = global_document(&json!({}));
            apply_form(&mut document, &query).unwrap();
            assert_eq!(user_rules_json(&document), json!({kind: [rule(&intervals)]}), "{query}");
            let Ok(PreferenceChange::SetQuietHours { quiet_hours, .. }) = read_form(&query) else {
                panic!("{query}");
            };
            let preferences = Preferences::from_document(&document);
            let expected = QuietHoursPreference { quiet_hours: Some(quiet_hours), enabled: true };
            assert_eq!(preferences.quiet_hours, Some(expected), "{query}");
            assert!(preferences.other_rules.is_empty());
        }
    }
}

#[test]
fn a_form_with_an_invalid_field_is_rejected() {
    for (query, error) in [
        ("from=22:00&to=07:00&timezone=UTC&level=total", PreferenceError::QuietDaysMissing),
        ("monday=on&to=07:00&timezone=UTC&level=total", PreferenceError::QuietTimeInvalid),
        (
            "monday=on&from=22:00&to=24:00&timezone=UTC&level=total",
            PreferenceError::QuietTimeInvalid,
        ),
        ("monday=on&from=22:00&to=07:00&level=total", PreferenceError::QuietZoneUnknown),
        (
            "monday=on&from=22:00&to=07:00&timezone=Moon&level=total",
            PreferenceError::QuietZoneUnknown,
        ),
        ("monday=on&from=22:00&to=07:00&timezone=UTC", PreferenceError::UnknownChange),
    ] {
        assert_eq!(read_form(query), Err(error), "{query}");
    }
}

#[test]
fn changed_quiet_hours_are_the_first_rule_of_their_kind_and_enabled() {
    let night = json!([{"time_of_day": ["22:00", "23:59"]}, {"time_of_day": ["00:00", "06:59"]}]);
    let mut disabled_rule = rule(&night);
    disabled_rule["enabled"] = json!(false);
    let other_rule = json!({"rule_id": "a", "actions": ["notify"], "conditions": []});
    let mut document = global_document(&json!({
        "override": [other_rule, disabled_rule], "underride": [other_rule],
    }));
    let seen = "1234567-22:00-07:00-Europe/Berlin-total-off";
    let ids = |document: &RuleDocument, kind: RuleKind| -> Vec<String> {
        document.user_rules()[kind].iter().map(|rule| rule.rule_id.clone()).collect()
    };
    for (level, seen, override_ids, underride_ids) in [
        ("total", seen, &["quiet-hours", "a"][..], &["a"][..]),
        ("important", "1234567-22:00-07:00-Europe/Berlin-total", &["a"], &["quiet-hours", "a"]),
    ] {
        let query = format!(
            "{ALL_DAYS}&from=22:00&to=07:00&timezone=Europe/Berlin&level={level}&seen={seen}"
        );
        // A form may be submitted twice.
        for _ in 0..2 {
            apply_form(&mut document, &query).unwrap();
            assert_eq!(ids(&document, RuleKind::Override), override_ids);
            assert_eq!(ids(&document, RuleKind::Underride), underride_ids);
            let preferences = Preferences::from_document(&document);
            assert!(preferences.quiet_hours.unwrap().enabled);
        }
    }
    let outdated_form = format!("{ALL_DAYS}&from=21:00&to=07:00&timezone=UTC&level=total&seen=");
    let kind = RuleKind::Override;
    let id = "quiet-hours".to_owned();
    let error = RuleError::ChangedMeanwhile { kind, id };
    assert_eq!(apply_form(&mut document, &outdated_form), Err(error));
}

#[test]
fn quiet_hours_are_switched_off_without_losing_their_times() {
    let mut document = global_document(&json!({}));
    let limits = NewRuleLimits::default();
    PreferenceChange::SwitchOffQuietHours.apply(&mut document, limits).unwrap();
    assert_eq!(user_rules_json(&document), json!({}));
    let query = "monday=on&from=09:00&to=17:00&timezone=UTC&level=important";
    apply_form(&mut document, query).unwrap();
    let preference = Preferences::from_document(&document).quiet_hours.unwrap();
    PreferenceChange::SwitchOffQuietHours.apply(&mut document, limits).unwrap();
    let expected = QuietHoursPreference { enabled: false, ..preference };
    assert_eq!(Preferences::from_document(&document).quiet_hours, Some(expected));
}

#[test]
fn times_that_do_not_form_one_period_are_custom() {
    for intervals in [
        json!([{}, {}, {}]),
        json!([{"time_of_day": ["22:00", "23:59"]}, {"time_of_day": ["01:00", "06:59"]}]),
        json!([{"time_of_day": ["20:00", "23:59"]}, {"time_of_day": ["00:00", "21:59"]}]),
        json!([{"time_of_day": ["20:00", "23:59"]}, {"time_of_day": ["00:00", "23:59"]}]),
        json!([
            {"time_of_day": ["22:00", "23:59"], "day_of_week": [5]},
            {"time_of_day": ["00:00", "06:59"], "day_of_week": [5]},
        ]),
    ] {
        let document = global_document(&json!({"override": [rule(&intervals)]}));
        let expected = QuietHoursPreference { quiet_hours: None, enabled: true };
        let preferences = Preferences::from_document(&document);
        assert_eq!(preferences.quiet_hours, Some(expected), "{intervals}");
    }
    // Other rules are not the quiet hours of the page.
    let night = json!([{"time_of_day": ["00:00", "06:59"]}]);
    let with = |key: &str, value: Value| {
        let mut rule = rule(&night);
        rule[key] = value;
        rule
    };
    for rule in [
        with("rule_id", json!("nights")),
        with("actions", json!(["notify"])),
        with("conditions", json!([])),
        with("conditions", json!([condition(&night), {"kind": "contains_display_name"}])),
    ] {
        let document = global_document(&json!({"underride": [rule]}));
        let preferences = Preferences::from_document(&document);
        assert_eq!((preferences.quiet_hours, preferences.other_rules.len()), (None, 1), "{rule}");
    }
}

#[test]
fn the_quiet_period_is_that_of_the_first_rule_that_matches() {
    let rule = |id: &str, enabled: bool, times: Value| {
        let condition = json!({"kind": "time_and_day", "intervals": [{"time_of_day": times}]});
        json!({"rule_id": id, "enabled": enabled, "actions": [], "conditions": [condition]})
    };
    let document = global_document(&json!({
        "override": [
            rule("off", false, json!(["00:00", "23:59"])),
            rule("nights", true, json!(["00:00", "06:59"])),
        ],
        "underride": [rule("quiet-hours", true, json!(["06:00", "08:59"]))],
    }));
    for (now, expected) in [
        ("03:00:00", Some((QuietLevel::Total, "07:00:00", false))),
        ("06:30:00", Some((QuietLevel::Total, "07:00:00", false))),
        ("07:00:00", Some((QuietLevel::ExceptImportant, "09:00:00", true))),
        ("09:00:00", None),
    ] {
        let time = |text: &str| format!("2026-11-18T{text}Z").parse::<Timestamp>().unwrap();
        let expected = expected.map(|(level, until, is_own)| QuietPeriod {
            level,
            until: Some(time(until)),
            is_own,
        });
        assert_eq!(QuietPeriod::from_document(&document, time(now)), expected, "{now}");
    }
    let always = json!({"kind": "time_and_day", "intervals": [{}]});
    let rule = json!({"rule_id": "a", "actions": [], "conditions": [always]});
    let document = global_document(&json!({"override": [rule]}));
    let expected = QuietPeriod { level: QuietLevel::Total, until: None, is_own: false };
    assert_eq!(QuietPeriod::from_document(&document, Timestamp::UNIX_EPOCH), Some(expected));
}
