//! Tests of preference changes.

use super::*;
use crate::rules::{Action, NewRuleLimits, RuleError, User};

#[track_caller]
fn rules_after(document: &RuleDocument, changes: &[PreferenceChange]) -> Value {
    let mut document = document.clone();
    for change in changes {
        change.apply(&mut document, LIMITS).unwrap();
    }
    user_rules_json(&document)
}

fn set_word(word: &str, sound: bool, highlight: bool) -> PreferenceChange {
    let target = KeywordTarget::Word(word.to_owned());
    PreferenceChange::SetKeyword { target, effect: Effect::Notify { sound, highlight } }
}

fn set_subject(id: &str, choice: SubjectChoice) -> PreferenceChange {
    PreferenceChange::SetSubject {
        subject: Subject::parse(id).unwrap(),
        choice,
        displayed_setting: None,
    }
}

const LIMITS: NewRuleLimits = NewRuleLimits { conditions: 2, bytes: 500 };

const MUTE: SubjectChoice = SubjectChoice::Mute { until: None };

fn mute_until(second: i64) -> SubjectChoice {
    SubjectChoice::Mute { until: Timestamp::from_second(second).ok() }
}

#[test]
fn a_keyword_is_a_content_rule_with_the_word_as_its_id() {
    let empty_document = global_document(&json!({}));
    assert_eq!(
        rules_after(
            &empty_document,
            &[set_word("cake", true, true), set_word("Tea time", false, false)]
        ),
        json!({"content": [
            {"rule_id": "Tea time", "default": false, "enabled": true, "pattern": "Tea time",
                "actions": ["notify"]},
            {"rule_id": "cake", "default": false, "enabled": true, "pattern": "cake", "actions":
                ["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]},
        ]})
    );
}

#[test]
fn a_word_that_is_not_a_valid_id_gets_a_similar_one() {
    let empty_document = global_document(&json!({}));
    let words = ["/a", ".a", "_a", "a\\b", ".", "//"].map(|text| set_word(text, false, false));
    let rules = rules_after(&empty_document, &words);
    let ids: Vec<(&str, &str)> = rules["content"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|rule| (rule["pattern"].as_str().unwrap(), rule["rule_id"].as_str().unwrap()))
        .collect();
    assert_eq!(
        ids,
        [("/a", "_a"), (".a", "_a 2"), ("_a", "_a 3"), ("a\\b", "a_b"), (".", "_"), ("//", "__")]
    );
}

#[test]
fn adding_a_keyword_again_in_any_case_changes_it() {
    let document = global_document(&json!({"content": [
        {"rule_id": "x", "pattern": "Cake", "enabled": false, "org.x": 1, "until": 1_800_000_000_001_i64,
            "actions": ["dont_notify", {"set_tweak": "color", "value": "red"}]},
    ]}));
    let expected = json!({"content": [
        {"rule_id": "x", "default": false, "pattern": "Cake", "enabled": true, "org.x": 1,
            "until": 1_800_000_000_001_i64,
            "actions": ["notify", {"set_tweak": "color", "value": "red"},
                {"set_tweak": "sound", "value": "default"}]},
    ]});
    let change = set_word("cAKE", true, false);
    assert_eq!(rules_after(&document, std::slice::from_ref(&change)), expected);
    assert_eq!(rules_after(&document, &[change.clone(), change]), expected);
}

#[test]
fn a_keyword_that_was_changed_since_it_was_shown_is_not_overwritten() {
    let document = global_document(&json!({"content": [
        {"rule_id": "x", "pattern": "cake", "actions": ["notify", {"set_tweak": "sound"}]},
    ]}));
    let change = |id: &str, displayed_setting: &str, sound, highlight| {
        let target = KeywordTarget::Rule {
            id: id.to_owned(),
            displayed_setting: displayed_setting.to_owned(),
        };
        PreferenceChange::SetKeyword { target, effect: Effect::Notify { sound, highlight } }
    };
    let highlight = json!(["notify", {"set_tweak": "highlight"}]);
    let changed_rules = rules_after(&document, &[change("x", "sound", false, true)]);
    assert_eq!(changed_rules["content"][0]["actions"], highlight);
    // The same form is submitted again.
    let twice = [change("x", "sound", false, true), change("x", "sound", false, true)];
    assert_eq!(rules_after(&document, &twice), changed_rules);
    for (stale_change, error) in [
        (
            change("x", "notify", false, true),
            "the content rule \"x\" has been changed in the meantime",
        ),
        (
            change("x", "sound-off", false, true),
            "the content rule \"x\" has been changed in the meantime",
        ),
        (change("y", "sound", false, true), "there is no content rule \"y\""),
    ] {
        let mut changed_document = document.clone();
        assert_eq!(
            stale_change.apply(&mut changed_document, LIMITS).unwrap_err().to_string(),
            error
        );
        assert_eq!(changed_document, document, "a rejected change has no effect");
    }
}

#[test]
fn people_and_rooms_can_notify_or_be_muted() {
    let empty_document = global_document(&json!({}));
    let sound = json!(["notify", {"set_tweak": "sound", "value": "default"}]);
    let changes = [
        set_subject("@bob:x", SubjectChoice::Notify),
        set_subject("@eve:x", mute_until(1_800_000_000)),
        set_subject("!a:x", MUTE),
    ];
    let rule = |id: &str, actions: &Value| json!({"rule_id": id, "default": false, "enabled": true, "actions": actions});
    let mut eve = rule("@eve:x", &json!([]));
    eve["until"] = 1_800_000_000_000_i64.into();
    assert_eq!(
        rules_after(&empty_document, &changes),
        json!({
            "sender": [eve, rule("@bob:x", &sound)],
            "room": [rule("!a:x", &json!([]))],
        })
    );
    // The last choice applies, and does not expire if no time was chosen.
    let later_changes = [set_subject("@bob:x", MUTE), set_subject("@eve:x", SubjectChoice::Notify)];
    let rules = rules_after(&empty_document, &[&changes[..], &later_changes].concat());
    assert_eq!(rules["sender"], json!([rule("@eve:x", &sound), rule("@bob:x", &json!([]))]));
}

#[test]
fn a_word_is_muted_by_its_content_rule() {
    let mute = |text: &str| PreferenceChange::SetKeyword {
        target: KeywordTarget::Word(text.to_owned()),
        effect: Effect::Silent,
    };
    let expected = json!({"content": [
        {"rule_id": "cake", "default": false, "enabled": true, "pattern": "cake", "actions": []},
    ]});
    assert_eq!(rules_after(&global_document(&json!({})), &[mute("cake")]), expected);
    // The word has one rule, so the last choice applies.
    assert_eq!(
        rules_after(&global_document(&json!({})), &[set_word("cake", true, true), mute("Cake")]),
        expected
    );
}

#[test]
fn a_changed_rule_must_meet_the_api_limits() {
    let condition = json!({"kind": "contains_display_name"});
    let document = global_document(&json!({
        "content": [{"rule_id": "x", "pattern": "cake", "actions": [], "org.x": "y".repeat(450)}],
        "room": [{"rule_id": "!a:x", "actions": [], "conditions": vec![condition; 3]}],
    }));
    for (change, error) in [
        (set_word("cake", true, true), RuleError::RuleTooLarge(500)),
        (set_subject("!a:x", MUTE), RuleError::TooManyConditions(2)),
    ] {
        let mut changed_document = document.clone();
        assert_eq!(change.apply(&mut changed_document, LIMITS), Err(error));
        assert_eq!(changed_document, document);
    }
}

#[test]
fn a_choice_for_a_room_replaces_its_override_rules() {
    let other_mute = override_mute("other", "!b:x");
    let document = global_document(&json!({
        "override": [override_mute("!a:x", "!a:x"), other_mute, override_mute("again", "!a:x")],
        "room": [{"rule_id": "!a:x", "enabled": false, "actions": [], "org.x": 1}],
    }));
    let sound = json!({"set_tweak": "sound", "value": "default"});
    let rules = rules_after(&document, &[set_subject("!a:x", SubjectChoice::Notify)]);
    assert_eq!(rules["override"].as_array().unwrap().len(), 1);
    assert_eq!(rules["override"][0]["rule_id"], "other");
    assert_eq!(
        rules["room"],
        json!([{"rule_id": "!a:x", "default": false, "enabled": true, "org.x": 1,
            "actions": ["notify", sound]}])
    );
    let rules_after_removal =
        rules_after(&document, &[PreferenceChange::RemoveSubject(Subject::parse("!a:x").unwrap())]);
    assert_eq!(rules_after_removal["override"].as_array().unwrap().len(), 1);
    assert_eq!(rules_after_removal["room"], Value::Null);
}

#[test]
fn a_subject_that_was_changed_since_it_was_shown_is_not_overwritten() {
    let document = global_document(&json!({
        "sender": [{"rule_id": "@bob:x", "actions": [], "until": 1_800_000_000_000_i64}],
        "override": [override_mute("m", "!a:x")],
    }));
    let change = |id: &str, displayed_setting: &str, choice| PreferenceChange::SetSubject {
        subject: Subject::parse(id).unwrap(),
        choice,
        displayed_setting: Some(displayed_setting.to_owned()),
    };
    for (change, is_accepted) in [
        (change("@bob:x", "muted-1800000000000", SubjectChoice::Notify), true),
        (change("@bob:x", "muted", SubjectChoice::Notify), false),
        (change("@bob:x", "sound", MUTE), false),
        // The same form, submitted again a minute later: the mute also expires a minute later.
        (change("@bob:x", "sound", mute_until(1_800_000_060)), true),
        (change("@bob:x", "sound", mute_until(1_800_003_600)), false),
        (change("@eve:x", "sound", MUTE), false),
        (change("!a:x", "silent", MUTE), true),
        (change("!a:x", "muted", SubjectChoice::Notify), false),
    ] {
        let mut changed_document = document.clone();
        assert_eq!(change.apply(&mut changed_document, LIMITS).is_ok(), is_accepted, "{change:?}");
        assert!(is_accepted || changed_document == document, "a rejected change has no effect");
    }
}

#[test]
fn removing_a_preference_twice_is_not_an_error() {
    let document = global_document(&json!({
        "underride": [{"rule_id": "a", "conditions": [], "actions": []}],
        "content": [{"rule_id": "a", "pattern": "x", "actions": []}],
        "sender": [{"rule_id": "@bob:x", "actions": []}],
    }));
    let remove_bob = PreferenceChange::RemoveSubject(Subject::parse("@bob:x").unwrap());
    let remove_word = PreferenceChange::RemoveKeyword("a".to_owned());
    assert_eq!(
        rules_after(&document, &[remove_bob.clone(), remove_word.clone(), remove_bob, remove_word]),
        json!({"underride": [{"rule_id": "a", "default": false, "enabled": true, "conditions": [], "actions": []}]})
    );
    let remove_rule = PreferenceChange::RemoveRule(RuleKind::Underride, "a".to_owned());
    let disable_rule = PreferenceChange::SetRuleEnabled(RuleKind::Underride, "a".to_owned(), false);
    assert_eq!(
        rules_after(&document, std::slice::from_ref(&disable_rule))["underride"][0]["enabled"],
        false
    );
    let mut changed_document = document.clone();
    for change in [&remove_rule, &remove_rule] {
        change.apply(&mut changed_document, LIMITS).unwrap();
    }
    assert_eq!(
        disable_rule.apply(&mut changed_document, LIMITS).unwrap_err().to_string(),
        "there is no underride rule \"a\""
    );
}

#[test]
fn turning_a_switch_changes_all_its_rules() {
    let switch_state = |document: &RuleDocument, switch: Switch| {
        Preferences::from_document(document)
            .switches
            .into_iter()
            .find(|(other, _)| *other == switch)
            .unwrap()
            .1
    };
    for changes in [
        json!({}),
        json!({".m.rule.encrypted": {"enabled": false}}),
        json!({".m.rule.encrypted": {"actions": []}, ".m.rule.reaction": {"actions": ["notify"]}}),
    ] {
        let mut document = document_in_scope("global", &json!({}), &changes);
        for &switch in Switch::ALL {
            for (is_on, expected) in
                [(false, SwitchState::Off), (true, SwitchState::On), (true, SwitchState::On)]
            {
                PreferenceChange::SetSwitch(switch, is_on).apply(&mut document, LIMITS).unwrap();
                assert_eq!(switch_state(&document, switch), expected, "{switch} {changes}");
            }
        }
    }
    // The user's actions are preserved if they agree with the switch.
    let changes = json!({".m.rule.call": {"enabled": false, "actions": ["notify"]}});
    let mut document = document_in_scope("global", &json!({}), &changes);
    PreferenceChange::SetSwitch(Switch::Call, true).apply(&mut document, LIMITS).unwrap();
    assert_eq!(document.patch(".m.rule.call").unwrap().actions.as_ref().unwrap().len(), 1);
}

/// Later rules notify of messages from bots and of edits, but not of reactions and room events.
#[test]
fn a_switch_changes_the_enabled_state_or_the_actions() {
    let notify = &[Action::Notify][..];
    for (switch, id, on_state, off_state) in [
        (Switch::Bots, ".m.rule.suppress_notices", (false, &[][..]), (true, &[][..])),
        (Switch::Edits, ".m.rule.suppress_edits", (false, &[]), (true, &[])),
        (Switch::Reactions, ".m.rule.reaction", (true, notify), (true, &[])),
        (Switch::Members, ".m.rule.member_event", (true, notify), (true, &[])),
        (Switch::Servers, ".m.rule.room.server_acl", (true, notify), (true, &[])),
        (Switch::Group, ".m.rule.message", (true, notify), (false, notify)),
    ] {
        let mut document = document_in_scope("global", &json!({}), &json!({}));
        for (is_on, expected) in [(true, on_state), (false, off_state), (true, on_state)] {
            PreferenceChange::SetSwitch(switch, is_on).apply(&mut document, LIMITS).unwrap();
            let (kind, _) = switch.rules()[0];
            let rule = document.rule(kind, id, User::new("")).unwrap();
            assert_eq!((rule.enabled, &*rule.actions), expected, "{switch} {is_on}");
        }
    }
}

#[test]
fn a_pause_is_the_enabled_master_rule() {
    // A pause is silent even if a client has set different actions.
    let changes = json!({".m.rule.master": {"actions": ["notify"]}});
    let mut document = document_in_scope("global", &json!({}), &changes);
    PreferenceChange::Pause { until: None }.apply(&mut document, LIMITS).unwrap();
    assert_eq!(Preferences::from_document(&document).pause, Some(Pause { until: None }));
    let until = Timestamp::from_second(1_800_000_000).ok();
    PreferenceChange::Pause { until }.apply(&mut document, LIMITS).unwrap();
    assert_eq!(Preferences::from_document(&document).pause, Some(Pause { until }));
    PreferenceChange::Resume.apply(&mut document, LIMITS).unwrap();
    assert_eq!(Preferences::from_document(&document).pause, None);
    assert_eq!(document.patch(".m.rule.master").unwrap().until, None);
}

#[test]
fn a_muted_word_precedes_keywords_regardless_of_which_was_created_first() {
    let empty_document = global_document(&json!({}));
    let mute = |text: &str| {
        let target = KeywordTarget::Word(text.to_owned());
        PreferenceChange::SetKeyword { target, effect: Effect::Silent }
    };
    let rule_ids = |changes: &[PreferenceChange]| -> Vec<String> {
        let rules = rules_after(&empty_document, changes);
        let ids = rules["content"].as_array().unwrap().iter();
        ids.map(|rule| rule["rule_id"].as_str().unwrap().to_owned()).collect()
    };
    let cake = || set_word("cake", true, false);
    assert_eq!(rule_ids(&[mute("spoiler"), cake()]), ["spoiler", "cake"]);
    assert_eq!(rule_ids(&[cake(), mute("spoiler")]), ["spoiler", "cake"]);
    let several_words = [mute("spoiler"), mute("raisin"), cake(), set_word("tea", false, false)];
    assert_eq!(rule_ids(&several_words), ["raisin", "spoiler", "tea", "cake"]);
    let keyword_then_mute = [cake(), set_word("tea", false, false), mute("cake")];
    assert_eq!(rule_ids(&keyword_then_mute), ["cake", "tea"]);
    let mute_then_keyword = [mute("cake"), mute("tea"), set_word("tea", false, false)];
    assert_eq!(rule_ids(&mute_then_keyword), ["cake", "tea"]);
}
