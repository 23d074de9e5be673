//! Receivers of notifications: subscriptions of Mastodon clients and pushers of Matrix clients.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::wire_enum::wire_enum;

wire_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Protocol {
        /// Mastodon's messages by Web Push.
        Mastodon = "mastodon",
        /// Matrix's push gateway API.
        Gateway = "gateway",
        /// Matrix's notifications by Web Push, as MSC4174 defines them.
        WebPush = "web_push",
    }
}

wire_enum! {
    /// A receiver's state, which decides whether it gets messages.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ReceiverState {
        Active = "active",
        /// Its client has not acknowledged it yet.
        Unacknowledged = "unacknowledged",
        /// Its client has turned it off.
        Disabled = "disabled",
        /// Its account or app is disabled, or its token is no longer valid.
        Ended = "ended",
    }
}

wire_enum! {
    /// The people whose notifications a subscription gets.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Policy {
        #[default]
        All = "all",
        Followed = "followed",
        Follower = "follower",
        None = "none",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// The URL of the push service.
    pub endpoint: String,
    /// The client's public key, in base64url.
    pub p256dh: String,
    /// True if messages are encrypted as in RFC 8291, false if as in its draft 4.
    pub standard: bool,
    #[serde(flatten)]
    pub settings: SubscriptionSettings,
}

/// The notifications that a Mastodon client has selected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionSettings {
    /// The notification types that are turned on or off. Absent types are off.
    pub alerts: BTreeMap<String, bool>,
    pub policy: Policy,
}

wire_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PusherKind {
        /// Messages go to a push gateway.
        Http = "http",
        /// Messages go to a push service.
        WebPush = "webpush",
        /// The name of [`PusherKind::WebPush`] until MSC4174 is part of the specification.
        #[serde(rename = "org.matrix.msc4174.webpush")]
        UnstableWebPush = "org.matrix.msc4174.webpush",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pusher {
    pub kind: PusherKind,
    /// The app id, which the client chooses.
    pub app_id: String,
    /// Identifies the device to the gateway. For Web Push, the client's public key.
    pub pushkey: String,
    pub app_display_name: String,
    pub device_display_name: String,
    /// The tag that selects device rules.
    pub profile_tag: Option<String>,
    pub lang: String,
    /// The URL and other data of the client, without the `auth` of Web Push.
    pub data: Map<String, Value>,
    /// True if messages are sent.
    pub enabled: bool,
    /// False if pushers of other accounts with the same app id and push key are deleted. For Web
    /// Push, they are deleted when this one is acknowledged.
    pub append: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceiverDocument {
    Subscription(Subscription),
    Pusher(Pusher),
}

/// The secrets of a receiver, which are stored sealed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiverSecrets {
    /// The `auth` of Web Push, in base64url.
    pub auth: Option<String>,
    /// The access token, which Mastodon clients use to find a message's account.
    pub access_token: Option<String>,
}

impl fmt::Debug for ReceiverSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReceiverSecrets")
    }
}

impl Pusher {
    /// Returns the protocol of the pusher's messages.
    pub fn protocol(&self) -> Protocol {
        match self.kind {
            PusherKind::Http => Protocol::Gateway,
            PusherKind::WebPush | PusherKind::UnstableWebPush => Protocol::WebPush,
        }
    }

    /// Returns whether a new pusher gets messages only after its client has acknowledged the first
    /// one. In Web Push the push key is public, so only an acknowledgement proves that it belongs
    /// to the client.
    pub fn requires_ack(&self) -> bool {
        self.protocol() == Protocol::WebPush
    }
}

impl ReceiverDocument {
    /// Returns the protocol of the receiver's messages.
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Subscription(_) => Protocol::Mastodon,
            Self::Pusher(pusher) => pusher.protocol(),
        }
    }

    /// Returns whether two receivers have the same address and key, and so reach the same device if
    /// their secrets are equal, too. Clients register a device again at every start, often with
    /// other settings.
    pub fn is_same_device(&self, other: &Self) -> bool {
        let has_same_key = match (self, other) {
            (Self::Subscription(left), Self::Subscription(right)) => left.p256dh == right.p256dh,
            (Self::Pusher(left), Self::Pusher(right)) => {
                (&left.app_id, &left.pushkey) == (&right.app_id, &right.pushkey)
            }
            _ => false,
        };
        has_same_key && self.protocol() == other.protocol() && self.endpoint() == other.endpoint()
    }

    pub fn as_pusher(&self) -> Option<&Pusher> {
        match self {
            Self::Subscription(_) => None,
            Self::Pusher(pusher) => Some(pusher),
        }
    }

    /// Returns a pusher's app name, or its app id if the name is blank; `None` for a subscription,
    /// whose app is that of its token.
    pub fn app_name(&self) -> Option<&str> {
        let pusher = self.as_pusher()?;
        non_blank(&pusher.app_display_name).or(Some(&pusher.app_id))
    }

    /// Returns the device's name, which only pushers have.
    pub fn device_name(&self) -> Option<&str> {
        non_blank(&self.as_pusher()?.device_display_name)
    }

    /// Returns false if the client has disabled the receiver.
    pub fn is_enabled(&self) -> bool {
        self.as_pusher().is_none_or(|pusher| pusher.enabled)
    }

    /// Returns the URL to which messages are sent.
    pub fn endpoint(&self) -> &str {
        match self {
            Self::Subscription(subscription) => &subscription.endpoint,
            Self::Pusher(pusher) => {
                pusher.data.get("url").and_then(Value::as_str).unwrap_or_default()
            }
        }
    }
}

fn non_blank(name: &str) -> Option<&str> {
    Some(name.trim()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pusher(changes: &Value) -> ReceiverDocument {
        let mut pusher = json!({
            "kind": "http", "app_id": "app", "pushkey": "key", "app_display_name": "App",
            "device_display_name": "Phone", "profile_tag": null, "lang": "en",
            "data": { "url": "https://push.example/" }, "enabled": true, "append": false,
        });
        for (name, value) in changes.as_object().unwrap() {
            pusher[name] = value.clone();
        }
        ReceiverDocument::Pusher(serde_json::from_value(pusher).unwrap())
    }

    #[test]
    fn a_device_is_recognised_by_its_address_and_key() {
        for (changes, is_same) in [
            (json!({}), true),
            (json!({ "lang": "de", "enabled": false, "profile_tag": "work" }), true),
            (json!({ "device_display_name": "Tablet" }), true),
            (json!({ "data": { "url": "https://push.example/", "format": "x" } }), true),
            (json!({ "data": { "url": "https://push.example/2" } }), false),
            (json!({ "kind": "webpush" }), false),
            (json!({ "pushkey": "other" }), false),
            (json!({ "app_id": "other" }), false),
        ] {
            assert_eq!(pusher(&json!({})).is_same_device(&pusher(&changes)), is_same, "{changes}");
        }
        let subscription = |endpoint: &str, p256dh: &str, standard| {
            ReceiverDocument::Subscription(Subscription {
                endpoint: endpoint.to_owned(),
                p256dh: p256dh.to_owned(),
                standard,
                settings: SubscriptionSettings::default(),
            })
        };
        let first = subscription("https://push.example/", "key", true);
        assert!(first.is_same_device(&subscription("https://push.example/", "key", false)));
        assert!(!first.is_same_device(&subscription("https://push.example/2", "key", true)));
        assert!(!first.is_same_device(&subscription("https://push.example/", "other", true)));
        assert!(!first.is_same_device(&pusher(&json!({}))));
    }
}
