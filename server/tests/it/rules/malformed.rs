//! Generated bodies that are no rule: each gets a documented 4xx, and nothing changes.

use serde_json::{Value, json};

use super::{at, service};

const GOOD: &str = r#"{"actions":["notify",{"set_tweak":"sound","value":"default"}],"conditions":[{"kind":"event_match","key":"content.body","pattern":"торт*"},{"kind":"room_member_count","is":">2"}],"pattern":"x","extra":[1,-2.5e3,true,null,"\u00e9"]}"#;

/// What a body may be refused with.
const CODES: [&str; 4] = ["M_NOT_JSON", "M_BAD_JSON", "M_MISSING_PARAM", "M_INVALID_PARAM"];

/// Bodies that no endpoint takes, each with the code it must get, if there is but one.
fn bodies() -> Vec<(String, Vec<u8>, Option<&'static str>)> {
    let mut bodies: Vec<(String, Vec<u8>, Option<&'static str>)> = Vec::new();
    // Truncated at every byte.
    for end in 0..GOOD.len() {
        bodies.push((format!("cut at {end}"), GOOD.as_bytes()[..end].into(), Some("M_NOT_JSON")));
    }
    // Invalid UTF-8 at some places, NUL bytes, things behind the end, things before the beginning.
    for at in (1..GOOD.len()).step_by(7) {
        for (name, byte) in [("0xff", 0xff), ("0xc0", 0xc0), ("NUL", 0)] {
            let mut body = GOOD.as_bytes().to_vec();
            body.insert(at, byte);
            bodies.push((format!("{name} at {at}"), body, Some("M_NOT_JSON")));
        }
    }
    for (name, body, code) in [
        ("nothing", String::new(), "M_NOT_JSON"),
        ("spaces", "   ".to_owned(), "M_NOT_JSON"),
        ("a byte order mark", format!("\u{feff}{GOOD}"), "M_NOT_JSON"),
        ("two bodies", format!("{GOOD}{GOOD}"), "M_NOT_JSON"),
        ("a comment", format!("{GOOD} // x"), "M_NOT_JSON"),
        ("single quotes", GOOD.replace('"', "'"), "M_NOT_JSON"),
        ("a comma too many", GOOD.replace("\"pattern\":\"x\"", "\"pattern\":\"x\","), "M_NOT_JSON"),
        ("NaN", GOOD.replace("-2.5e3", "NaN"), "M_NOT_JSON"),
        ("a leading zero", GOOD.replace("-2.5e3", "012"), "M_NOT_JSON"),
        ("a form", "actions=notify&pattern=x".to_owned(), "M_NOT_JSON"),
        ("HTML", "<html></html>".to_owned(), "M_NOT_JSON"),
        ("a number beyond the range", GOOD.replace("-2.5e3", "1e999"), "M_BAD_JSON"),
        ("a lone surrogate", GOOD.replace("\\u00e9", "\\ud800"), "M_BAD_JSON"),
        ("two lone surrogates", GOOD.replace("\\u00e9", "\\udc00\\ud800"), "M_BAD_JSON"),
        ("actions twice", GOOD.replace("\"pattern\"", "\"actions\""), "M_BAD_JSON"),
        ("an escaped key twice", GOOD.replace("\"pattern\"", "\"\\u0061ctions\""), "M_BAD_JSON"),
        ("a deep key twice", GOOD.replace("\"key\"", "\"kind\""), "M_BAD_JSON"),
        ("an extra key twice", GOOD.replace("[1,", "[{\"a\":1,\"a\":1},"), "M_BAD_JSON"),
        ("101 levels", deep(101), "M_BAD_JSON"),
        ("100,000 levels of arrays", deep(100_000).replace('}', ""), "M_BAD_JSON"),
    ] {
        bodies.push((name.to_owned(), body.into_bytes(), Some(code)));
    }
    for open in ["[", "{\"a\":", "[{\"actions\":"] {
        let body = open.repeat(10_000).into_bytes();
        bodies.push((format!("{open} without end"), body, None));
    }
    // Every value of the wrong type, in every place.
    let good: Value = serde_json::from_str(GOOD).unwrap();
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
            let mut body = good.clone();
            *body.pointer_mut(pointer).unwrap() = wrong.clone();
            bodies.push((format!("{wrong} at {pointer:?}"), body.to_string().into_bytes(), None));
        }
    }
    bodies
}

fn deep(levels: usize) -> String {
    // The object itself is a level.
    let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
    format!("{{\"actions\":[],\"pattern\":\"x\",\"deep\":{open}{close}}}")
}

#[tokio::test]
async fn every_malformed_body_is_refused_and_nothing_changes() {
    let service = service().await;
    let alice = service.person("alice").await;
    let good: Value = serde_json::from_str(GOOD).unwrap();
    alice.puts("global/content/there", &good).await;
    let before = alice.get(&at("")).await.text;
    for (name, body, code) in bodies() {
        let too_large = body.len() > 64 * 1024;
        for path in ["global/content/new", "global/content/there", "device/phone/content/new"] {
            let answer = alice.call(&format!("PUT {}", at(path)), body.clone()).await;
            let (status, found) = answer.errcode();
            if too_large {
                assert_eq!((status, found.as_str()), (413, "M_TOO_LARGE"), "{name}");
                continue;
            }
            assert_eq!(status, 400, "{name}: {answer:?}");
            assert!(CODES.contains(&found.as_str()), "{name}: {found}");
            assert!(code.is_none_or(|code| code == found), "{name}: {found}");
        }
        for path in ["global/content/there/actions", "global/content/there/enabled"] {
            let answer = alice.call(&format!("PUT {}", at(path)), body.clone()).await;
            // What is wrong may stand in a place that this endpoint does not look at.
            if answer.status == 200 {
                assert!(path.ends_with("actions") && code.is_none(), "{name} {path}");
                alice.puts(path, &json!({ "actions": good["actions"] })).await;
                continue;
            }
            let (status, found) = answer.errcode();
            assert!(matches!(status, 400 | 413), "{name}: {answer:?}");
            assert!(too_large || CODES.contains(&found.as_str()), "{name}: {found}");
        }
    }
    assert_eq!(alice.get(&at("")).await.text, before);
}

/// Attacks 140 and 143, where the bound on bytes would be too kind a helper.
#[tokio::test]
async fn depth_and_size_are_refused_by_themselves() {
    let config = crate::support::service::config(|config| {
        config.rules.max_body_bytes = 10 << 20;
    });
    let service = crate::support::Service::with(config).await;
    let alice = service.person("alice").await;
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
        let answer = alice.call(&format!("PUT {}", at("global/room/a")), body).await;
        let (status, code) = answer.errcode();
        assert_eq!((status, code.as_str()), codes, "{name}");
    }
    assert_eq!(alice.get(&at("global/room/a")).await.status, 404);
}

#[tokio::test]
async fn five_megabytes_are_too_large() {
    let service = service().await;
    let alice = service.person("alice").await;
    let answer = alice.call(&format!("PUT {}", at("global/room/a")), vec![b'x'; 5 << 20]).await;
    assert_eq!(answer.errcode(), (413, "M_TOO_LARGE".into()));
}

/// What looks strange and is good.
#[tokio::test]
async fn strange_json_is_read_as_json() {
    let service = service().await;
    let alice = service.person("alice").await;
    for (name, body, extra) in [
        ("100 levels", deep(100), None),
        ("a pair of surrogates", r#"{"actions":[],"x":"\ud83d\udd14"}"#.into(), Some(json!("🔔"))),
        ("an escaped NUL", r#"{"actions":[],"x":"\u0000"}"#.into(), Some(json!("\0"))),
        ("minus zero", r#"{"actions":[],"x":-0.0}"#.into(), Some(json!(-0.0))),
        ("2^63", r#"{"actions":[],"x":9223372036854775808}"#.into(), Some(json!(1_u64 << 63))),
        ("spaces", " \r\n\t{ \"actions\" : [ ] } \n".into(), None),
        ("an empty key", r#"{"actions":[],"":1,"x":2}"#.into(), Some(json!(2))),
    ] {
        let answer = alice.call(&format!("PUT {}", at("global/room/a")), body).await;
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        if let Some(extra) = extra {
            assert_eq!(alice.shown("global/room/a").await["x"], extra, "{name}");
        }
    }
}
