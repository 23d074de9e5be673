//! Malformed bodies of bulk changes and imports.

use serde_json::{Value, json};

use super::add_rules;
use crate::rules::{pushrules_path, start_unlimited};

/// Fields that are ignored and may have any value: the time of an export, and fields of a new rule
/// that the server sets.
const IGNORED_FIELDS: [(&str, &str); 3] = [
    ("import", "/exported_ts"),
    ("bulk", "/changes/0/rule/enabled"),
    ("bulk", "/changes/0/rule/rule_id"),
];

/// Truncated bodies, and bodies with values of every JSON type in every place.
#[tokio::test]
async fn no_malformed_body_changes_anything() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    add_rules(&alice).await;
    let rule = json!({ "rule_id": "a", "enabled": true, "actions": ["notify"], "pattern": "é" });
    let import = json!({
        "version": "1", "exported_ts": 1, "global": { "content": [rule], "room": [] },
        "builtin_changes": { ".m.rule.master": { "enabled": false, "actions": [] } },
        "device": { "phone": { "room": [rule] } },
    });
    let bulk = json!({ "changes": [
        { "op": "put", "scope": "global", "kind": "content", "rule_id": "a", "rule": rule,
          "before": "b", "after": "b" },
        { "op": "set_actions", "kind": "content", "rule_id": "a", "actions": [] },
        { "op": "set_enabled", "kind": "content", "rule_id": "a", "enabled": false },
        { "op": "delete", "kind": "content", "rule_id": "a" },
    ] });
    let rules_before = alice.get(&pushrules_path("")).await.text;
    let errcodes = ["M_NOT_JSON", "M_BAD_JSON", "M_MISSING_PARAM", "M_INVALID_PARAM"];
    for (path, valid) in [("import", &import), ("bulk", &bulk)] {
        let request = format!("POST {}", pushrules_path(path));
        let valid_text = valid.to_string();
        for end in 0..valid_text.len() {
            let response = alice.send(&request, valid_text.as_bytes()[..end].to_vec()).await;
            let errcode = response.status_and_errcode().1;
            assert_eq!((response.status, errcode.as_str()), (400, "M_NOT_JSON"), "cut at {end}");
            assert_eq!(
                alice.get(&pushrules_path("")).await.text,
                rules_before,
                "{path} cut at {end}"
            );
        }
        for pointer in json_pointers(valid) {
            for wrong_value in
                [json!(null), json!(1.5), json!("?/"), json!([[]]), json!({ "?/": 1 })]
            {
                let mut body = valid.clone();
                *body.pointer_mut(&pointer).unwrap() = wrong_value.clone();
                let response = alice.post_rules(path, &body).await;
                if response.status == 200 {
                    let is_pattern = pointer.ends_with("/pattern") && wrong_value.is_string();
                    let is_ignored = IGNORED_FIELDS.contains(&(path, &pointer));
                    assert!(is_pattern || is_ignored, "{path} {pointer} {wrong_value}");
                    alice.send(&format!("POST {}", pushrules_path("reset")), "").await;
                    add_rules(&alice).await;
                    continue;
                }
                let (status, errcode) = response.status_and_errcode();
                let is_neighbour = pointer.ends_with("/before") || pointer.ends_with("/after");
                let is_expected = errcodes.contains(&&*errcode)
                    || (errcode == "M_UNKNOWN" && is_neighbour)
                    || (errcode == "M_NOT_FOUND" && path == "bulk");
                assert!(
                    is_expected && matches!(status, 400 | 404),
                    "{path} {pointer} {wrong_value}: {errcode}"
                );
                let rules_after = alice.get(&pushrules_path("")).await.text;
                assert_eq!(rules_after, rules_before, "{path} {pointer} {wrong_value}");
            }
        }
    }
}

/// Returns the JSON pointers of all values below a value, and of the value itself.
fn json_pointers(value: &Value) -> Vec<String> {
    let mut pointers = vec![String::new()];
    let mut add_child = |name: &str, child: &Value| {
        pointers.extend(json_pointers(child).into_iter().map(|below| format!("/{name}{below}")));
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| add_child(&index.to_string(), item));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| add_child(name, member)),
        _ => {}
    }
    pointers
}
