//! Malformed bodies are rejected with the documented error and change nothing.

use serde_json::{Value, json};

use super::{pushrules, service};

const VALID: &str = r#"{"actions":["notify",{"set_tweak":"sound","value":"default"}],"conditions":[{"kind":"event_match","key":"content.body","pattern":"торт*"},{"kind":"room_member_count","is":">2"}],"pattern":"x","extra":[1,-2.5e3,true,null,"\u00e9"]}"#;

/// Error codes for a malformed body.
const CODES: [&str; 4] = ["M_NOT_JSON", "M_BAD_JSON", "M_MISSING_PARAM", "M_INVALID_PARAM"];

/// Returns malformed bodies with a name, and the error code if it is the same for all endpoints.
fn bodies() -> Vec<(String, Vec<u8>, Option<&'static str>)> {
    let mut bodies: Vec<(String, Vec<u8>, Option<&'static str>)> = Vec::new();
    // Truncated at every byte.
    for end in 0..VALID.len() {
        bodies.push((format!("cut at {end}"), VALID.as_bytes()[..end].into(), Some("M_NOT_JSON")));
    }
    // Invalid UTF-8 and NUL bytes at several offsets.
    for offset in (1..VALID.len()).step_by(7) {
        for (name, byte) in [("0xff", 0xff), ("0xc0", 0xc0), ("NUL", 0)] {
            let mut body = VALID.as_bytes().to_vec();
            body.insert(offset, byte);
            bodies.push((format!("{name} at {offset}"), body, Some("M_NOT_JSON")));
        }
    }
    for (name, body, code) in [
        ("nothing", String::new(), "M_NOT_JSON"),
        ("spaces", "   ".to_owned(), "M_NOT_JSON"),
        ("a byte order mark", format!("\u{feff}{VALID}"), "M_NOT_JSON"),
        ("two bodies", format!("{VALID}{VALID}"), "M_NOT_JSON"),
        ("a comment", format!("{VALID} // x"), "M_NOT_JSON"),
        ("single quotes", VALID.replace('"', "'"), "M_NOT_JSON"),
        (
            "a trailing comma",
            VALID.replace("\"pattern\":\"x\"", "\"pattern\":\"x\","),
            "M_NOT_JSON",
        ),
        ("NaN", VALID.replace("-2.5e3", "NaN"), "M_NOT_JSON"),
        ("a leading zero", VALID.replace("-2.5e3", "012"), "M_NOT_JSON"),
        ("a form", "actions=notify&pattern=x".to_owned(), "M_NOT_JSON"),
        ("HTML", "<html></html>".to_owned(), "M_NOT_JSON"),
        ("a number out of range", VALID.replace("-2.5e3", "1e999"), "M_BAD_JSON"),
        ("a lone surrogate", VALID.replace("\\u00e9", "\\ud800"), "M_BAD_JSON"),
        ("two lone surrogates", VALID.replace("\\u00e9", "\\udc00\\ud800"), "M_BAD_JSON"),
        ("actions twice", VALID.replace("\"pattern\"", "\"actions\""), "M_BAD_JSON"),
        ("an escaped key twice", VALID.replace("\"pattern\"", "\"\\u0061ctions\""), "M_BAD_JSON"),
        ("a deep key twice", VALID.replace("\"key\"", "\"kind\""), "M_BAD_JSON"),
        ("an extra key twice", VALID.replace("[1,", "[{\"a\":1,\"a\":1},"), "M_BAD_JSON"),
        ("101 levels", deep(101), "M_BAD_JSON"),
        ("100,000 levels of arrays", deep(100_000).replace('}', ""), "M_BAD_JSON"),
    ] {
        bodies.push((name.to_owned(), body.into_bytes(), Some(code)));
    }
    for open in ["[", "{\"a\":", "[{\"actions\":"] {
        let body = open.repeat(10_000).into_bytes();
        bodies.push((format!("unclosed {open}"), body, None));
    }
    // Values of the wrong type in every field.
    let valid: Value = serde_json::from_str(VALID).unwrap();
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
        for wrong in [json!(null), json!(1), json!([[]]), json!({ "x": 1 })] {
            let mut body = valid.clone();
            *body.pointer_mut(pointer).unwrap() = wrong.clone();
            bodies.push((format!("{wrong} at {pointer:?}"), body.to_string().into_bytes(), None));
        }
    }
    bodies
}

/// Returns a rule whose JSON has this many levels.
fn deep(levels: usize) -> String {
    // The object itself is one level.
    let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
    format!("{{\"actions\":[],\"pattern\":\"x\",\"deep\":{open}{close}}}")
}

#[tokio::test]
async fn every_malformed_body_is_rejected_and_changes_nothing() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let valid: Value = serde_json::from_str(VALID).unwrap();
    alice.put_ok("global/content/there", &valid).await;
    let before = alice.get(&pushrules("")).await.text;
    for (name, body, code) in bodies() {
        let too_large = body.len() > 64 * 1024;
        for path in ["global/content/new", "global/content/there", "device/phone/content/new"] {
            let response = alice.send(&format!("PUT {}", pushrules(path)), body.clone()).await;
            let (status, actual) = response.status_and_errcode();
            if too_large {
                assert_eq!((status, actual.as_str()), (413, "M_TOO_LARGE"), "{name}");
                continue;
            }
            assert_eq!(status, 400, "{name}: {response:?}");
            assert!(CODES.contains(&actual.as_str()), "{name}: {actual}");
            assert!(code.is_none_or(|code| code == actual), "{name}: {actual}");
        }
        for path in ["global/content/there/actions", "global/content/there/enabled"] {
            let response = alice.send(&format!("PUT {}", pushrules(path)), body.clone()).await;
            // The error may be in a field that this endpoint ignores.
            if response.status == 200 {
                assert!(path.ends_with("actions") && code.is_none(), "{name} {path}");
                alice.put_ok(path, &json!({ "actions": valid["actions"] })).await;
                continue;
            }
            let (status, actual) = response.status_and_errcode();
            assert!(matches!(status, 400 | 413), "{name}: {response:?}");
            assert!(too_large || CODES.contains(&actual.as_str()), "{name}: {actual}");
        }
    }
    assert_eq!(alice.get(&pushrules("")).await.text, before);
}

/// The maximum body size is raised, because it would reject these bodies first.
#[tokio::test]
async fn depth_and_stored_size_are_limited_independently_of_the_body_size() {
    let config = crate::support::service::config_with(|config| {
        config.rules.max_body_bytes = 10 << 20;
    });
    let service = crate::support::Service::start_with(config).await;
    let alice = service.user_client("alice").await;
    for (name, body, codes) in [
        ("100,000 levels", deep(100_000), (400, "M_BAD_JSON")),
        ("100,000 levels, not closed", "[".repeat(100_000), (400, "M_BAD_JSON")),
        ("100,000 objects", "{\"a\":".repeat(100_000), (400, "M_BAD_JSON")),
        (
            "5 MB",
            format!("{{\"actions\":[],\"x\":\"{}\"}}", "x".repeat(5 << 20)),
            (413, "M_TOO_LARGE"),
        ),
    ] {
        let response = alice.send(&format!("PUT {}", pushrules("global/room/a")), body).await;
        let (status, code) = response.status_and_errcode();
        assert_eq!((status, code.as_str()), codes, "{name}");
    }
    assert_eq!(alice.get(&pushrules("global/room/a")).await.status, 404);
}

#[tokio::test]
async fn a_body_of_five_megabytes_is_too_large() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    let response =
        alice.send(&format!("PUT {}", pushrules("global/room/a")), vec![b'x'; 5 << 20]).await;
    assert_eq!(response.status_and_errcode(), (413, "M_TOO_LARGE".into()));
}

#[tokio::test]
async fn unusual_but_valid_json_is_accepted() {
    let service = service().await;
    let alice = service.user_client("alice").await;
    for (name, body, extra) in [
        ("100 levels", deep(100), None),
        ("a pair of surrogates", r#"{"actions":[],"x":"\ud83d\udd14"}"#.into(), Some(json!("🔔"))),
        ("an escaped NUL", r#"{"actions":[],"x":"\u0000"}"#.into(), Some(json!("\0"))),
        ("minus zero", r#"{"actions":[],"x":-0.0}"#.into(), Some(json!(-0.0))),
        ("2^63", r#"{"actions":[],"x":9223372036854775808}"#.into(), Some(json!(1_u64 << 63))),
        ("spaces", " \r\n\t{ \"actions\" : [ ] } \n".into(), None),
        ("an empty key", r#"{"actions":[],"":1,"x":2}"#.into(), Some(json!(2))),
    ] {
        let response = alice.send(&format!("PUT {}", pushrules("global/room/a")), body).await;
        assert_eq!(response.status, 200, "{name}: {response:?}");
        if let Some(extra) = extra {
            assert_eq!(alice.get_rules("global/room/a").await["x"], extra, "{name}");
        }
    }
}
