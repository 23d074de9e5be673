//! Tests of reading preferences from rules.

use super::*;
use crate::rules::builtin;

#[test]
fn a_content_rule_is_a_keyword_or_a_muted_word() {
    let document = global_document(&json!({"content": [
        {"rule_id": "z", "pattern": "Über*", "actions": ["notify", {"set_tweak": "highlight"}]},
        {"rule_id": "cake", "pattern": "cake", "enabled": false, "actions": ["dont_notify"]},
        {"rule_id": "b", "pattern": "Apple", "actions": ["notify", {"set_tweak": "sound"}],
            "until": 1_800_000_000_000_i64},
    ]}));
    let preferences = Preferences::from_document(&document);
    let until = Timestamp::from_second(1_800_000_000).ok();
    assert_eq!(
        preferences.keywords,
        [
            Keyword {
                id: "b",
                pattern: "Apple",
                setting: Setting { until, ..enabled_setting(notify_effect(true, false)) },
            },
            Keyword {
                id: "z",
                pattern: "Über*",
                setting: enabled_setting(notify_effect(false, true))
            },
        ]
    );
    assert_eq!(
        preferences.muted_words,
        [Keyword {
            id: "cake",
            pattern: "cake",
            setting: Setting { enabled: false, ..enabled_setting(Effect::Silent) },
        }]
    );
    assert!(preferences.other_rules.is_empty());
}

#[test]
fn people_and_rooms_are_read_from_their_rules() {
    let document = global_document(&json!({
        "sender": [
            {"rule_id": "@bob:x", "actions": ["notify", {"set_tweak": "sound"}]},
            {"rule_id": "@al:x.org:8448", "actions": []},
        ],
        "room": [{"rule_id": "!b:x", "actions": ["dont_notify"]}],
        "override": [override_mute("!a:x", "!a:x"), override_mute("any id", "!c:[::1]")],
    }));
    let preferences = Preferences::from_document(&document);
    let silent = Setting { includes_mentions: true, ..enabled_setting(Effect::Silent) };
    let muted = enabled_setting(Effect::Silent);
    assert_eq!(
        preferences.people,
        [
            SubjectPreference { id: "@al:x.org:8448", setting: muted },
            SubjectPreference {
                id: "@bob:x",
                setting: enabled_setting(notify_effect(true, false))
            },
        ]
    );
    assert_eq!(
        preferences.rooms,
        [
            SubjectPreference { id: "!a:x", setting: silent },
            SubjectPreference { id: "!b:x", setting: muted },
            SubjectPreference { id: "!c:[::1]", setting: silent },
        ]
    );
    assert!(preferences.other_rules.is_empty());
}

#[test]
fn a_room_with_several_rules_has_the_setting_that_takes_effect() {
    let notifying_rule = json!({"rule_id": "!a:x", "actions": ["notify"]});
    let disable = |mut rule: Value| {
        rule["enabled"] = false.into();
        rule
    };
    let mute = || override_mute("m", "!a:x");
    let silent = Setting { includes_mentions: true, ..enabled_setting(Effect::Silent) };
    for (rules, expected) in [
        (json!({"room": [notifying_rule], "override": [mute()]}), silent),
        (
            json!({"room": [notifying_rule], "override": [disable(mute())]}),
            enabled_setting(notify_effect(false, false)),
        ),
        (json!({"room": [disable(notifying_rule.clone())], "override": [mute()]}), silent),
    ] {
        let document = global_document(&rules);
        let preferences = Preferences::from_document(&document);
        assert_eq!(preferences.rooms, [SubjectPreference { id: "!a:x", setting: expected }]);
        assert!(preferences.other_rules.is_empty(), "{rules}");
    }
}

#[test]
fn rules_that_express_no_preference_are_listed() {
    let condition = json!({"kind": "event_match", "key": "room_id", "pattern": "!a:x"});
    let rule_with =
        |conditions: Value| json!({"rule_id": "a", "actions": [], "conditions": conditions});
    for rules in [
        json!({"override": [rule_with(json!([]))]}),
        json!({"override": [rule_with(json!([condition, {"kind": "contains_display_name"}]))]}),
        json!({"override": [override_mute("a", "!*:x")]}),
        json!({"override": [override_mute("a", "#a:x")]}),
        json!({"override": [{"rule_id": "a", "actions": ["notify"], "conditions": [condition]}]}),
        json!({"underride": [rule_with(json!([condition]))]}),
        json!({"room": [{"rule_id": "#alias:x", "actions": []}]}),
        json!({"room": [{"rule_id": "!a:x", "actions": [], "conditions": [condition]}]}),
        json!({"sender": [{"rule_id": "bob", "actions": []}]}),
        json!({"content": [{"rule_id": "a", "pattern": "a", "actions": [], "conditions": [condition]}]}),
    ] {
        let document = global_document(&rules);
        let preferences = Preferences::from_document(&document);
        assert_eq!(preferences.other_rules.len(), 1, "{rules}");
        assert!(preferences.keywords.is_empty() && preferences.people.is_empty(), "{rules}");
        assert!(preferences.rooms.is_empty(), "{rules}");
    }
}

#[test]
fn every_builtin_rule_except_master_has_one_switch() {
    let mut switch_rules: Vec<&(RuleKind, &str)> =
        Switch::ALL.iter().flat_map(|switch| switch.rules()).collect();
    switch_rules.sort_unstable();
    let mut builtin_rules: Vec<(RuleKind, &str)> = builtin::all()
        .iter()
        .map(|(kind, rule)| (kind, rule.rule_id.as_str()))
        .filter(|(_, id)| *id != builtin::MASTER)
        .collect();
    builtin_rules.sort_unstable();
    assert_eq!(switch_rules, builtin_rules.iter().collect::<Vec<_>>());
    for &switch in Switch::ALL {
        for (kind, id) in switch.rules() {
            assert_eq!(Switch::from_rule(*kind, id), Some(switch));
        }
    }
    assert_eq!(Switch::from_rule(RuleKind::Override, builtin::MASTER), None);
}

#[test]
fn a_switch_is_on_by_default_if_its_rules_notify() {
    let document = global_document(&json!({}));
    for (switch, state) in Preferences::from_document(&document).switches {
        let is_silent = |(kind, id): &(RuleKind, &str)| {
            let rule = builtin::all()[*kind].iter().find(|rule| rule.rule_id == *id).unwrap();
            Effect::from_actions(&rule.actions) == Effect::Silent
        };
        let expected =
            if switch.rules().iter().all(is_silent) { SwitchState::Off } else { SwitchState::On };
        assert_eq!(state, expected, "{switch}");
    }
}

#[test]
fn a_switch_is_on_while_its_rules_allow_notifications() {
    let switch_state = |switch: Switch, changes: Value| {
        let document = document_in_scope("global", &json!({}), &changes);
        let switches = Preferences::from_document(&document).switches;
        switches.into_iter().find(|(other, _)| *other == switch).unwrap().1
    };
    for (switch, changes, expected) in [
        (Switch::Call, json!({".m.rule.call": {"enabled": false}}), SwitchState::Off),
        (Switch::Call, json!({".m.rule.call": {"actions": ["dont_notify"]}}), SwitchState::Off),
        (Switch::Call, json!({".m.rule.call": {"actions": ["notify"]}}), SwitchState::On),
        (Switch::Bots, json!({".m.rule.suppress_notices": {"enabled": false}}), SwitchState::On),
        (
            Switch::Bots,
            json!({".m.rule.suppress_notices": {"actions": ["notify"]}}),
            SwitchState::On,
        ),
        // No other rule notifies of reactions.
        (Switch::Reactions, json!({".m.rule.reaction": {"enabled": false}}), SwitchState::Off),
        (Switch::Reactions, json!({".m.rule.reaction": {"actions": ["notify"]}}), SwitchState::On),
        (Switch::Group, json!({".m.rule.encrypted": {"enabled": false}}), SwitchState::Partly),
        (
            Switch::Group,
            json!({".m.rule.encrypted": {"enabled": false}, ".m.rule.message": {"actions": []}}),
            SwitchState::Off,
        ),
    ] {
        assert_eq!(switch_state(switch, changes.clone()), expected, "{changes}");
    }
}

#[test]
fn notifications_are_paused_while_the_master_rule_is_enabled_and_silent() {
    for (changes, expected) in [
        (json!({}), None),
        (json!({".m.rule.master": {"enabled": false}}), None),
        (json!({".m.rule.master": {"enabled": true}}), Some(Pause { until: None })),
        (
            json!({".m.rule.master": {"enabled": true, "until": 1_800_000_000_000_i64}}),
            Some(Pause { until: Timestamp::from_second(1_800_000_000).ok() }),
        ),
        (json!({".m.rule.master": {"enabled": true, "actions": ["notify"]}}), None),
    ] {
        let document = document_in_scope("global", &json!({}), &changes);
        assert_eq!(Preferences::from_document(&document).pause, expected, "{changes}");
    }
}

#[test]
fn a_device_scope_has_no_switches_and_no_pause() {
    let rules = json!({"content": [{"rule_id": "a", "pattern": "a", "actions": []}]});
    let document = document_in_scope("device/phone", &rules, &json!({}));
    let preferences = Preferences::from_document(&document);
    assert_eq!((preferences.muted_words.len(), preferences.switches.len()), (1, 0));
    assert_eq!(preferences.pause, None);
}
