//! Tests of explanations.

use serde_json::json;

use super::{ALICE, Scenario, global_document, message};

#[test]
fn tweaks_have_default_values_and_the_last_of_each_name_applies() {
    for (actions, notify, effective_actions, tweaks) in [
        (json!([]), false, json!([]), json!({})),
        (json!(["dont_notify"]), false, json!([]), json!({})),
        (json!(["coalesce", "set_tweak"]), false, json!([]), json!({})),
        (json!(["notify", "dont_notify"]), true, json!(["notify"]), json!({})),
        (
            json!([{"set_tweak": "highlight"}]),
            false,
            json!([{"set_tweak": "highlight"}]),
            json!({"highlight": true}),
        ),
        (
            json!([{"set_tweak": "highlight", "value": false}]),
            false,
            json!([{"set_tweak": "highlight", "value": false}]),
            json!({"highlight": false}),
        ),
        (
            json!([{"set_tweak": "sound"}]),
            false,
            json!([{"set_tweak": "sound"}]),
            json!({"sound": "default"}),
        ),
        (
            json!([{"set_tweak": "org.x"}]),
            false,
            json!([{"set_tweak": "org.x"}]),
            json!({"org.x": true}),
        ),
        (
            json!(["notify", {"set_tweak": "sound", "value": "a"}, {"set_tweak": "sound", "value": "b"}]),
            true,
            json!(["notify", {"set_tweak": "sound", "value": "a"}, {"set_tweak": "sound", "value": "b"}]),
            json!({"sound": "b"}),
        ),
    ] {
        let rule = json!({"rule_id": "x", "conditions": [], "actions": actions});
        let explanation =
            Scenario::new([global_document(&[("override", rule)])]).explain(&message("hi"));
        assert_eq!(explanation["notify"], notify, "{actions}");
        assert_eq!(
            (&explanation["actions"], &explanation["tweaks"]),
            (&effective_actions, &tweaks),
            "{actions}"
        );
    }
}

#[test]
fn an_explanation_lists_each_rule_up_to_the_one_that_matched() {
    let rules = [
        ("override", json!({"rule_id": "off", "conditions": [], "enabled": false})),
        ("content", json!({"rule_id": "cake", "pattern": "Cake"})),
    ];
    let explanation = Scenario::new([global_document(&rules)]).explain(&message("Hi"));
    let walk = explanation["walk"].as_array().unwrap();
    assert_eq!(
        walk[0],
        json!({"scope": "global", "kind": "override", "rule_id": ".m.rule.master", "outcome": "disabled"})
    );
    assert_eq!(
        walk[1],
        json!({"scope": "global", "kind": "override", "rule_id": "off", "outcome": "disabled"})
    );
    let step = |id: &str| walk.iter().find(|step| step["rule_id"] == id).unwrap();
    assert_eq!(
        step("cake"),
        &json!({
            "scope": "global", "kind": "content", "rule_id": "cake", "outcome": "failed", "found": "Hi",
            "condition": {"kind": "event_match", "key": "content.body", "pattern": "Cake"},
        })
    );
    assert_eq!(
        step(".m.rule.is_user_mention")["condition"],
        json!({"kind": "event_property_contains", "key": r"content.m\.mentions.user_ids", "value": ALICE})
    );
    assert_eq!(step(".m.rule.is_user_mention").get("found"), None);
    assert_eq!(step(".m.rule.room_one_to_one")["found"], 10);
    assert_eq!(step(".m.rule.contains_user_name")["condition"]["pattern"], "alice");
    assert_eq!(walk.last().unwrap()["outcome"], "won");
    assert_eq!(walk.last().unwrap()["rule_id"], explanation["rule"]["rule_id"]);
    assert_eq!(walk.iter().filter(|step| step["outcome"] == "won").count(), 1);
}

#[test]
fn long_values_are_truncated() {
    let items: Vec<u32> = (0..500).collect();
    let contains = json!({"kind": "event_property_contains", "key": "content.l", "value": 500});
    let rules = [
        ("override", json!({"rule_id": "list", "conditions": [contains]})),
        ("content", json!({"rule_id": "cake", "pattern": "cake"})),
    ];
    let mut event = message(&"é".repeat(500));
    event["content"]["l"] = json!(items);
    let explanation = Scenario::new([global_document(&rules)]).explain(&event);
    let walk = explanation["walk"].as_array().unwrap();
    let found_value = |id: &str| &walk.iter().find(|step| step["rule_id"] == id).unwrap()["found"];
    assert_eq!(*found_value("cake"), format!("{}…", "é".repeat(100)));
    assert_eq!(*found_value("list"), json!(items[..100]));
}
