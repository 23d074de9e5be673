//! Tests of requests about pushers.

use proptest::prelude::*;

use super::*;
use crate::push::keys::tests::example_keys;

const GATEWAY_URL: &str = "https://push.example/_matrix/push/v1/notify";

fn parse(body: &Value) -> Result<PusherRequest, PusherError> {
    PusherRequest::parse(body.to_string().as_bytes(), &PushAddressPolicy::default())
}

fn parse_new(body: &Value) -> NewPusher {
    match parse(body) {
        Ok(PusherRequest::Set(new_pusher)) => *new_pusher,
        Ok(PusherRequest::Delete { .. }) => panic!("not a new pusher: {body}"),
        Err(error) => panic!("{error}: {body}"),
    }
}

/// Returns the body that matrix-js-sdk sends to set a pusher.
fn gateway_request() -> Value {
    json!({
        "app_id": "com.example.app.ios",
        "pushkey": "APA91b/+=",
        "kind": "http",
        "app_display_name": "Mat Rix",
        "device_display_name": "iPhone 9",
        "profile_tag": "xxyyzz",
        "lang": "en",
        "data": {"url": GATEWAY_URL, "format": "event_id_only", "brand": "Mat"},
    })
}

fn web_push_request() -> Value {
    let keys = example_keys();
    json!({
        "app_id": "im.vector.app.android",
        "pushkey": keys.public_key_text(),
        "kind": "org.matrix.msc4174.webpush",
        "app_display_name": "Mat Rix",
        "device_display_name": "Pixel",
        "lang": "en",
        "data": {"url": "https://push.example/wpush/v2/abc", "auth": keys.auth_text()},
    })
}

#[test]
fn a_pusher_for_a_gateway_is_parsed() {
    let request = parse_new(&gateway_request());
    let expected = Pusher {
        kind: PusherKind::Http,
        app_id: "com.example.app.ios".to_owned(),
        pushkey: "APA91b/+=".to_owned(),
        app_display_name: "Mat Rix".to_owned(),
        device_display_name: "iPhone 9".to_owned(),
        profile_tag: Some("xxyyzz".to_owned()),
        lang: "en".to_owned(),
        data: gateway_request()["data"].as_object().unwrap().clone(),
        enabled: true,
        append: false,
    };
    assert_eq!(request.pusher, expected);
    assert_eq!(request.endpoint.url().as_str(), GATEWAY_URL);
    assert!(request.keys.is_none() && !request.pusher.append);
}

#[test]
fn a_pusher_for_web_push_is_parsed_without_its_secret() {
    for kind in ["webpush", "org.matrix.msc4174.webpush"] {
        let mut body = web_push_request();
        body["kind"] = kind.into();
        body["append"] = true.into();
        let request = parse_new(&body);
        assert!(request.keys == Some(example_keys()) && request.pusher.append);
        assert_eq!(request.pusher.protocol(), Protocol::WebPush);
        let data = json!({"url": "https://push.example/wpush/v2/abc"});
        assert_eq!(Value::Object(request.pusher.data.clone()), data);
        assert_eq!(request.pusher.to_json(true)["kind"], kind);
    }
}

#[test]
fn an_unknown_format_is_preserved_and_means_the_default() {
    for (format, wants_event_id_only) in [("event_id_only", true), ("full", false)] {
        let mut body = gateway_request();
        body["data"]["format"] = format.into();
        let pusher = parse_new(&body).pusher;
        assert_eq!(pusher.wants_event_id_only(), wants_event_id_only, "{format}");
        assert_eq!(pusher.to_json(true)["data"], body["data"]);
    }
}

/// `auth` is meant for the gateway, so this server does not treat it as a secret.
#[test]
fn the_auth_of_a_gateway_pusher_stays_in_its_data() {
    let mut body = gateway_request();
    body["data"]["auth"] = "abc".into();
    assert_eq!(parse_new(&body).pusher.data["auth"], "abc");
}

#[test]
fn a_null_kind_deletes_the_pusher() {
    for body in [
        json!({"app_id": "a", "pushkey": "k", "kind": null}),
        json!({"app_id": "a", "pushkey": "k", "kind": null, "data": {}, "lang": "", "append": 1}),
    ] {
        let Ok(PusherRequest::Delete { app_id, pushkey }) = parse(&body) else { panic!("{body}") };
        assert_eq!((&*app_id, &*pushkey), ("a", "k"));
    }
}

#[test]
fn optional_fields_may_be_null_or_empty() {
    let mut body = gateway_request();
    for name in ["profile_tag", "append", "enabled", UNSTABLE_ENABLED] {
        body[name] = Value::Null;
    }
    for profile_tag in [Value::Null, "".into()] {
        body["profile_tag"] = profile_tag;
        let request = parse_new(&body);
        assert_eq!(request.pusher.profile_tag, None);
        assert!(request.pusher.enabled && !request.pusher.append);
    }
}

#[test]
fn a_pusher_can_be_disabled() {
    for (fields, enabled) in [
        (json!({}), true),
        (json!({"enabled": false}), false),
        (json!({UNSTABLE_ENABLED: false}), false),
        (json!({UNSTABLE_ENABLED: true, "enabled": false}), true),
    ] {
        let mut body = gateway_request();
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(parse_new(&body).pusher.enabled, enabled, "{fields}");
    }
}

#[test]
fn a_missing_field_is_named_in_the_error() {
    for (body, name) in [
        (gateway_request(), "app_id"),
        (gateway_request(), "pushkey"),
        (gateway_request(), "kind"),
        (gateway_request(), "app_display_name"),
        (gateway_request(), "device_display_name"),
        (gateway_request(), "lang"),
        (gateway_request(), "data"),
        (gateway_request(), "data.url"),
        (web_push_request(), "data.url"),
        (web_push_request(), "data.auth"),
    ] {
        let mut body = body;
        let object = match name.strip_prefix("data.") {
            Some(_) => &mut body["data"],
            None => &mut body,
        };
        object.as_object_mut().unwrap().remove(name.trim_start_matches("data."));
        let error = parse(&body).err().unwrap();
        assert_eq!(error.to_string(), format!("{name} is missing"));
        assert_eq!(error.code(), MatrixErrorCode::MissingParam);
    }
}

#[test]
fn invalid_fields_are_rejected_with_the_reason() {
    use MatrixErrorCode::{BadJson, InvalidParam};
    let kind_message = "kind must be http, webpush or org.matrix.msc4174.webpush, or null to \
        delete the pusher; other kinds, such as email, are not supported";
    let id_message = |field, max_bytes: usize| {
        format!("{field} must have 1 to {max_bytes} bytes, and no NUL character")
    };
    let path_message = "the path of data.url must be /_matrix/push/v1/notify";
    for (name, value, code, message) in [
        ("kind", json!("email"), InvalidParam, kind_message),
        ("kind", json!("HTTP"), InvalidParam, kind_message),
        ("kind", json!(1), InvalidParam, kind_message),
        ("app_id", json!(1), BadJson, "app_id must be a string"),
        ("app_id", json!(""), InvalidParam, &id_message("app_id", 64)),
        ("app_id", json!("a".repeat(65)), InvalidParam, &id_message("app_id", 64)),
        ("app_id", json!("a\0"), InvalidParam, &id_message("app_id", 64)),
        ("pushkey", json!(""), InvalidParam, &id_message("pushkey", 512)),
        ("pushkey", json!("é".repeat(257)), InvalidParam, &id_message("pushkey", 512)),
        ("lang", json!("a".repeat(256)), InvalidParam, "lang may have at most 255 bytes"),
        (
            "app_display_name",
            json!("a".repeat(256)),
            InvalidParam,
            "app_display_name may have at most 255 bytes",
        ),
        (
            "device_display_name",
            json!("a".repeat(256)),
            InvalidParam,
            "device_display_name may have at most 255 bytes",
        ),
        (
            "profile_tag",
            json!("a/b"),
            InvalidParam,
            "profile_tag: a rule id or profile tag must not contain '/'",
        ),
        ("append", json!("yes"), BadJson, "append must be a boolean"),
        ("enabled", json!(1), BadJson, "enabled must be a boolean"),
        ("data", json!([]), BadJson, "data must be a JSON object"),
        (
            "data",
            json!({"url": "http://push.example/_matrix/push/v1/notify"}),
            InvalidParam,
            "data.url: the URL must begin with https://",
        ),
        (
            "data",
            json!({"url": "https://127.0.0.1/_matrix/push/v1/notify"}),
            InvalidParam,
            "data.url: the URL must not contain an address of a private or reserved network",
        ),
        ("data", json!({"url": "https://push.example/"}), InvalidParam, path_message),
        ("data", json!({"url": format!("{GATEWAY_URL}/")}), InvalidParam, path_message),
        ("data", json!({"url": GATEWAY_URL, "format": 1}), BadJson, "data.format must be a string"),
        (
            "data",
            json!({"url": GATEWAY_URL, "x": "a".repeat(8192)}),
            InvalidParam,
            "data may have at most 8192 bytes",
        ),
    ] {
        let mut body = gateway_request();
        body[name] = value;
        let error = parse(&body).err().unwrap();
        assert_eq!((error.to_string().as_str(), error.code()), (message, code), "{body}");
    }
    let error = PusherRequest::parse(b"cake", &PushAddressPolicy::default()).err().unwrap();
    assert_eq!(error.code(), MatrixErrorCode::NotJson);
}

#[test]
fn keys_of_web_push_are_validated() {
    for (pushkey, auth, message) in [
        (
            "abc",
            example_keys().auth_text(),
            "pushkey must be the base64url of an uncompressed P-256 public key (65 bytes)",
        ),
        (
            &example_keys().public_key_text(),
            "abc".to_owned(),
            "data.auth must be the base64url of 16 bytes",
        ),
    ] {
        let mut body = web_push_request();
        body["pushkey"] = pushkey.into();
        body["data"]["auth"] = auth.into();
        let error = parse(&body).err().unwrap();
        assert_eq!(
            (error.to_string().as_str(), error.code()),
            (message, MatrixErrorCode::InvalidParam)
        );
    }
}

#[test]
fn ids_and_data_have_a_maximum_size() {
    let mut body = gateway_request();
    body["app_id"] = "a".repeat(64).into();
    body["pushkey"] = "é".repeat(256).into();
    let length_without_x = json!({"url": GATEWAY_URL, "x": ""}).to_string().len();
    body["data"] = json!({"url": GATEWAY_URL, "x": "a".repeat(8192 - length_without_x)});
    assert!(parse(&body).is_ok());
}

#[test]
fn a_pusher_is_listed_as_it_was_set() {
    let mut expected = gateway_request();
    expected[UNSTABLE_ENABLED] = true.into();
    let pusher = parse_new(&gateway_request()).pusher;
    assert_eq!(pusher.to_json(true), expected);

    let mut expected = web_push_request();
    expected["data"].as_object_mut().unwrap().remove("auth");
    expected[UNSTABLE_ENABLED] = true.into();
    let pusher = parse_new(&web_push_request()).pusher;
    for is_activated in [true, false] {
        expected["activated"] = is_activated.into();
        assert_eq!(pusher.to_json(is_activated), expected);
    }
}

#[test]
fn an_activation_request_contains_the_app_and_the_secret() {
    let request = ActivationRequest::parse(br#"{"app_id":"a","ack_token":"t"}"#).unwrap();
    assert_eq!((&*request.app_id, request.ack_token.reveal()), ("a", "t"));
    for (body, message) in [
        ("{}", "app_id is missing"),
        (r#"{"app_id":"a"}"#, "ack_token is missing"),
        (r#"{"app_id":"a","ack_token":1}"#, "ack_token must be a string"),
    ] {
        assert_eq!(ActivationRequest::parse(body.as_bytes()).unwrap_err().to_string(), message);
    }
}

#[test]
fn an_activation_request_selects_the_pusher_that_waits_for_its_secret() {
    use ActivationError::{ExpiredToken, NoPusher, UnknownToken};
    let request = ActivationRequest { app_id: "a".to_owned(), ack_token: Secret::new("t") };
    let now = Timestamp::from_second(100).unwrap();
    let pusher = |app_id: &str| Pusher {
        app_id: app_id.to_owned(),
        ..parse_new(&web_push_request()).pusher
    };
    let other_pusher = pusher("b");
    let pusher = pusher("a");
    let ack = |token: &str, second| {
        let expires_at = Timestamp::from_second(second).unwrap();
        Some(PendingAck { digest: Sha256Digest::compute(token), expires_at })
    };
    let find = |pushers: &[_]| request.find_pusher(pushers.iter().copied(), now);
    assert_eq!(find(&[]), Err(NoPusher));
    assert_eq!(find(&[(1, &other_pusher, ack("t", 101))]), Err(NoPusher));
    let others = [(2, &pusher, None), (3, &pusher, ack("other", 101))];
    assert_eq!(find(&others), Err(UnknownToken));
    let [first, second] = others;
    assert_eq!(find(&[first, second, (4, &pusher, ack("t", 100))]), Err(ExpiredToken));
    assert_eq!(find(&[first, second, (4, &pusher, ack("t", 101))]), Ok((4, &pusher)));
}

proptest! {
    #[test]
    fn parsing_never_panics(
        name in prop::sample::select(vec!["app_id", "pushkey", "kind", "data", "profile_tag"]),
        value in crate::json::tests::any_json(),
        bytes in any::<Vec<u8>>(),
    ) {
        for mut body in [gateway_request(), web_push_request()] {
            body[name] = value.clone();
            let _ = parse(&body);
        }
        let _ = PusherRequest::parse(&bytes, &PushAddressPolicy::default());
    }
}
