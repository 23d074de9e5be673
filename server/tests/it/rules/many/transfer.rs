//! Export and import of all rules.

use serde_json::json;

use super::add_rules;
use crate::rules::{minimal_rule, pushrules_path, rule_ids};
use crate::support::service::START_SECONDS;
use crate::support::{Service, on_both_engines};

on_both_engines! {
    crate::rules::start_unlimited_on:
    an_export_is_imported_by_another_account,
    an_invalid_import_changes_nothing,
}

async fn an_export_is_imported_by_another_account(service: Service) {
    let alice = service.user_client("alice").await;
    let bob = service.user_client("bob").await;
    let empty_export = bob.export().await;
    add_rules(&alice).await;
    let export = alice.get_rules("export").await;
    assert_eq!(
        (&export["version"], &export["exported_ts"]),
        (&json!("1"), &json!(START_SECONDS * 1000))
    );
    assert_eq!(rule_ids(&export["global"]["room"], false), ["a", "b"]);
    assert_eq!(
        rule_ids(&export["global"]["override"], true),
        [""; 0],
        "built-in rules are not exported"
    );
    assert_eq!(
        export["builtin_changes"],
        json!({
            ".m.rule.call": { "actions": [] }, ".m.rule.master": { "enabled": true },
            ".m.rule.message": { "enabled": true },
        })
    );

    bob.put_rule_ok("global/room/old", &minimal_rule("room")).await;
    bob.put_rule_ok("device/old/room/old", &minimal_rule("room")).await;
    bob.get_rules("").await;
    bob.import(&export).await;
    assert_eq!(bob.export().await, alice.export().await);
    let [mut alices_rulesets, mut bobs_rulesets] =
        [alice.get_rules("").await, bob.get_rules("").await];
    // The built-in rules about mentions contain the user's name.
    for rulesets in [&mut alices_rulesets, &mut bobs_rulesets] {
        let rules = rulesets["global"]["override"].as_array_mut().unwrap();
        rules.retain(|rule| rule["default"] == false || rule["rule_id"] == ".m.rule.master");
        rulesets["global"]["content"]
            .as_array_mut()
            .unwrap()
            .retain(|rule| rule["default"] == false);
    }
    assert_eq!(bobs_rulesets, alices_rulesets);

    // The empty export restores the initial state.
    bob.import(&empty_export).await;
    assert_eq!(bob.export().await, empty_export);
    assert_eq!(alice.export().await["device"]["phone"], export["device"]["phone"]);
}

async fn an_invalid_import_changes_nothing(service: Service) {
    let alice = service.user_client("alice").await;
    add_rules(&alice).await;
    let rules_before = alice.get(&pushrules_path("")).await.text;
    let rule = json!({ "rule_id": "a", "actions": [] });
    for (body, errcode, error) in [
        (json!({}), "M_MISSING_PARAM", "global is missing"),
        (json!({ "room": [rule] }), "M_MISSING_PARAM", "global is missing"),
        (json!(null), "M_BAD_JSON", "the body must be a JSON object"),
        (
            json!({ "global": {}, "version": "2" }),
            "M_INVALID_PARAM",
            "version must be the string \"1\"",
        ),
        (
            json!({ "global": { "room": [rule, { "rule_id": "b", "actions": ["ring"] }] } }),
            "M_INVALID_PARAM",
            "global.room[1]: actions[0] must be notify, dont_notify, coalesce, set_tweak, or an \
             object with set_tweak",
        ),
        (
            json!({ "global": {}, "device": { "phone": { "room": [rule, rule] } } }),
            "M_INVALID_PARAM",
            "device.phone.room[1]: another rule of this kind has the same rule_id; delete one of them",
        ),
    ] {
        let response = alice.post_rules("import", &body).await;
        let expected = json!({ "errcode": errcode, "error": error });
        assert_eq!((response.status, response.json()), (400, expected), "{body}");
        assert_eq!(alice.get(&pushrules_path("")).await.text, rules_before, "{body}");
    }
}
