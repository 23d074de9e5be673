//! Tests of the strict JSON parser.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const TOO_DEEP: JsonError = JsonError::TooDeep { max_depth: MAX_DEPTH };

fn nested_arrays(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

#[test]
fn valid_json_is_parsed() {
    for (text, value) in [
        ("null", json!(null)),
        (" true\n", json!(true)),
        ("-1", json!(-1)),
        ("18446744073709551615", json!(u64::MAX)),
        ("0.5", json!(0.5)),
        (r#""\u0000 \ud83d\udd14 \/""#, json!("\0 🔔 /")),
        (r#"{"a":[{},[]],"":{"a":1}}"#, json!({"a": [{}, []], "": {"a": 1}})),
    ] {
        assert_eq!(parse(text.as_bytes()), Ok(value), "{text}");
    }
}

#[test]
fn invalid_syntax_is_reported_as_a_syntax_error() {
    let invalid_inputs: [&[u8]; 22] = [
        b"",
        b" ",
        b"{",
        b"[1",
        b"\"a",
        b"{\"a\":1,}",
        b"[1,]",
        b"{'a':1}",
        b"{a:1}",
        b"nul",
        b"NaN",
        b"Infinity",
        b"01",
        b"1 2",
        b"{} {}",
        b"true\0",
        b"\xef\xbb\xbftrue",
        b"\"\xff\"",
        b"\"\xc0\xaf\"",
        b"\"\xed\xa0\x80\"",
        b"{\0\"\0a\0",
        b"\"a\nb\"",
    ];
    for bytes in invalid_inputs {
        let error = parse(bytes).unwrap_err();
        assert!(error.is_syntax_error(), "{:?}: {error}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn duplicate_keys_are_rejected() {
    for text in [
        r#"{"a":1,"a":1}"#,
        r#"[{"b":{"a":1,"c":2,"a":3}}]"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"":1,"":2}"#,
    ] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(matches!(error, JsonError::DuplicateKey { line: 1, .. }), "{text}: {error:?}");
        assert!(!error.is_syntax_error());
    }
}

/// Keys are compared and not hashed, so no choice of keys makes parsing slow.
#[test]
fn object_members_are_sorted_by_key() {
    let object = parse(br#"{"b":1,"":2,"aa":3,"a":4,"B":5}"#).unwrap();
    let keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["", "B", "a", "aa", "b"]);
}

#[test]
fn lone_surrogates_and_numbers_out_of_range_are_rejected() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ud800\ud800""#,
        r#""\udc00\ud800""#,
        r#"{"\ud800":1}"#,
        "1e999",
        "[-1e999]",
    ] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(matches!(error, JsonError::Unrepresentable(_)), "{text}: {error:?}");
        assert!(!error.is_syntax_error());
    }
}

#[test]
fn invalid_syntax_with_an_escape_is_a_syntax_error() {
    for text in [r#""\ud8""#, r#""\ud800"#, r#""\x""#, r#""\ud800" x"#] {
        assert!(parse(text.as_bytes()).unwrap_err().is_syntax_error(), "{text}");
    }
}

#[test]
fn nesting_is_limited() {
    assert!(parse(nested_arrays(MAX_DEPTH).as_bytes()).is_ok());
    assert_eq!(parse(nested_arrays(MAX_DEPTH + 1).as_bytes()), Err(TOO_DEEP));
    for text in [
        nested_arrays(100_000),
        "[".repeat(100_000),
        r#"{"a":"#.repeat(100_000),
        "[{\"a\":".repeat(64),
    ] {
        assert_eq!(parse(text.as_bytes()), Err(TOO_DEEP));
    }
    let max_depth = MAX_DEPTH_WITH_PUSH_RULES;
    assert!(parse_with_push_rules(nested_arrays(max_depth).as_bytes()).is_ok());
    let error = JsonError::TooDeep { max_depth };
    assert_eq!(parse_with_push_rules(nested_arrays(max_depth + 1).as_bytes()), Err(error));
}

/// Any JSON value, up to six levels deep.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |x| Number::from_f64(x).map(Value::Number)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn serialized_values_are_parsed_back(value in any_json()) {
        prop_assert_eq!(parse(&to_bytes(&value)), Ok(value));
    }

    #[test]
    fn parsing_does_not_panic(bytes in any::<Vec<u8>>()) {
        let _ = parse(&bytes);
    }

    #[test]
    fn accepted_text_is_parsed_equally_by_serde_json(text in r#"[\[\]{},:"a\\u0d8e1\-. ]{0,24}"#) {
        if let Ok(value) = parse(text.as_bytes()) {
            prop_assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
        }
    }
}

fn read_list(bytes: &[u8]) -> (Vec<Value>, Result<Value, JsonError>) {
    let mut items = Vec::new();
    let object = parse_streamed(bytes, "list", |index, item| {
        assert_eq!(index, items.len());
        items.push(item);
        Ok(())
    });
    (items, object)
}

#[test]
fn streamed_array_items_are_passed_to_the_callback() {
    let (items, object) = read_list(br#"{"a":[1],"list":[1,{"list":[2]},[3]],"b":{"list":[4]}}"#);
    assert_eq!(items, [json!(1), json!({"list": [2]}), json!([3])]);
    assert_eq!(object, Ok(json!({"a": [1], "list": [], "b": {"list": [4]}})));
    for (text, value) in
        [("[1]", json!([1])), (r#"{"list":{"a":[1]}}"#, json!({"list": {"a": [1]}}))]
    {
        assert_eq!(read_list(text.as_bytes()), (Vec::new(), Ok(value)), "{text}");
    }
}

#[test]
fn a_streamed_array_is_parsed_strictly() {
    for (bytes, is_syntax_error) in [
        (&br#"{"list":[1],"list":[2]}"#[..], false),
        (br#"{"list":[{"a":1,"a":2}]}"#, false),
        (br#"{"list":[1"#, true),
        (br#"{"list":[1]}x"#, true),
    ] {
        assert_eq!(read_list(bytes).1.unwrap_err().is_syntax_error(), is_syntax_error, "{bytes:?}");
        assert_eq!(read_list(bytes).1.err(), parse(bytes).err(), "{bytes:?}");
    }
    let deep_list = format!(r#"{{"list":[{}{}]}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(read_list(deep_list.as_bytes()).1, Err(TOO_DEEP));
}

#[test]
fn an_error_from_the_callback_is_returned() {
    let result = parse_streamed(br#"{"list":[1,2,3]}"#, "list", |index, _| {
        if index == 1 { Err(TOO_DEEP) } else { Ok(()) }
    });
    assert_eq!(result, Err(TOO_DEEP));
}
