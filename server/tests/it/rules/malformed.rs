//! Malformed bodies are rejected with the documented error and change nothing.

use serde_json::{Value, json};

use super::{pushrules_path, start_unlimited};

const VALID_RULE: &str = r#"{"actions":["notify",{"set_tweak":"sound","value":"default"}],"conditions":[{"kind":"event_match","key":"content.body","pattern":"торт*"},{"kind":"room_member_count","is":">2"}],"pattern":"x","extra":[1,-2.5e3,true,null,"\u00e9"]}"#;

/// Error codes for a malformed body.
const ERRCODES: [&str; 4] = ["M_NOT_JSON", "M_BAD_JSON", "M_MISSING_PARAM", "M_INVALID_PARAM"];

/// Returns malformed bodies with a name, and the error code if it is the same for all endpoints that
/// put a rule.
fn malformed_bodies() -> Vec<(String, Vec<u8>, Option<&'static str>)> {
    let mut bodies: Vec<(String, Vec<u8>, Option<&'static str>)> = Vec::new();
    // Truncated at every byte.
    for end in 0..VALID_RULE.len() {
        bodies.push((
            format!("cut at {end}"),
            VALID_RULE.as_bytes()[..end].into(),
            Some("M_NOT_JSON"),
        ));
    }
    // Invalid UTF-8 and NUL bytes at several offsets.
    for offset in (1..VALID_RULE.len()).step_by(7) {
        for (name, byte) in [("0xff", 0xff), ("0xc0", 0xc0), ("NUL", 0)] {
            let mut body = VALID_RULE.as_bytes().to_vec();
            body.insert(offset, byte);
            bodies.push((format!("{name} at {offset}"), body, Some("M_NOT_JSON")));
        }
    }
    for (name, body, errcode) in [
        ("an empty body", String::new(), "M_NOT_JSON"),
        ("spaces", "   ".to_owned(), "M_NOT_JSON"),
        ("a byte order mark", format!("\u{feff}{VALID_RULE}"), "M_NOT_JSON"),
        ("two bodies", format!("{VALID_RULE}{VALID_RULE}"), "M_NOT_JSON"),
        ("a comment", format!("{VALID_RULE} // x"), "M_NOT_JSON"),
        ("single quotes", VALID_RULE.replace('"', "'"), "M_NOT_JSON"),
        (
            "a trailing comma",
            VALID_RULE.replace("\"pattern\":\"x\"", "\"pattern\":\"x\","),
            "M_NOT_JSON",
        ),
        ("NaN", VALID_RULE.replace("-2.5e3", "NaN"), "M_NOT_JSON"),
        ("a leading zero", VALID_RULE.replace("-2.5e3", "012"), "M_NOT_JSON"),
        ("a form", "actions=notify&pattern=x".to_owned(), "M_NOT_JSON"),
        ("HTML", "<html></html>".to_owned(), "M_NOT_JSON"),
        ("a number out of range", VALID_RULE.replace("-2.5e3", "1e999"), "M_BAD_JSON"),
        ("a lone surrogate", VALID_RULE.replace("\\u00e9", "\\ud800"), "M_BAD_JSON"),
        ("two lone surrogates", VALID_RULE.replace("\\u00e9", "\\udc00\\ud800"), "M_BAD_JSON"),
        ("actions twice", VALID_RULE.replace("\"pattern\"", "\"actions\""), "M_BAD_JSON"),
        (
            "an escaped key twice",
            VALID_RULE.replace("\"pattern\"", "\"\\u0061ctions\""),
            "M_BAD_JSON",
        ),
        ("a duplicate nested key", VALID_RULE.replace("\"key\"", "\"kind\""), "M_BAD_JSON"),
        ("an extra key twice", VALID_RULE.replace("[1,", "[{\"a\":1,\"a\":1},"), "M_BAD_JSON"),
        ("101 levels", nested_rule(101), "M_BAD_JSON"),
        (
            "100,000 levels of arrays, without the closing brace",
            nested_rule(100_000).replace('}', ""),
            "M_BAD_JSON",
        ),
    ] {
        bodies.push((name.to_owned(), body.into_bytes(), Some(errcode)));
    }
    for open in ["[", "{\"a\":", "[{\"actions\":"] {
        let body = open.repeat(10_000).into_bytes();
        bodies.push((format!("unclosed {open}"), body, None));
    }
    // Values of the wrong type in each of these fields.
    let valid_rule: Value = serde_json::from_str(VALID_RULE).unwrap();
    for pointer in [
        "",
        "/actions",
        "/actions/0",
        "/actions/1/set_tweak",
        "/actions/1/value",
        "/conditions",
        "/conditions/0",
        "/conditions/0/kind",
        "/conditions/0/key",
        "/conditions/0/pattern",
        "/conditions/1/is",
        "/pattern",
    ] {
        for wrong_value in [json!(null), json!(1), json!([[]]), json!({ "x": 1 })] {
            let mut body = valid_rule.clone();
            *body.pointer_mut(pointer).unwrap() = wrong_value.clone();
            bodies.push((
                format!("{wrong_value} at {pointer:?}"),
                body.to_string().into_bytes(),
                None,
            ));
        }
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
        let is_too_large = body.len() > 64 * 1024;
        for path in ["global/content/new", "global/content/existing", "device/phone/content/new"] {
            let response = alice.send(&format!("PUT {}", pushrules_path(path)), body.clone()).await;
            let (status, actual_errcode) = response.status_and_errcode();
            if is_too_large {
                assert_eq!((status, actual_errcode.as_str()), (413, "M_TOO_LARGE"), "{name}");
                continue;
            }
            assert_eq!(status, 400, "{name}: {response:?}");
            assert!(ERRCODES.contains(&actual_errcode.as_str()), "{name}: {actual_errcode}");
            assert!(
                errcode.is_none_or(|errcode| errcode == actual_errcode),
                "{name}: {actual_errcode}"
            );
        }
        for path in ["global/content/existing/actions", "global/content/existing/enabled"] {
            let response = alice.send(&format!("PUT {}", pushrules_path(path)), body.clone()).await;
            // The error may be in a field that this endpoint ignores.
            if response.status == 200 {
                assert!(path.ends_with("actions") && errcode.is_none(), "{name} {path}");
                alice.put_rule_ok(path, &json!({ "actions": valid_rule["actions"] })).await;
                continue;
            }
            let (status, actual_errcode) = response.status_and_errcode();
            assert!(matches!(status, 400 | 413), "{name}: {response:?}");
            assert!(
                is_too_large || ERRCODES.contains(&actual_errcode.as_str()),
                "{name}: {actual_errcode}"
            );
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
async fn a_five_mebibyte_body_is_too_large() {
    let service = start_unlimited().await;
    let alice = service.user_client("alice").await;
    let response =
        alice.send(&format!("PUT {}", pushrules_path("global/room/a")), vec![b'x'; 5 << 20]).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
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
