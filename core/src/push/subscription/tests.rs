//! Tests of subscription requests.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::percent::encode;
use crate::push::keys::tests::example_keys;

const URL: &str = "https://push.example/v2/abc";

fn to_pairs(pairs: &[(&str, &str)]) -> Pairs {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn read(pairs: &Pairs) -> Result<SubscriptionRequest, SubscriptionError> {
    SubscriptionRequest::from_pairs(pairs, &PushAddressPolicy::default())
}

fn read_settings(pairs: &[(&str, &str)]) -> Result<SubscriptionSettings, SubscriptionError> {
    SubscriptionSettings::from_pairs(&to_pairs(pairs))
}

fn alerts(types: &[(&str, bool)]) -> BTreeMap<String, bool> {
    types.iter().map(|&(name, is_on)| (name.to_owned(), is_on)).collect()
}

/// Returns the fields that every request needs, with the keys as browsers encode them.
fn required_pairs() -> Pairs {
    let keys = example_keys();
    let public_key = keys.public_key_text();
    let auth = keys.auth_text();
    to_pairs(&[(ENDPOINT, URL), (PUBLIC_KEY, &public_key), (AUTH, &auth)])
}

#[test]
fn the_form_of_mastodon_py_is_read() {
    let keys = example_keys();
    let encode_key = |key: &[u8]| encode(&BASE64_STANDARD.encode(key));
    let body = format!(
        "subscription%5Bendpoint%5D={}&subscription%5Bkeys%5D%5Bp256dh%5D={}\
         &subscription%5Bkeys%5D%5Bauth%5D={}&policy=followed\
         &data%5Balerts%5D%5Bfollow%5D=0&data%5Balerts%5D%5Bmention%5D=1\
         &data%5Balerts%5D%5Badmin.sign_up%5D=1",
        encode(URL),
        encode_key(&keys.public_key),
        encode_key(&keys.auth),
    );
    assert!(body.contains("%3D%3D&"), "padding");
    let request = read(&form::parse(body.as_bytes()).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    assert!(request.keys == keys);
    assert_eq!(request.endpoint.url().as_str(), URL);
    assert!(!request.subscription.standard);
    let settings = SubscriptionSettings {
        alerts: alerts(&[("follow", false), ("mention", true), ("admin.sign_up", true)]),
        policy: Policy::Followed,
    };
    assert_eq!(request.subscription.settings, settings);
}

#[test]
fn the_json_of_a_browser_is_read() {
    let keys = example_keys();
    let json = json!({
        "subscription": {
            "endpoint": URL,
            "expirationTime": null,
            "keys": {"p256dh": keys.public_key_text(), "auth": keys.auth_text()},
            "standard": true,
        },
        "data": {
            "policy": "follower",
            "alerts": {"mention": true, "poll": false, "update": null, "unknown": true},
        },
    });
    let pairs = pairs_from_json(&json).unwrap();
    let request = read(&pairs).unwrap_or_else(|e| panic!("{e}"));
    let (document, secrets) = request.into_receiver(&Secret::new("token"));
    let settings = SubscriptionSettings {
        alerts: alerts(&[("mention", true), ("poll", false)]),
        policy: Policy::Follower,
    };
    let subscription = Subscription {
        endpoint: URL.to_owned(),
        p256dh: keys.public_key_text(),
        standard: true,
        settings,
    };
    assert_eq!(document, ReceiverDocument::Subscription(subscription));
    let expected_secrets =
        ReceiverSecrets { auth: Some(keys.auth_text()), access_token: Some("token".to_owned()) };
    assert_eq!(secrets, expected_secrets);
}

#[test]
fn json_is_converted_to_form_fields() {
    for (json, expected) in [
        (json!({}), Ok(&[][..])),
        (json!({"data": []}), Ok(&[])),
        (json!({"data": {"alerts": 1, "policy": null}}), Ok(&[])),
        (
            json!({"data": {"alerts": {"mention": true, "admin.report": 0}}}),
            Ok(&[("data[alerts][mention]", "true"), ("data[alerts][admin.report]", "0")]),
        ),
        (json!({"policy": "none"}), Ok(&[("policy", "none")])),
        (json!([]), Err(FormError::NotAnObject)),
        (json!({"policy": {}}), Err(FormError::Nested)),
        (json!({"data": {"alerts": {"poll": []}}}), Err(FormError::Nested)),
        (json!({"subscription": {"endpoint": "\0"}}), Err(FormError::Nul)),
    ] {
        assert_eq!(pairs_from_json(&json), expected.map(to_pairs), "{json}");
    }
}

#[test]
fn an_invalid_subscription_is_rejected_with_the_reason() {
    let key_message = "Validation failed: Key p256dh must be the base64url of an uncompressed P-256 \
        public key (65 bytes)";
    for (name, value, message) in [
        (ENDPOINT, "", "Validation failed: Endpoint can't be blank"),
        (
            ENDPOINT,
            "http://push.example/",
            "Validation failed: Endpoint is invalid: the URL must begin with https://",
        ),
        (
            ENDPOINT,
            "https://db/",
            "Validation failed: Endpoint is invalid: the host name must contain a dot",
        ),
        (
            ENDPOINT,
            "https://10.0.0.1/",
            "Validation failed: Endpoint is invalid: the URL must not contain an address of a \
             private or reserved network",
        ),
        (PUBLIC_KEY, "", "Validation failed: Key p256dh can't be blank"),
        (PUBLIC_KEY, "AAAA", key_message),
        (AUTH, "", "Validation failed: Key auth can't be blank"),
        (AUTH, "AAAA", "Validation failed: Key auth must be the base64url of 16 bytes"),
        (POLICY, "friends", "Validation failed: Policy must be all, followed, follower or none"),
    ] {
        let mut pairs = required_pairs();
        pairs.push((name.to_owned(), value.to_owned()));
        let error = read(&pairs).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(message), "{name}={value}");
    }
    assert_eq!(read(&Vec::new()).err(), Some(SubscriptionError::EndpointBlank));
}

#[test]
fn an_endpoint_in_an_allowed_network_is_accepted() {
    let addresses = PushAddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]);
    let mut pairs = required_pairs();
    pairs.push((ENDPOINT.to_owned(), "http://127.0.0.1:8080/push".to_owned()));
    assert!(SubscriptionRequest::from_pairs(&pairs, &addresses).is_ok());
}

#[test]
fn flags_are_parsed_as_in_mastodon() {
    for (value, is_on) in [
        ("1", true),
        ("true", true),
        ("on", true),
        ("yes", true),
        ("no", true),
        ("False", true),
        ("0", false),
        ("false", false),
        ("FALSE", false),
        ("f", false),
        ("F", false),
        ("off", false),
        ("OFF", false),
        ("", false),
    ] {
        let settings = read_settings(&[("data[alerts][poll]", value)]).unwrap();
        assert_eq!(settings.alerts, alerts(&[("poll", is_on)]), "{value}");
        let mut pairs = required_pairs();
        pairs.push((STANDARD.to_owned(), value.to_owned()));
        assert_eq!(read(&pairs).map(|request| request.subscription.standard), Ok(is_on), "{value}");
    }
}

#[test]
fn unknown_notification_types_are_ignored_and_the_last_value_counts() {
    let mut pairs = vec![
        ("data[alerts][dance]", "1"),
        ("data[alerts][mention", "1"),
        ("data[alerts]mention]", "1"),
        ("alerts[mention]", "1"),
        ("data[alerts][mention][]", "1"),
    ];
    assert_eq!(read_settings(&pairs), Ok(SubscriptionSettings::default()));
    pairs.extend([("data[alerts][quote]", "0"), ("data[alerts][quote]", "1")]);
    assert_eq!(read_settings(&pairs).unwrap().alerts, alerts(&[("quote", true)]));
    for name in NOTIFICATION_TYPES {
        let settings = read_settings(&[(&*format!("data[alerts][{name}]"), "1")]).unwrap();
        assert_eq!(settings.alerts, alerts(&[(name, true)]));
    }
}

#[test]
fn the_policy_in_data_takes_precedence_over_a_top_level_policy() {
    for (pairs, policy) in [
        (&[][..], Ok(Policy::All)),
        (&[("policy", "none")], Ok(Policy::None)),
        (&[("data[policy]", "followed")], Ok(Policy::Followed)),
        (&[("data[policy]", "follower"), ("policy", "none")], Ok(Policy::Follower)),
        (&[("data[policy]", "follower"), ("policy", "friends")], Ok(Policy::Follower)),
        (&[("data[policy]", ""), ("policy", "")], Ok(Policy::All)),
        (&[("policy", "friends")], Err(SubscriptionError::Policy)),
        (&[("data[policy]", "All")], Err(SubscriptionError::Policy)),
    ] {
        assert_eq!(read_settings(pairs).map(|settings| settings.policy), policy, "{pairs:?}");
    }
}

#[test]
fn a_notification_is_allowed_by_its_type_and_the_policy() {
    let unrelated_person = Relationship::default();
    let followed_person = Relationship { followed: true, ..unrelated_person };
    let follower = Relationship { follower: true, ..unrelated_person };
    for (policy, admitted) in [
        (Policy::All, [true, true, true]),
        (Policy::Followed, [false, true, false]),
        (Policy::Follower, [false, false, true]),
        (Policy::None, [false, false, false]),
    ] {
        let alerts = alerts(&[("mention", true), ("poll", false)]);
        let settings = SubscriptionSettings { alerts, policy };
        for (relationship, is_allowed) in
            [unrelated_person, followed_person, follower].into_iter().zip(admitted)
        {
            assert_eq!(settings.allows("mention", relationship), is_allowed, "{policy}");
            assert!(!settings.allows("poll", relationship), "off");
            assert!(!settings.allows("follow", relationship), "absent");
        }
    }
}

proptest! {
    #[test]
    fn reading_never_panics(values: [String; 5], name in any::<String>()) {
        let [endpoint, public_key, auth, policy, other] = &values;
        let _ = read(&to_pairs(&[
            (ENDPOINT, endpoint), (PUBLIC_KEY, public_key), (AUTH, auth), (POLICY, policy),
            (&name, other),
        ]));
    }
}
