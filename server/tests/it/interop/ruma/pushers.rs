//! Pushers set with ruma's client API, and gateway requests parsed by its push gateway API.

use std::time::Duration;

use axum::body::Body;
use axum::http;
use ruma_client_api::push::{PusherIds, PusherInit, PusherKind, get_pushers, set_pusher};
use ruma_common::api::{IncomingRequestExt, OutgoingResponseExt};
use ruma_common::push::{HighlightTweakValue, HttpPusherData, PushFormat, Tweak};
use ruma_push_gateway_api::send_event_notification::v1::{
    Notification, NotificationPriority, Request, Response,
};
use serde_json::{Value, json};

use super::super::{ALICE, DeliveringServer, SERVICE_TOKEN};
use super::Client;
use crate::support::PushService;
use crate::support::push_service::PushRequest;

/// A push key that the gateway rejects.
const REJECTED: &str = "rejected";

/// Parses a request as a push gateway on ruma's types does.
fn parse_request(request: &PushRequest) -> Notification {
    let mut http_request = http::Request::post(&request.path).body(&*request.body).unwrap();
    *http_request.headers_mut() = request.headers.clone();
    Request::try_from_http_request(http_request, &[]).unwrap().notification
}

impl Client {
    async fn set_pusher(&self, pushkey: &str, data: HttpPusherData) {
        let pusher = PusherInit {
            ids: PusherIds::new(pushkey.to_owned(), "org.example.app".to_owned()),
            kind: PusherKind::Http(data),
            app_display_name: "Example".to_owned(),
            device_display_name: "Phone".to_owned(),
            profile_tag: None,
            lang: "en".to_owned(),
        };
        self.send(set_pusher::v3::Request::post(pusher.into())).await.unwrap();
    }

    async fn push_keys(&self) -> Vec<String> {
        let response = self.send(get_pushers::v3::Request::new()).await.unwrap();
        let mut keys: Vec<_> =
            response.pushers.into_iter().map(|pusher| pusher.ids.pushkey).collect();
        keys.sort();
        keys
    }

    /// Sends an event that mentions Alice. Returns the number of accepted messages.
    async fn notify(&self, event_id: &str) -> u64 {
        let body = json!({
            "event": {
                "event_id": event_id, "type": "m.room.message", "room_id": "!r:x",
                "sender": "@bob:elsewhere.example",
                "content": {
                    "msgtype": "m.text", "body": "Cake?", "m.mentions": { "user_ids": [ALICE] },
                },
            },
            "room": { "name": "Kitchen", "member_count": 3 },
            "sender_display_name": "Bob",
            "members": [{ "user_id": ALICE, "counts": { "unread": 2 } }],
        });
        let request = reqwest::Client::new().post(format!("{}/_matrix/app/v1/notify", self.url));
        let response = request.bearer_auth(SERVICE_TOKEN).json(&body).send().await.unwrap();
        response.json::<Value>().await.unwrap()["accepted"].as_u64().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ruma_sets_pushers_and_parses_gateway_requests() {
    let server = DeliveringServer::start();
    let gateway = PushService::start_with(|request| {
        let keys = parse_request(request).devices.into_iter().map(|device| device.pushkey);
        let response = Response::new(keys.filter(|key| key == REJECTED).collect());
        response.try_into_http_response::<Vec<u8>>().unwrap().map(Body::from)
    });
    let gateway = gateway.await;
    let mut client = Client::connect(&server.process.url).await;
    client.token = Some(server.token.clone());
    let data = || HttpPusherData::new(format!("{}/_matrix/push/v1/notify", gateway.url));
    client.set_pusher("full", data()).await;
    let mut ids_only = data();
    ids_only.format = Some(PushFormat::EventIdOnly);
    ids_only.data.insert("brand".to_owned(), json!("Example"));
    client.set_pusher("ids", ids_only).await;
    client.set_pusher(REJECTED, data()).await;
    assert_eq!(client.push_keys().await, ["full", "ids", REJECTED]);

    assert_eq!(client.notify("$1").await, 3);
    let requests = gateway.wait_for(3).await;
    let notifications: Vec<_> = requests.iter().map(parse_request).collect();
    let find = |key: &str| {
        let mut found = notifications.iter().filter(|sent| sent.devices[0].pushkey == key);
        found.next().unwrap_or_else(|| panic!("{key}: {notifications:#?}"))
    };
    check_full_notification(find("full"));
    let sent = find("ids");
    assert_eq!(sent.event_id.as_deref().map(AsRef::as_ref), Some("$1"));
    assert!(sent.content.is_none() && sent.sender.is_none(), "{sent:?}");
    assert_eq!(sent.devices[0].data.format, Some(PushFormat::EventIdOnly));
    assert_eq!(sent.devices[0].data.data["brand"], "Example");

    for _ in 0..1000 {
        if client.push_keys().await == ["full", "ids"] {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(client.push_keys().await, ["full", "ids"], "the rejected pusher is removed");
    assert_eq!(client.notify("$2").await, 2);
}

fn check_full_notification(sent: &Notification) {
    let room_id = sent.room_id.as_deref().unwrap();
    let event_id = sent.event_id.as_deref().unwrap();
    let sender = sent.sender.as_deref().unwrap();
    assert_eq!(
        [event_id.as_str(), room_id.as_str(), sender.as_str()],
        ["$1", "!r:x", "@bob:elsewhere.example"]
    );
    assert_eq!(sent.event_type.as_ref().unwrap().to_string(), "m.room.message");
    assert_eq!(sent.sender_display_name.as_deref(), Some("Bob"));
    assert_eq!(sent.room_name.as_deref(), Some("Kitchen"));
    assert_eq!(sent.prio, NotificationPriority::High);
    assert!(!sent.user_is_target);
    let content: Value = serde_json::from_str(sent.content.as_ref().unwrap().get()).unwrap();
    assert_eq!(content["body"], "Cake?");
    assert_eq!(u64::from(sent.counts.unread), 2);
    let [device] = &*sent.devices else { panic!("{sent:?}") };
    assert_eq!(device.app_id, "org.example.app");
    assert!(device.pushkey_ts.is_some() && device.data.is_empty(), "{device:?}");
    let sound = device.tweaks.iter().find_map(|tweak| match tweak {
        Tweak::Sound(sound) => Some(sound.as_str()),
        _ => None,
    });
    let is_highlighted = device
        .tweaks
        .iter()
        .any(|tweak| matches!(tweak, Tweak::Highlight(HighlightTweakValue::Yes)));
    assert_eq!((sound, is_highlighted), (Some("default"), true), "{device:?}");
}
