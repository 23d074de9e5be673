use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::percent::encode;

pub(crate) fn to_pairs(pairs: &[(&str, &str)]) -> Pairs {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn a_form_is_parsed_to_ordered_pairs() {
    for (form, expected) in [
        ("", &[][..]),
        ("&&", &[]),
        ("a=1&b=2", &[("a", "1"), ("b", "2")]),
        ("b=2&a=1&b=3", &[("b", "2"), ("a", "1"), ("b", "3")]),
        ("a", &[("a", "")]),
        ("a=", &[("a", "")]),
        ("=1", &[("", "1")]),
        ("a=b=c", &[("a", "b=c")]),
        ("scope=read+write%20push", &[("scope", "read write push")]),
        ("%61%5B%5D=%C3%A9", &[("a[]", "é")]),
        ("a=é", &[("a", "é")]),
    ] {
        assert_eq!(parse(form.as_bytes()), Ok(to_pairs(expected)), "{form}");
    }
}

#[test]
fn a_malformed_form_is_rejected() {
    for (form, error) in [
        (&b"a=%"[..], FormError::InvalidEscape),
        (b"a=%4", FormError::InvalidEscape),
        (b"a=%zz", FormError::InvalidEscape),
        (b"%=a", FormError::InvalidEscape),
        (b"a=%4&b=41", FormError::InvalidEscape),
        (b"a=\xff", FormError::NotUtf8),
        (b"a=%ff", FormError::NotUtf8),
        (b"a=%c0%80", FormError::NotUtf8),
        (b"a=%00", FormError::Nul),
        (b"a\0=b", FormError::Nul),
    ] {
        assert_eq!(parse(form), Err(error), "{form:?}");
    }
}

#[test]
fn json_is_converted_to_pairs() {
    for (json, expected) in [
        (json!({}), Ok(&[][..])),
        (
            json!({"a": "x", "b": true, "c": 1, "d": null}),
            Ok(&[("a", "x"), ("b", "true"), ("c", "1")]),
        ),
        (json!({"a": ["x", null], "b": []}), Ok(&[("a[]", "x"), ("a[]", ""), ("b[]", "")])),
        (json!({"a": "x\0"}), Err(FormError::Nul)),
        (json!({"a": {"b": 1}}), Err(FormError::Nested)),
        (json!({"a": [["b"]]}), Err(FormError::Nested)),
        (json!([]), Err(FormError::NotAnObject)),
        (json!("a=b"), Err(FormError::NotAnObject)),
    ] {
        assert_eq!(from_json(json.clone()), expected.map(to_pairs), "{json}");
    }
}

#[test]
fn a_list_is_recognised_by_its_name() {
    for (name, expected) in
        [("text[]", true), ("text[a]", true), ("text", false), ("texts[]", false), ("a[]", false)]
    {
        assert_eq!(is_list(&to_pairs(&[(name, "x")]), "text"), expected, "{name}");
    }
}

proptest! {
    #[test]
    fn encoded_pairs_are_parsed_back_unchanged(
        pairs in prop::collection::vec(("[^\0]{1,5}", "[^\0]{0,5}"), 0..5),
    ) {
        let form: Vec<String> =
            pairs.iter().map(|(name, value)| encode(name) + "=" + &encode(value)).collect();
        prop_assert_eq!(parse(form.join("&").as_bytes()), Ok(pairs));
    }

    #[test]
    fn parsing_never_panics(form in any::<Vec<u8>>()) {
        let _ = parse(&form);
    }
}
