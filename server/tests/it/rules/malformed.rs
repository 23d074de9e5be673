//! Malformed bodies are rejected with the documented error and change nothing.

use serde_json::{Value, json};

use super::{pushrules_path, start_unlimited};

const VALID_RULE: &str = r#"{"actions":["notify",{"set_tweak":"sound","value":"default"}],"conditions":[{"kind":"event_match","key":"content.body","pattern":"торт*"},{"kind":"room_member_count","is":">2"}],"pattern":"x","extra":[1,-2.5e3,true,null,"\u00e9"]}"#;

/// Returns malformed bodies with a name and the error code.
fn malformed_bodies() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let mut bodies = Vec::new();
    for (name, byte) in [("0xff", 0xff), ("0xc0", 0xc0), ("NUL", 0)] {
        let mut body = VALID_RULE.as_bytes().to_vec();
        body.insert(20, byte);
        bodies.push((name, body, "M_NOT_JSON"));
    }
    let replace = |text: &str, replacement| VALID_RULE.replace(text, replacement);
    for (name, body, errcode) in [
        ("an empty body", String::new(), "M_NOT_JSON"),
        ("a body that is cut", VALID_RULE[..VALID_RULE.len() - 1].to_owned(), "M_NOT_JSON"),
        ("a byte order mark", format!("\u{feff}{VALID_RULE}"), "M_NOT_JSON"),
        ("two bodies", format!("{VALID_RULE}{VALID_RULE}"), "M_NOT_JSON"),
        ("a comment", format!("{VALID_RULE} // x"), "M_NOT_JSON"),
        ("NaN", replace("-2.5e3", "NaN"), "M_NOT_JSON"),
        ("a form", "actions=notify&pattern=x".to_owned(), "M_NOT_JSON"),
        ("a number out of range", replace("-2.5e3", "1e999"), "M_BAD_JSON"),
        ("a lone surrogate", replace("\\u00e9", "\\ud800"), "M_BAD_JSON"),
        ("an escaped key twice", replace("\"pattern\"", "\"\\u0061ctions\""), "M_BAD_JSON"),
        ("a duplicate nested key", replace("\"key\"", "\"kind\""), "M_BAD_JSON"),
        ("101 levels", nested_rule(101), "M_BAD_JSON"),
        ("unclosed arrays", "[".repeat(10_000), "M_BAD_JSON"),
        ("100,000 levels", nested_rule(100_000), "M_TOO_LARGE"),
        ("5 MiB", "x".repeat(5 << 20), "M_TOO_LARGE"),
    ] {
        bodies.push((name, body.into_bytes(), errcode));
    }
    bodies
}

/// Returns a rule whose JSON has this many levels.
fn nested_rule(levels: usize) -> String {
    // The object itself is one level.
    let open = "[".repeat(levels - 1);
    let close = "]".repeat(levels - 1);
    format!("{{\"actions\":[],\"pattern\":\"x\",\"deep\":{open}{close}}}")
}

#[tokio::test]
async fn every_malformed_body_is_rejected_and_changes_nothing() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let valid_rule: Value = serde_json::from_str(VALID_RULE).unwrap();
    alice.put_rule_ok("global/content/existing", &valid_rule).await;
    let rules_before = alice.get(&pushrules_path("")).await.text;
    for (name, body, errcode) in malformed_bodies() {
        let status = if errcode == "M_TOO_LARGE" { 413 } else { 400 };
        for path in ["new", "existing", "existing/actions", "existing/enabled"] {
            let request = format!("PUT {}", pushrules_path(&format!("global/content/{path}")));
            let response = alice.send(&request, body.clone()).await;
            assert_eq!(response.status_and_errcode(), (status, errcode.into()), "{name} {path}");
        }
    }
    assert_eq!(alice.get(&pushrules_path("")).await.text, rules_before);
}

/// Maximum body size is raised, because it would reject these bodies first.
#[tokio::test]
async fn depth_and_stored_size_are_limited_independently_of_the_body_size() {
    let config = crate::support::service::config_with(|config| {
        config.rules.max_body_bytes = 10 << 20;
    });
    let service = crate::support::Service::start_with(config).await;
    let alice = service.user_client("alice").await;
    for (name, body, expected) in [
        ("100,000 levels", nested_rule(100_000), (400, "M_BAD_JSON")),
        ("100,000 levels, not closed", "[".repeat(100_000), (400, "M_BAD_JSON")),
        ("100,000 objects", "{\"a\":".repeat(100_000), (400, "M_BAD_JSON")),
        (
            "5 MiB",
            format!("{{\"actions\":[],\"x\":\"{}\"}}", "x".repeat(5 << 20)),
            (413, "M_TOO_LARGE"),
        ),
    ] {
        let response = alice.send(&format!("PUT {}", pushrules_path("global/room/a")), body).await;
        let (status, errcode) = response.status_and_errcode();
        assert_eq!((status, errcode.as_str()), expected, "{name}");
    }
    assert_eq!(alice.get(&pushrules_path("global/room/a")).await.status, 404);
}

#[tokio::test]
async fn unusual_but_valid_json_is_accepted() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    for (name, body, expected_value) in [
        ("100 levels", nested_rule(100), None),
        ("a surrogate pair", r#"{"actions":[],"x":"\ud83d\udd14"}"#.into(), Some(json!("🔔"))),
        ("an escaped NUL", r#"{"actions":[],"x":"\u0000"}"#.into(), Some(json!("\0"))),
        ("negative zero", r#"{"actions":[],"x":-0.0}"#.into(), Some(json!(-0.0))),
        ("2^63", r#"{"actions":[],"x":9223372036854775808}"#.into(), Some(json!(1_u64 << 63))),
        ("spaces", " \r\n\t{ \"actions\" : [ ] } \n".into(), None),
        ("an empty key", r#"{"actions":[],"":1,"x":2}"#.into(), Some(json!(2))),
    ] {
        let response = alice.send(&format!("PUT {}", pushrules_path("global/room/a")), body).await;
        assert_eq!(response.status, 200, "{name}: {response:?}");
        if let Some(expected_value) = expected_value {
            assert_eq!(alice.get_rules("global/room/a").await["x"], expected_value, "{name}");
        }
    }
}
