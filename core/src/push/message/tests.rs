//! Tests of messages and request bodies.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::tests::any_json;
use crate::push::receiver::PusherKind;
use crate::rules::evaluate::{Member, Room};
use crate::rules::event::Event;
use crate::rules::index::{IndexedRules, Members};
use crate::rules::work::RequestWorkBudget;
use crate::rules::{NewRule, NewRuleLimits, RuleDocument, RuleKind, RulePosition, RuleScope};

fn event_message() -> EventMessage {
    EventMessage {
        event_id: "$1".to_owned(),
        room_id: Some("!r:x".to_owned()),
        event_type: Some("m.room.message".to_owned()),
        sender: Some("@bob:x".to_owned()),
        sender_display_name: Some("Bob".to_owned()),
        room_name: Some("Cake".to_owned()),
        content: Some(json!({"msgtype": "m.text", "body": "Hello", "formatted_body": "<b>H</b>"})),
    }
}

fn notification_message() -> NotificationMessage {
    NotificationMessage {
        id: i64::MAX,
        notification_type: "mention".to_owned(),
        title: "Bob mentioned you".to_owned(),
        body: "Hello".to_owned(),
        icon: "https://x/i.png".to_owned(),
    }
}

fn details() -> DeliveryDetails {
    let tweaks = json!({"sound": "default", "highlight": false});
    DeliveryDetails {
        kind: MessageKind::Event,
        rule: Some("global/content/x".to_owned()),
        tweaks: tweaks.as_object().unwrap().clone(),
        counts: Counts { unread: 3, missed_calls: 0 },
        user_is_target: true,
    }
}

fn pusher(data: &Value) -> Pusher {
    Pusher {
        kind: PusherKind::Http,
        app_id: "app".to_owned(),
        pushkey: "key".to_owned(),
        app_display_name: "App".to_owned(),
        device_display_name: "Phone".to_owned(),
        profile_tag: None,
        lang: "en".to_owned(),
        data: data.as_object().unwrap().clone(),
        enabled: true,
        append: false,
    }
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn to_json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

fn web_push_json(event: &EventMessage) -> Value {
    let body = event.web_push_body(&details());
    assert!(body.len() <= MAX_WEB_PUSH_BYTES, "{}", body.len());
    to_json(&body)
}

#[test]
fn a_push_gateway_gets_the_notification_of_the_specification() {
    let pusher = pusher(&json!({"url": "https://p/", "brand": "x"}));
    let body = event_message().gateway_body(&pusher, second(1_700_000_000), &details());
    let device = json!({
        "app_id": "app", "pushkey": "key", "pushkey_ts": 1_700_000_000, "data": {"brand": "x"},
        "tweaks": {"sound": "default", "highlight": false},
    });
    let notification = json!({
        "event_id": "$1", "room_id": "!r:x", "type": "m.room.message", "sender": "@bob:x",
        "sender_display_name": "Bob", "room_name": "Cake", "user_is_target": true, "prio": "high",
        "content": {"msgtype": "m.text", "body": "Hello", "formatted_body": "<b>H</b>"},
        "counts": {"unread": 3}, "devices": [device],
    });
    assert_eq!(to_json(&body), json!({ "notification": notification }));
}

#[test]
fn absent_properties_are_omitted_but_tweaks_are_present() {
    let event = EventMessage {
        event_id: "$1".to_owned(),
        room_id: None,
        event_type: None,
        sender: None,
        sender_display_name: None,
        room_name: None,
        content: None,
    };
    let pusher = pusher(&json!({"url": "https://p/"}));
    let body = event.gateway_body(&pusher, second(1), &DeliveryDetails::default());
    let device =
        json!({"app_id": "app", "pushkey": "key", "pushkey_ts": 1, "data": {}, "tweaks": {}});
    let notification = json!({"event_id": "$1", "prio": "low", "counts": {}, "devices": [device]});
    assert_eq!(to_json(&body), json!({ "notification": notification }));
    let web_push_body = event.web_push_body(&DeliveryDetails::default());
    assert_eq!(to_json(&web_push_body), json!({"event_id": "$1", "prio": "low"}));
}

#[test]
fn the_format_event_id_only_contains_ids_and_counts() {
    let data = json!({"url": "https://p/", "format": "event_id_only"});
    let body = event_message().gateway_body(&pusher(&data), second(5), &details());
    let device = json!({
        "app_id": "app", "pushkey": "key", "pushkey_ts": 5, "data": {"format": "event_id_only"},
        "tweaks": {},
    });
    let notification = json!({
        "event_id": "$1", "room_id": "!r:x", "counts": {"unread": 3}, "devices": [device],
    });
    let web_push_body = Message::Event(event_message()).web_push_body(&pusher(&data), &details());
    let ids = json!({"event_id": "$1", "room_id": "!r:x", "unread": 3});
    assert_eq!(to_json(&web_push_body.unwrap()), ids);
    assert_eq!(to_json(&body), json!({ "notification": notification }));
}

#[test]
fn a_web_push_body_is_the_notification_without_the_gateway_fields() {
    let expected = json!({
        "event_id": "$1", "room_id": "!r:x", "type": "m.room.message", "sender": "@bob:x",
        "sender_display_name": "Bob", "room_name": "Cake", "user_is_target": true, "prio": "high",
        "content": {"msgtype": "m.text", "body": "Hello", "formatted_body": "<b>H</b>"},
        "unread": 3,
    });
    assert_eq!(web_push_json(&event_message()), expected);
}

#[test]
fn a_large_event_is_reduced_step_by_step() {
    let event_with = |content: Value| EventMessage { content: Some(content), ..event_message() };
    let content =
        web_push_json(&event_with(json!({"body": "Hi", "formatted_body": "a".repeat(4000)})));
    assert_eq!(content["content"], json!({"body": "Hi"}));

    // The body is as long as possible and ends at a character boundary.
    for (unit, json_bytes) in [("a", 1), ("é", 2), ("🔔", 4), ("\n", 2), ("\0", 6), ("\u{7f}", 1)]
    {
        let content =
            json!({"body": unit.repeat(5000), "formatted_body": "a", "msgtype": "m.text"});
        let body = event_with(content).web_push_body(&details());
        assert!((0..json_bytes).contains(&(MAX_WEB_PUSH_BYTES - body.len())), "{unit:?}");
        let content = &to_json(&body)["content"];
        let text = content["body"].as_str().unwrap();
        assert_eq!(text, unit.repeat(text.len() / unit.len()));
        assert_eq!(*content, json!({"body": text, "msgtype": "m.text"}));
    }

    let without_content = web_push_json(&event_with(json!({"body": "Hi", "x": "a".repeat(4000)})));
    assert_eq!(without_content.get("content"), None);
    assert_eq!(without_content["sender"], "@bob:x");

    let room_name = Some("a".repeat(4000));
    let ids_only = web_push_json(&EventMessage { room_name, ..event_message() });
    assert_eq!(ids_only, json!({"event_id": "$1", "room_id": "!r:x", "unread": 3}));
}

#[test]
fn the_urgency_depends_on_tweaks_and_encryption() {
    use Urgency::{High, Normal};
    for (event_type, tweaks, urgency) in [
        (Some("m.room.message"), json!({}), Normal),
        (None, json!({}), Normal),
        (Some("m.room.encrypted"), json!({}), High),
        (None, json!({"sound": "default"}), High),
        (None, json!({"sound": ""}), Normal),
        (None, json!({"highlight": true}), High),
        (None, json!({"highlight": false}), Normal),
        (None, json!({"org.x": true}), Normal),
    ] {
        let event = EventMessage { event_type: event_type.map(Into::into), ..event_message() };
        let tweaks = tweaks.as_object().unwrap().clone();
        let details = DeliveryDetails { tweaks, ..DeliveryDetails::default() };
        assert_eq!(event.urgency(&details), urgency, "{event_type:?} {details:?}");
        assert_eq!(Message::Event(event).urgency(&details), urgency);
    }
}

#[test]
fn details_contain_the_matching_rule_and_its_tweaks() {
    let mut document = RuleDocument::new(RuleScope::Global);
    let long_tweak = json!({"set_tweak": "x", "value": "x".repeat(2000)});
    let actions = json!(["notify", {"set_tweak": "sound"}, {"set_tweak": "highlight"}, long_tweak]);
    let json = json!({ "actions": actions }).to_string();
    let limits = NewRuleLimits::default();
    let rule =
        NewRule::parse(RuleKind::Override, json.as_bytes(), limits, Timestamp::UNIX_EPOCH).unwrap();
    document.put(RuleKind::Override, "x".parse().unwrap(), rule, RulePosition::default()).unwrap();
    let rules = IndexedRules::new([&document]);
    let members = Members::new([("@ann:x", Member::default(), Some(&rules))]);
    let event = Event::from_value(json!({})).unwrap();
    let results = members.evaluate(
        &event,
        &Room::default(),
        Timestamp::UNIX_EPOCH,
        &mut RequestWorkBudget::default(),
    );
    let group = results.groups().into_iter().next().unwrap();
    let counts = Counts { unread: 1, missed_calls: 2 };
    let details = DeliveryDetails::new(&group.evaluation, counts, true);
    let json = json!({
        "kind": "event",
        "rule": "global/override/x", "tweaks": {"sound": "default", "highlight": true},
        "counts": {"unread": 1, "missed_calls": 2}, "user_is_target": true,
    });
    assert_eq!(json!(details), json);
    assert_eq!(serde_json::from_value::<DeliveryDetails>(json).unwrap(), details);
    assert_eq!(serde_json::from_str::<DeliveryDetails>("{}").unwrap(), DeliveryDetails::default());
}

#[test]
fn mastodon_clients_get_a_notification_with_an_integer_id() {
    let body = notification_message().mastodon_body("token");
    let expected = r#"{"access_token":"token","preferred_locale":"en","notification_id":9223372036854775807,"notification_type":"mention","icon":"https://x/i.png","title":"Bob mentioned you","body":"Hello"}"#;
    assert_eq!(str::from_utf8(&body).unwrap(), expected);
}

#[test]
fn a_large_notification_is_reduced_step_by_step() {
    let notification = NotificationMessage { body: "é".repeat(141), ..notification_message() };
    let json = to_json(&notification.mastodon_body("token"));
    assert_eq!(json["body"], "é".repeat(140));
    assert_eq!(json["icon"], "https://x/i.png");

    let notification = NotificationMessage { icon: "a".repeat(4000), ..notification };
    let json = to_json(&notification.mastodon_body("token"));
    assert_eq!((&json["icon"], &json["title"]), (&json!(""), &json!("Bob mentioned you")));

    let notification = NotificationMessage { title: "🔔".repeat(2000), ..notification };
    let body = notification.mastodon_body("token");
    assert!((0..4).contains(&(MAX_WEB_PUSH_BYTES - body.len())));
    let json = to_json(&body);
    assert!(notification.title.starts_with(json["title"].as_str().unwrap()));
    assert_eq!(json["body"], "é".repeat(140));
}

/// Returns the bodies for a push gateway, a pusher for Web Push and a subscription.
fn bodies(message: &Message) -> [Option<Value>; 3] {
    let stored_message = serde_json::from_slice::<Message>(&json::to_bytes(message)).unwrap();
    assert_eq!(stored_message, *message);
    let details = DeliveryDetails::default();
    [
        message.gateway_body(&pusher(&json!({"url": "https://p/"})), second(7), &details),
        message.web_push_body(&pusher(&json!({})), &details),
        message.mastodon_body("token"),
    ]
    .map(|body| Some(to_json(&body?)))
}

#[test]
fn each_receiver_gets_the_messages_of_its_kind() {
    let [gateway, web_push, subscription] = bodies(&Message::Event(event_message()));
    assert_eq!(gateway.unwrap()["notification"]["devices"][0]["pushkey_ts"], 7);
    assert_eq!(web_push.unwrap()["event_id"], "$1");
    assert_eq!(subscription, None);

    let notification = Message::Notification(notification_message());
    assert_eq!(notification.urgency(&details()), Urgency::Normal);
    let [gateway, web_push, subscription] = bodies(&notification);
    assert_eq!((gateway, web_push), (None, None));
    assert_eq!(subscription.unwrap()["access_token"], "token");

    let ack = Message::Ack { app_id: "app".to_owned(), ack_token: "t".to_owned() };
    assert_eq!(ack.urgency(&DeliveryDetails::default()), Urgency::High);
    let ack_body = json!({"app_id": "app", "ack_token": "t"});
    assert_eq!(bodies(&ack), [None, Some(ack_body), None]);

    let counts = Message::Counts { id: "counts-1".to_owned() };
    assert_eq!(counts.urgency(&details()), Urgency::Normal);
    let counts_body = |unread: u32| {
        let details =
            DeliveryDetails { counts: Counts { unread, missed_calls: 0 }, ..Default::default() };
        let pusher = pusher(&json!({"url": "https://x/", "format": "event_id_only"}));
        let body = counts.gateway_body(&pusher, Timestamp::from_second(7).unwrap(), &details);
        serde_json::from_slice::<Value>(&body.unwrap()).unwrap()
    };
    let device = json!({"app_id": "app", "pushkey": "key", "pushkey_ts": 7, "tweaks": {},
        "data": {"format": "event_id_only"}});
    let expected = json!({"counts": {"unread": 3}, "devices": [device]});
    assert_eq!(counts_body(3), json!({ "notification": expected }));
    assert_eq!(counts_body(0)["notification"]["counts"], json!({}));
    let [_, web_push, subscription] = bodies(&counts);
    assert_eq!((web_push, subscription), (None, None), "they would show nothing");
}

#[test]
fn a_topic_has_a_digest_for_each_kind_of_message_and_application_service() {
    let event = Message::Event(event_message());
    let digest = event.topic_digest("product", "kitchen");
    assert_eq!(digest.len(), 32);
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    assert!(digest.bytes().all(is_base64url), "{digest}");
    assert_eq!(event.topic_digest("product", "kitchen"), digest);
    let notification = Message::Notification(notification_message());
    for other in [
        event.topic_digest("product", "garden"),
        event.topic_digest("other", "kitchen"),
        notification.topic_digest("product", "kitchen"),
    ] {
        assert_ne!(other, digest);
    }
}

#[test]
fn every_kind_of_receiver_gets_a_test_message() {
    let test = Message::Test { id: "t1".into(), title: "Belfry".into(), body: "Works".into() };
    assert_eq!(test.urgency(&DeliveryDetails::default()), Urgency::High);
    let [gateway, web_push, subscription] = bodies(&test);
    assert_eq!(gateway.unwrap()["notification"]["event_id"], "$t1");
    let expected = json!({
        "event_id": "$t1", "type": "m.room.message", "sender_display_name": "Belfry",
        "prio": "low", "content": {"msgtype": "m.notice", "body": "Works"},
    });
    assert_eq!(web_push.unwrap(), expected);
    let expected = json!({
        "access_token": "token", "preferred_locale": "en", "notification_id": 0,
        "notification_type": "mention", "icon": "", "title": "Belfry", "body": "Works",
    });
    assert_eq!(subscription.unwrap(), expected);
}

/// Any text, often with characters that JSON escapes and often long.
fn any_text() -> impl Strategy<Value = String> {
    let long_text = ("[\"\\\\\0\n a\u{1f}é蛋🔔]{1,8}", 1_usize..3000)
        .prop_map(|(text, count)| text.repeat(count));
    prop_oneof![any::<String>(), long_text]
}

/// Any id of at most 255 bytes.
fn any_id() -> impl Strategy<Value = String> {
    any_text().prop_map(|text| text[..text.floor_char_boundary(255)].to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_web_push_body_is_never_too_large(
        event_id in any_id(),
        room_id in prop::option::of(any_id()),
        names in prop::array::uniform4(prop::option::of(any_text())),
        strings in prop::array::uniform3(any_text()),
        content in prop::option::of(any_json()),
        unread: u32,
    ) {
        let [event_type, sender, sender_display_name, room_name] = names;
        let [body, formatted_body, other] = strings;
        let text_content = json!({"body": body, "formatted_body": formatted_body});
        let contents = [
            content,
            Some(text_content.clone()),
            Some(json!({"body": body, "x": other})),
            Some(json!({"body": text_content})),
        ];
        let counts = Counts { unread, missed_calls: unread };
        let details = DeliveryDetails { counts, ..details() };
        for content in contents {
            let event = EventMessage {
                event_id: event_id.clone(), room_id: room_id.clone(), content,
                event_type: event_type.clone(), sender: sender.clone(),
                sender_display_name: sender_display_name.clone(), room_name: room_name.clone(),
            };
            let body = event.web_push_body(&details);
            prop_assert!(body.len() <= MAX_WEB_PUSH_BYTES, "{}", body.len());
            prop_assert_eq!(&to_json(&body)["event_id"], &event_id);
        }
    }

    #[test]
    fn a_mastodon_body_is_never_too_large(
        title in any_text(), body in any_text(), icon in any_text(), id: i64,
    ) {
        let notification_type = "quoted_update".to_owned();
        let notification = NotificationMessage { id, notification_type, title, body, icon };
        let body = notification.mastodon_body(&"a".repeat(100));
        prop_assert!(body.len() <= MAX_WEB_PUSH_BYTES, "{}", body.len());
        let json = to_json(&body);
        let text = json["body"].as_str().unwrap();
        prop_assert!(notification.body.starts_with(text) && text.chars().count() <= 140);
        prop_assert!(notification.title.starts_with(json["title"].as_str().unwrap()));
        prop_assert_eq!(json["notification_id"].as_i64(), Some(id));
    }
}
