//! Malformed bodies of imports.

use serde_json::{Value, json};

use super::add_rules;
use crate::rules::{pushrules_path, start_unlimited};

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
    let rules_before = alice.get(&pushrules_path("")).await.text;
    let errcodes = ["M_NOT_JSON", "M_BAD_JSON", "M_MISSING_PARAM", "M_INVALID_PARAM"];
    let request = format!("POST {}", pushrules_path("import"));
    let valid_text = import.to_string();
    for end in 0..valid_text.len() {
        let response = alice.send(&request, valid_text.as_bytes()[..end].to_vec()).await;
        assert_eq!(response.status_and_errcode(), (400, "M_NOT_JSON".into()), "cut at {end}");
        assert_eq!(alice.get(&pushrules_path("")).await.text, rules_before, "cut at {end}");
    }
    for pointer in json_pointers(&import) {
        for wrong_value in [json!(null), json!(1.5), json!("?/"), json!([[]]), json!({ "?/": 1 })] {
            let mut body = import.clone();
            *body.pointer_mut(&pointer).unwrap() = wrong_value.clone();
            let response = alice.post_rules("import", &body).await;
            if response.status == 200 {
                let is_pattern = pointer.ends_with("/pattern") && wrong_value.is_string();
                assert!(is_pattern || pointer == "/exported_ts", "{pointer} {wrong_value}");
                alice.send(&format!("POST {}", pushrules_path("reset")), "").await;
                add_rules(&alice).await;
                continue;
            }
            let (status, errcode) = response.status_and_errcode();
            assert!(status == 400 && errcodes.contains(&&*errcode), "{pointer} {wrong_value}");
            let rules_after = alice.get(&pushrules_path("")).await.text;
            assert_eq!(rules_after, rules_before, "{pointer} {wrong_value}");
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
