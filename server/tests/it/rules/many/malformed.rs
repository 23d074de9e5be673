//! Malformed bodies of bulk changes and imports.

use serde_json::{Value, json};

use super::add_rules;
use crate::rules::{pushrules, service};

/// Fields that are ignored and may have any value: the time of an export, and fields of a new rule
/// that the server sets.
const IGNORED: [(&str, &str); 3] = [
    ("import", "/exported_ts"),
    ("bulk", "/changes/0/rule/enabled"),
    ("bulk", "/changes/0/rule/rule_id"),
];

/// Truncated bodies, and bodies with values of every JSON type in every place.
#[tokio::test]
async fn no_malformed_body_changes_anything() {
    let service = service().await;
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
    let before = alice.get(&pushrules("")).await.text;
    let codes = ["M_NOT_JSON", "M_BAD_JSON", "M_MISSING_PARAM", "M_INVALID_PARAM"];
    for (path, valid) in [("import", &import), ("bulk", &bulk)] {
        let request = format!("POST {}", pushrules(path));
        let text = valid.to_string();
        for end in 0..text.len() {
            let response = alice.send(&request, text.as_bytes()[..end].to_vec()).await;
            let code = response.status_and_errcode().1;
            assert_eq!((response.status, code.as_str()), (400, "M_NOT_JSON"), "cut at {end}");
            assert_eq!(alice.get(&pushrules("")).await.text, before, "{path} cut at {end}");
        }
        for pointer in pointers(valid) {
            for wrong in [json!(null), json!(1.5), json!("?/"), json!([[]]), json!({ "?/": 1 })] {
                let mut body = valid.clone();
                *body.pointer_mut(&pointer).unwrap() = wrong.clone();
                let response = alice.post_rules(path, &body).await;
                if response.status == 200 {
                    let is_pattern = pointer.ends_with("/pattern") && wrong.is_string();
                    let is_ignored = IGNORED.contains(&(path, &pointer));
                    assert!(is_pattern || is_ignored, "{path} {pointer} {wrong}");
                    alice.send(&format!("POST {}", pushrules("reset")), "").await;
                    add_rules(&alice).await;
                    continue;
                }
                let (status, code) = response.status_and_errcode();
                let is_neighbour = pointer.ends_with("/before") || pointer.ends_with("/after");
                let is_expected = codes.contains(&&*code)
                    || (code == "M_UNKNOWN" && is_neighbour)
                    || (code == "M_NOT_FOUND" && path == "bulk");
                assert!(
                    is_expected && matches!(status, 400 | 404),
                    "{path} {pointer} {wrong}: {code}"
                );
                let after = alice.get(&pushrules("")).await.text;
                assert_eq!(after, before, "{path} {pointer} {wrong}");
            }
        }
    }
}

/// Returns the JSON pointers of all values below a value, and of the value itself.
fn pointers(value: &Value) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut add = |name: &str, below: &Value| {
        all.extend(pointers(below).into_iter().map(|rest| format!("/{name}{rest}")));
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| add(&index.to_string(), item));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| add(name, member)),
        _ => {}
    }
    all
}
