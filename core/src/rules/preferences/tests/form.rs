//! Tests of the forms of the notifications page.

use super::*;
use crate::form;

const NOW: &str = "2027-01-15T12:00:00Z";

fn read_form_at(now: &str, query: &str) -> Result<PreferenceChange, PreferenceError> {
    PreferenceChange::from_form(&form::parse(query.as_bytes()).unwrap(), now.parse().unwrap())
}

fn read_form(query: &str) -> Result<PreferenceChange, PreferenceError> {
    read_form_at(NOW, query)
}

#[test]
fn a_form_is_read_as_a_change() {
    let person = |id: &str| Subject::Person(id.to_owned());
    let mute =
        |time: Option<&str>| SubjectChoice::Mute { until: time.map(|time| time.parse().unwrap()) };
    for (query, expected) in [
        ("change=resume", PreferenceChange::Resume),
        (
            "change=keyword&word=+cake%20&sound=on",
            PreferenceChange::SetKeyword {
                target: KeywordTarget::Word("cake".to_owned()),
                effect: Effect::Notify { sound: true, highlight: false },
            },
        ),
        (
            "change=keyword&rule=%2520x%252f&seen=muted&highlight=on",
            PreferenceChange::SetKeyword {
                target: KeywordTarget::Rule {
                    id: " x/".to_owned(),
                    displayed_setting: "muted".to_owned(),
                },
                effect: Effect::Notify { sound: false, highlight: true },
            },
        ),
        (
            "change=mute-word&word=+spam",
            PreferenceChange::SetKeyword {
                target: KeywordTarget::Word("spam".to_owned()),
                effect: Effect::Silent,
            },
        ),
        ("change=remove-keyword&rule=x", PreferenceChange::RemoveKeyword("x".to_owned())),
        (
            "change=subject&id=@bob:x&choice=notify&seen=",
            PreferenceChange::SetSubject {
                subject: person("@bob:x"),
                choice: SubjectChoice::Notify,
                displayed_setting: None,
            },
        ),
        (
            "change=subject&rule=%2540bob%253Ax&choice=mute-day&seen=sound",
            PreferenceChange::SetSubject {
                subject: person("@bob:x"),
                choice: mute(Some("2027-01-16T12:00:00Z")),
                displayed_setting: Some("sound".to_owned()),
            },
        ),
        ("change=remove-subject&id=@bob:x", PreferenceChange::RemoveSubject(person("@bob:x"))),
        ("change=switch&switch=call-on", PreferenceChange::SetSwitch(Switch::Call, true)),
        (
            "change=disable-rule&rule=override%2Fa%2520b",
            PreferenceChange::SetRuleEnabled(RuleKind::Override, "a b".to_owned(), false),
        ),
        (
            "change=remove-rule&rule=room%2Fx",
            PreferenceChange::RemoveRule(RuleKind::Room, "x".to_owned()),
        ),
        (
            "change=switch&switch=one-to-one-off",
            PreferenceChange::SetSwitch(Switch::OneToOne, false),
        ),
    ] {
        assert_eq!(read_form(query), Ok(expected), "{query}");
    }
    for (choice, expected) in [
        ("mute", mute(None)),
        ("mute-hour", mute(Some("2027-01-15T13:00:00Z"))),
        ("mute-8-hours", mute(Some("2027-01-15T20:00:00Z"))),
        ("mute-week", mute(Some("2027-01-22T12:00:00Z"))),
    ] {
        let change = read_form(&format!("change=subject&id=@bob:x&choice={choice}")).unwrap();
        let PreferenceChange::SetSubject { choice, .. } = change else { panic!("{change:?}") };
        assert_eq!(choice, expected);
    }
}

#[test]
fn a_form_with_an_invalid_field_is_rejected() {
    for (query, error) in [
        ("", PreferenceError::UnknownChange),
        ("change=x", PreferenceError::UnknownChange),
        ("change=pause&for=ever", PreferenceError::UnknownChange),
        ("change=switch&switch=x-on", PreferenceError::UnknownChange),
        ("change=switch&switch=call", PreferenceError::UnknownChange),
        ("change=switch&switch=call-x", PreferenceError::UnknownChange),
        ("change=remove-keyword", PreferenceError::UnknownChange),
        ("change=remove-rule&rule=x", PreferenceError::UnknownChange),
        ("change=enable-rule&rule=x%2Fy", PreferenceError::UnknownChange),
        ("change=remove-keyword&rule=%25", PreferenceError::UnknownChange),
        ("change=subject&id=@bob:x&choice=x", PreferenceError::UnknownChange),
        ("change=keyword&word=+%09", PreferenceError::WordBlank),
        ("change=mute-word&word=", PreferenceError::WordBlank),
        (&*format!("change=keyword&word={}", "x".repeat(241)), PreferenceError::WordTooLong),
    ] {
        assert_eq!(read_form(query), Err(error), "{query}");
    }
    assert!(read_form(&format!("change=keyword&word={}", "x".repeat(240))).is_ok());
}

#[test]
fn a_person_or_room_is_named_by_its_id_or_a_link() {
    let hash = "aZ0-_".repeat(9)[..43].to_owned();
    let hash_room_id = format!("!{hash}");
    let long_user_id = format!("@{}:x", "b".repeat(253));
    for (text, expected) in [
        (" @bob:x.org ", Ok(("person", "@bob:x.org"))),
        ("@bob:x.org:8448", Ok(("person", "@bob:x.org:8448"))),
        ("@Ünusual(old):[::1]", Ok(("person", "@Ünusual(old):[::1]"))),
        ("!abc:x", Ok(("room", "!abc:x"))),
        (&hash_room_id, Ok(("room", &*hash_room_id))),
        ("https://matrix.to/#/@bob:x.org", Ok(("person", "@bob:x.org"))),
        ("https://matrix.to/#/!abc%3Ax/$event?via=x", Ok(("room", "!abc:x"))),
        ("https://matrix.to/#/%23tea:x", Err(PreferenceError::RoomAlias)),
        ("", Err(PreferenceError::IdBlank)),
        (" ", Err(PreferenceError::IdBlank)),
        ("#tea:x", Err(PreferenceError::RoomAlias)),
        ("@bob", Err(PreferenceError::PersonWithoutServer)),
        ("bob", Err(PreferenceError::IdInvalid)),
        ("bob@x.org", Err(PreferenceError::IdInvalid)),
        ("@:x", Err(PreferenceError::IdInvalid)),
        ("@bob:", Err(PreferenceError::IdInvalid)),
        ("@bob:a b", Err(PreferenceError::IdInvalid)),
        ("@b b:x", Err(PreferenceError::IdInvalid)),
        ("@b/b:x", Err(PreferenceError::IdInvalid)),
        ("@bob:<b>", Err(PreferenceError::IdInvalid)),
        ("@\u{7}:x", Err(PreferenceError::IdInvalid)),
        ("!abc", Err(PreferenceError::IdInvalid)),
        ("!", Err(PreferenceError::IdInvalid)),
        ("https://matrix.to/#/%ff", Err(PreferenceError::IdInvalid)),
        (&long_user_id, Err(PreferenceError::IdTooLong)),
    ] {
        let result = Subject::parse(text);
        let kind_and_id = result.as_ref().map(|subject| match subject {
            Subject::Person(id) => ("person", id.as_str()),
            Subject::Room(id) => ("room", id.as_str()),
        });
        assert_eq!(kind_and_id.map_err(|error| *error), expected, "{text}");
    }
}

#[test]
fn a_pause_ends_after_the_chosen_time_or_in_the_morning() {
    let pause_end =
        |now: &str, query: &str| match read_form_at(now, &format!("change=pause&{query}")) {
            Ok(PreferenceChange::Pause { until }) => until.map(|until| until.to_string()),
            other => panic!("{other:?}"),
        };
    for (now, query, expected) in [
        (NOW, "for=hour", Some("2027-01-15T13:00:00Z")),
        ("2027-01-15T12:00:00.001Z", "for=hour", Some("2027-01-15T13:01:00Z")),
        (NOW, "for=8-hours", Some("2027-01-15T20:00:00Z")),
        (NOW, "for=open", None),
        (NOW, "for=morning", Some("2027-01-16T08:00:00Z")),
        ("2027-01-15T23:59:59Z", "for=morning", Some("2027-01-16T08:00:00Z")),
        ("2027-01-15T03:00:00Z", "for=morning", Some("2027-01-15T08:00:00Z")),
        ("2027-01-15T04:00:00Z", "for=morning", Some("2027-01-15T08:00:00Z")),
        ("2027-01-15T04:00:01Z", "for=morning", Some("2027-01-16T08:00:00Z")),
        ("2027-01-15T08:00:00Z", "for=morning", Some("2027-01-16T08:00:00Z")),
        // 8:00 in Berlin, as sent by the browser, unless it is in the past or too far away.
        (NOW, "for=morning&morning=1800082800000", Some("2027-01-16T07:00:00Z")),
        (NOW, "for=morning&morning=1800000000000", Some("2027-01-16T08:00:00Z")),
        (NOW, "for=morning&morning=1900000000000", Some("2027-01-16T08:00:00Z")),
        (NOW, "for=morning&morning=soon", Some("2027-01-16T08:00:00Z")),
        (NOW, "for=morning&morning=9223372036854775807", Some("2027-01-16T08:00:00Z")),
    ] {
        assert_eq!(pause_end(now, query).as_deref(), expected, "{now} {query}");
    }
}
