//! Messages, and the request bodies that receivers get.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::EnumDiscriminants;

use super::receiver::Pusher;
use crate::json;
use crate::rules::collect_tweaks;
use crate::rules::evaluate::PushEvaluation;
use crate::secret::Sha256Digest;

/// Maximum size of a Web Push body before encryption, in bytes. The encrypted message has at most
/// 4,096.
pub const MAX_WEB_PUSH_BYTES: usize = 3993;

/// Maximum length of the body of a Mastodon notification, in characters.
const MAX_MASTODON_BODY_LENGTH: usize = 140;

/// The language of Mastodon notifications, which clients require. Accounts have no language
/// setting.
const PREFERRED_LOCALE: &str = "en";

/// The content of an event or a notification, independent of the format that a receiver gets.
///
/// The kind of a message is stored with its deliveries as a [`MessageKind`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumDiscriminants)]
#[serde(rename_all = "lowercase")]
#[strum_discriminants(name(MessageKind))]
#[strum_discriminants(derive(Default, Serialize, Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    #[strum_discriminants(default)]
    Event(EventMessage),
    Notification(NotificationMessage),
    /// The secret that a client sends back to activate its pusher for Web Push.
    Ack {
        app_id: String,
        /// The secret, whose digest is stored with the receiver.
        ack_token: String,
    },
    /// A test message that the user has requested, for every kind of receiver.
    Test {
        id: String,
        title: String,
        body: String,
    },
    /// The numbers for the badge of an app alone, for push gateways.
    Counts {
        id: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventMessage {
    /// The id of the event, of at most 255 bytes.
    pub event_id: String,
    /// The room, of at most 255 bytes.
    pub room_id: Option<String>,
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    pub sender: Option<String>,
    pub sender_display_name: Option<String>,
    pub room_name: Option<String>,
    pub content: Option<Value>,
}

/// A notification of Mastodon's API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationMessage {
    /// The id that clients use to fetch the notification.
    pub id: i64,
    #[serde(rename = "type")]
    pub notification_type: String,
    pub title: String,
    pub body: String,
    /// The URL of an image, or empty.
    pub icon: String,
}

/// The kind of a message, and its properties that differ between deliveries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliveryDetails {
    pub kind: MessageKind,
    /// The path of the rule that matched, such as `global/override/.m.rule.master`.
    pub rule: Option<String>,
    pub tweaks: Map<String, Value>,
    /// The numbers for the badge of the app.
    pub counts: Counts,
    /// True if the event changes the membership of the receiving user.
    pub user_is_target: bool,
}

/// The numbers of unread messages and missed calls. Zeros are not serialized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    #[serde(skip_serializing_if = "is_zero")]
    pub unread: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub missed_calls: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    High,
    /// The message may be delayed to save power.
    Normal,
}

impl Urgency {
    /// Returns the value of the header `Urgency` of Web Push.
    pub const fn header_value(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
        }
    }

    /// Returns the `prio` of Matrix's push gateway API.
    const fn matrix_prio(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "low",
        }
    }
}

impl DeliveryDetails {
    /// Creates the details from an evaluation. Large actions are omitted, as in the response of
    /// `evaluate`.
    pub fn new(evaluation: &PushEvaluation<'_>, counts: Counts, user_is_target: bool) -> Self {
        let tweaks = collect_tweaks(evaluation.limited_actions().into_iter());
        let to_member = |(name, value): (&str, _)| (name.to_owned(), serde_json::json!(value));
        Self {
            kind: MessageKind::Event,
            rule: evaluation.rule.map(|rule| rule.to_ref().path()),
            tweaks: tweaks.into_iter().map(to_member).collect(),
            counts,
            user_is_target,
        }
    }
}

impl Message {
    pub fn kind(&self) -> MessageKind {
        self.into()
    }

    /// Returns the id of the event or notification in the delivery log.
    pub fn event_id(&self) -> String {
        match self {
            Self::Event(event) => event.event_id.clone(),
            Self::Notification(notification) => notification.id.to_string(),
            Self::Ack { .. } => "ack".to_owned(),
            Self::Test { id, .. } | Self::Counts { id } => id.clone(),
        }
    }

    /// Returns the room of the event.
    pub fn room_id(&self) -> Option<&str> {
        match self {
            Self::Event(event) => event.room_id.as_deref(),
            Self::Notification(_) | Self::Ack { .. } | Self::Test { .. } | Self::Counts { .. } => {
                None
            }
        }
    }

    /// Returns the digest of a topic of an application service in the form of the header `Topic` of
    /// Web Push: 32 characters of base64url.
    pub fn topic_digest(&self, source: &str, topic: &str) -> String {
        let topic = serde_json::json!([self.kind(), source, topic]);
        let mut digest = Sha256Digest::compute(&topic.to_string()).to_text();
        digest.truncate(32);
        digest
    }

    /// Returns the body of a request to a push gateway; `None` if push gateways do not get this
    /// message. `set_at` is the time at which the pusher was set.
    pub fn gateway_body(
        &self,
        pusher: &Pusher,
        set_at: Timestamp,
        details: &DeliveryDetails,
    ) -> Option<Vec<u8>> {
        match self {
            Self::Event(event) => Some(event.gateway_body(pusher, set_at, details)),
            Self::Test { id, title, body } => {
                Some(EventMessage::test(id, title, body).gateway_body(pusher, set_at, details))
            }
            Self::Counts { .. } => {
                Some(gateway_body(EventFields::default(), Map::new(), pusher, set_at, details))
            }
            Self::Notification(_) | Self::Ack { .. } => None,
        }
    }

    /// Returns the text that a pusher gets by Web Push; `None` if such pushers do not get this
    /// message.
    pub fn web_push_body(&self, pusher: &Pusher, details: &DeliveryDetails) -> Option<Vec<u8>> {
        match self {
            Self::Event(event) if pusher.wants_event_id_only() => {
                let counts = details.counts;
                Some(json::to_bytes(&WebPushBody { event: event.id_fields(), counts }))
            }
            Self::Event(event) => Some(event.web_push_body(details)),
            Self::Test { id, title, body } => {
                Some(EventMessage::test(id, title, body).web_push_body(details))
            }
            Self::Ack { app_id, ack_token } => {
                let body = serde_json::json!({ "app_id": app_id, "ack_token": ack_token });
                Some(json::to_bytes(&body))
            }
            // Browsers revoke subscriptions whose messages show nothing.
            Self::Notification(_) | Self::Counts { .. } => None,
        }
    }

    /// Returns the text that a subscription gets by Web Push; `None` if subscriptions do not get
    /// this message.
    pub fn mastodon_body(&self, access_token: &str) -> Option<Vec<u8>> {
        match self {
            Self::Notification(notification) => Some(notification.mastodon_body(access_token)),
            Self::Test { title, body, .. } => {
                Some(NotificationMessage::test(title, body).mastodon_body(access_token))
            }
            Self::Event(_) | Self::Ack { .. } | Self::Counts { .. } => None,
        }
    }

    pub fn urgency(&self, details: &DeliveryDetails) -> Urgency {
        match self {
            Self::Event(event) => event.urgency(details),
            Self::Notification(_) | Self::Counts { .. } => Urgency::Normal,
            Self::Ack { .. } | Self::Test { .. } => Urgency::High,
        }
    }
}

/// The fields of a notification in Matrix's push gateway API that describe the event.
#[derive(Default, Serialize)]
struct EventFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room_id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    event_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender_display_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_is_target: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prio: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a Value>,
}

#[derive(Serialize)]
struct GatewayBody<'a> {
    notification: GatewayNotification<'a>,
}

#[derive(Serialize)]
struct GatewayNotification<'a> {
    #[serde(flatten)]
    event: EventFields<'a>,
    counts: Counts,
    devices: [GatewayDevice<'a>; 1],
}

#[derive(Serialize)]
struct GatewayDevice<'a> {
    app_id: &'a str,
    pushkey: &'a str,
    pushkey_ts: i64,
    data: Map<String, Value>,
    /// Present even if it is empty, because the push gateway of ruma requires it.
    tweaks: Map<String, Value>,
}

/// The body of a Web Push message of MSC4174.
#[derive(Serialize)]
struct WebPushBody<'a> {
    #[serde(flatten)]
    event: EventFields<'a>,
    #[serde(flatten)]
    counts: Counts,
}

impl EventMessage {
    /// Returns a test message in the form of a room message.
    fn test(id: &str, title: &str, body: &str) -> Self {
        Self {
            event_id: format!("${id}"),
            room_id: None,
            event_type: Some("m.room.message".to_owned()),
            sender: None,
            sender_display_name: Some(title.to_owned()),
            room_name: None,
            content: Some(serde_json::json!({ "msgtype": "m.notice", "body": body })),
        }
    }

    /// Returns the urgency of a delivery: high if the notification makes a sound or is highlighted,
    /// and for encrypted events, whose importance only the client can determine.
    fn urgency(&self, details: &DeliveryDetails) -> Urgency {
        let is_set = |name| match details.tweaks.get(name) {
            Some(Value::Bool(is_on)) => *is_on,
            Some(Value::String(text)) => !text.is_empty(),
            _ => false,
        };
        let is_encrypted = self.event_type.as_deref() == Some("m.room.encrypted");
        if is_encrypted || is_set("sound") || is_set("highlight") {
            Urgency::High
        } else {
            Urgency::Normal
        }
    }

    fn gateway_body(
        &self,
        pusher: &Pusher,
        set_at: Timestamp,
        details: &DeliveryDetails,
    ) -> Vec<u8> {
        let (event, tweaks) = if pusher.wants_event_id_only() {
            (self.id_fields(), Map::new())
        } else {
            (self.all_fields(details, self.content.as_ref()), details.tweaks.clone())
        };
        gateway_body(event, tweaks, pusher, set_at, details)
    }

    /// Returns the body of a Web Push message. To make it small enough, `formatted_body` is
    /// omitted, then the body is truncated, then `content` is omitted, then everything but the ids.
    fn web_push_body(&self, details: &DeliveryDetails) -> Vec<u8> {
        let counts = details.counts;
        let body_with = |content: Option<&Value>| {
            json::to_bytes(&WebPushBody { event: self.all_fields(details, content), counts })
        };
        let fits = |body: &Vec<u8>| body.len() <= MAX_WEB_PUSH_BYTES;
        let complete_body = body_with(self.content.as_ref());
        if fits(&complete_body) {
            return complete_body;
        }
        let mut content = self.content.clone();
        if let Some(Value::Object(content)) = &mut content {
            content.remove("formatted_body");
        }
        let mut body = body_with(content.as_ref());
        if !fits(&body)
            && let Some(Value::String(text)) = content.as_mut().and_then(|c| c.get_mut("body"))
        {
            truncate_json_text(text, body.len() - MAX_WEB_PUSH_BYTES);
            body = body_with(content.as_ref());
        }
        if !fits(&body) {
            body = body_with(None);
        }
        if fits(&body) {
            return body;
        }
        json::to_bytes(&WebPushBody { event: self.id_fields(), counts })
    }

    fn all_fields<'a>(
        &'a self,
        details: &DeliveryDetails,
        content: Option<&'a Value>,
    ) -> EventFields<'a> {
        EventFields {
            event_type: self.event_type.as_deref(),
            sender: self.sender.as_deref(),
            sender_display_name: self.sender_display_name.as_deref(),
            room_name: self.room_name.as_deref(),
            user_is_target: details.user_is_target.then_some(true),
            prio: Some(self.urgency(details).matrix_prio()),
            content,
            ..self.id_fields()
        }
    }

    /// Returns only the ids, as in the format `event_id_only`.
    fn id_fields(&self) -> EventFields<'_> {
        EventFields {
            event_id: Some(&self.event_id),
            room_id: self.room_id.as_deref(),
            ..EventFields::default()
        }
    }
}

fn gateway_body(
    event: EventFields<'_>,
    tweaks: Map<String, Value>,
    pusher: &Pusher,
    set_at: Timestamp,
    details: &DeliveryDetails,
) -> Vec<u8> {
    let mut data = pusher.data.clone();
    data.remove("url");
    let device = GatewayDevice {
        app_id: &pusher.app_id,
        pushkey: &pusher.pushkey,
        pushkey_ts: set_at.as_second(),
        data,
        tweaks,
    };
    let counts = details.counts;
    json::to_bytes(&GatewayBody {
        notification: GatewayNotification { event, counts, devices: [device] },
    })
}

/// The body of a Mastodon Web Push message. Clients require all fields.
#[derive(Serialize)]
struct MastodonBody<'a> {
    access_token: &'a str,
    preferred_locale: &'a str,
    notification_id: i64,
    notification_type: &'a str,
    icon: &'a str,
    title: &'a str,
    body: &'a str,
}

impl NotificationMessage {
    /// Returns a test notification with this title and body. Its type is known to every client.
    fn test(title: &str, body: &str) -> Self {
        Self {
            id: 0,
            notification_type: "mention".to_owned(),
            title: title.to_owned(),
            body: body.to_owned(),
            icon: String::new(),
        }
    }

    /// Returns the body of a Web Push message. To make it small enough, the icon is omitted, then
    /// the title is truncated.
    fn mastodon_body(&self, access_token: &str) -> Vec<u8> {
        let text_end = self.body.char_indices().nth(MAX_MASTODON_BODY_LENGTH);
        let text = &self.body[..text_end.map_or(self.body.len(), |(end, _)| end)];
        let body_with = |icon: &str, title: &str| {
            json::to_bytes(&MastodonBody {
                access_token,
                preferred_locale: PREFERRED_LOCALE,
                notification_id: self.id,
                notification_type: &self.notification_type,
                icon,
                title,
                body: text,
            })
        };
        let mut body = body_with(&self.icon, &self.title);
        if body.len() > MAX_WEB_PUSH_BYTES {
            body = body_with("", &self.title);
        }
        if body.len() > MAX_WEB_PUSH_BYTES {
            let mut title = self.title.clone();
            truncate_json_text(&mut title, body.len() - MAX_WEB_PUSH_BYTES);
            body = body_with("", &title);
        }
        body
    }
}

/// Truncates text at a character boundary, until its JSON is smaller by at least this many bytes or
/// the text is empty.
fn truncate_json_text(text: &mut String, excess_bytes: usize) {
    let mut removed_bytes = 0;
    while removed_bytes < excess_bytes
        && let Some(c) = text.pop()
    {
        removed_bytes += match c {
            '"' | '\\' | '\u{8}' | '\u{c}' | '\n' | '\r' | '\t' => 2,
            '\0'..='\u{1f}' => 6,
            c => c.len_utf8(),
        };
    }
}

#[cfg(test)]
mod tests;
