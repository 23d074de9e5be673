//! Requests of application services to send an event or a notification.

use std::time::Duration;

use serde_json::Value;

use super::message::{Counts, EventMessage, NotificationMessage};
use super::subscription::{NOTIFICATION_TYPES, Relationship};
use crate::json::{self, Fields, JsonError, Location};
use crate::rules::RuleError;
use crate::rules::evaluation_request::EvaluateRequest;
use crate::rules::event::Event;

/// Time to live of a message, unless the request has `ttl_ms`.
pub const DEFAULT_TTL: Duration = Duration::from_hours(48);
const MAX_TTL: Duration = Duration::from_hours(7 * 24);

/// The maximum length of an event id or room id, as in Matrix, and of a topic.
const MAX_ID_BYTES: usize = 255;

/// Maximum size of a whole event in Matrix.
const MAX_CONTENT_BYTES: usize = 65_536;

/// The maximum length of a displayed name, in characters. Longer names are truncated.
const MAX_NAME_LENGTH: usize = 255;

/// Maximum length of the URL of an icon.
const MAX_ICON_BYTES: usize = 2048;

/// The maximum length of a notification's title and text, in characters. Longer ones are truncated.
const MAX_TEXT_LENGTH: usize = 1000;

/// The requirement for the id of a notification.
pub(super) const NUMERIC_ID: &str = "be a decimal number below 9223372036854775808";

/// A request to send an event to the pushers of many users.
#[derive(Debug)]
pub struct NotifyRequest {
    /// The event, its room and the users. Their profile tags are ignored, because each pusher has
    /// its own.
    pub evaluation: EvaluateRequest,
    /// The counts of each user, in the order of the users.
    pub counts: Vec<Counts>,
    pub message: EventMessage,
    /// The topic, of which each receiver gets only the newest waiting message.
    pub topic: Option<String>,
    /// Time to live: an undelivered message is dropped after it.
    pub ttl: Duration,
}

/// A request to send a notification to the subscriptions of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationRequest {
    pub account: AccountName,
    pub message: NotificationMessage,
    pub relationship: Relationship,
    /// The topic, of which each receiver gets only the newest waiting message.
    pub topic: Option<String>,
    /// The time to live: an undelivered message is dropped after it.
    pub ttl: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountName {
    /// A user id such as `@alice:example.org`.
    UserId(String),
    Id(i64),
}

impl NotifyRequest {
    pub fn parse(body: &[u8]) -> Result<Self, RuleError> {
        let mut counts = Vec::new();
        let (evaluation, mut remaining_fields) =
            EvaluateRequest::parse_extended(body, |fields, location| {
                fields.take("profile_tag");
                let read_counts = take_counts(fields);
                let read_counts =
                    read_counts.map_err(|error| error.at_path(&location.to_string()))?;
                counts.push(read_counts.unwrap_or_default());
                Ok(())
            })?;
        let fields = &mut remaining_fields.body;
        let mut message = read_event(&evaluation.event)?;
        message.sender_display_name = take_name(fields, "sender_display_name")?;
        message.room_name = take_name(&mut remaining_fields.room, "name")?;
        let topic = take_id(fields, "topic")?;
        Ok(Self { evaluation, counts, message, topic, ttl: take_ttl(fields)? })
    }
}

impl NotificationRequest {
    pub fn parse(body: &[u8]) -> Result<Self, RuleError> {
        let mut fields = Fields::parse(body)?;
        let account = AccountName::take(&mut fields, "account")?;
        let notification_type = fields.require_string("type")?;
        if !NOTIFICATION_TYPES.contains(&&*notification_type) {
            let requirement = "be a notification type of Mastodon, such as mention or follow";
            return Err(RuleError::invalid_value("type", requirement));
        }
        let id = parse_id(&fields.require_string("id")?)
            .ok_or_else(|| RuleError::invalid_value("id", NUMERIC_ID))?;
        let icon = fields.take_string("icon")?.unwrap_or_default();
        if icon.len() > MAX_ICON_BYTES {
            let requirement = "be a URL of at most 2048 bytes";
            return Err(RuleError::invalid_value("icon", requirement));
        }
        let title = truncate(&fields.require_string("title")?, MAX_TEXT_LENGTH);
        let body = truncate(&fields.take_string("body")?.unwrap_or_default(), MAX_TEXT_LENGTH);
        Ok(Self {
            account,
            message: NotificationMessage { id, notification_type, title, body, icon },
            relationship: take_relationship(&mut fields)?,
            topic: take_id(&mut fields, "topic")?,
            ttl: take_ttl(&mut fields)?,
        })
    }

    /// Returns the request that finds out whether the user's rules silence everything, such as the
    /// master switch, a pause or quiet hours. A notification of the type `mention` is evaluated as
    /// a mention, so quiet hours that exempt mentions do not silence it.
    pub fn evaluation(&self, user_id: &str) -> EvaluateRequest {
        EvaluateRequest::without_content(user_id, self.message.notification_type == "mention")
    }
}

impl AccountName {
    pub(super) fn take(fields: &mut Fields, name: &str) -> Result<Self, RuleError> {
        let text = fields.require_string(name)?;
        if text.starts_with('@') {
            return Ok(Self::UserId(text));
        }
        let requirement = "be a user id such as @alice:example.org, or the id of an account";
        let id = parse_id(&text).ok_or_else(|| RuleError::invalid_value(name, requirement))?;
        Ok(Self::Id(id))
    }
}

/// Parses the id of an account or notification: a decimal number without a sign.
pub fn parse_id(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Returns the message for an event. The sender's and the room's name are not part of the event and
/// are added by the caller.
fn read_event(event: &Event) -> Result<EventMessage, RuleError> {
    let members = event.members();
    let text_of = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
    let event_id = members
        .get("event_id")
        .ok_or_else(|| JsonError::MissingField("event.event_id".to_owned()))?;
    let event_id = event_id.as_str().ok_or_else(|| JsonError::WrongType {
        field: "event.event_id".to_owned(),
        expected: "a string",
    })?;
    if !(1..=MAX_ID_BYTES).contains(&event_id.len()) {
        let requirement = "be 1 to 255 bytes long";
        return Err(RuleError::invalid_value("event.event_id", requirement));
    }
    let room_id = text_of("room_id");
    if room_id.as_ref().is_some_and(|room_id| room_id.len() > MAX_ID_BYTES) {
        let requirement = "be at most 255 bytes long";
        return Err(RuleError::invalid_value("event.room_id", requirement));
    }
    let content = members.get("content").cloned();
    if content.as_ref().is_some_and(|content| json::to_bytes(content).len() > MAX_CONTENT_BYTES) {
        let requirement = "be at most 65536 bytes long, as in Matrix";
        return Err(RuleError::invalid_value("event.content", requirement));
    }
    Ok(EventMessage {
        event_id: event_id.to_owned(),
        room_id,
        event_type: text_of("type"),
        sender: text_of("sender"),
        sender_display_name: None,
        room_name: None,
        content,
    })
}

pub(super) fn take_counts(fields: &mut Fields) -> Result<Option<Counts>, RuleError> {
    const EXPECTED: &str = "a whole number below 4294967296";
    let Some(counts) = fields.take("counts") else { return Ok(None) };
    let mut fields = Fields::new(counts, Location::Field("counts"))?;
    Ok(Some(Counts {
        unread: fields.take_as("unread", EXPECTED)?.unwrap_or_default(),
        missed_calls: fields.take_as("missed_calls", EXPECTED)?.unwrap_or_default(),
    }))
}

/// Removes and returns an optional room id or topic.
pub(super) fn take_id(fields: &mut Fields, name: &str) -> Result<Option<String>, RuleError> {
    let id = fields.take_string(name)?;
    if id.as_ref().is_some_and(|id| !(1..=MAX_ID_BYTES).contains(&id.len())) {
        return Err(RuleError::invalid_value(name, "be 1 to 255 bytes long"));
    }
    Ok(id)
}

fn take_relationship(fields: &mut Fields) -> Result<Relationship, RuleError> {
    let Some(relationship) = fields.take("relationship") else {
        return Ok(Relationship::default());
    };
    let mut fields = Fields::new(relationship, Location::Field("relationship"))?;
    Ok(Relationship {
        followed: fields.take_bool("followed")?.unwrap_or_default(),
        follower: fields.take_bool("follower")?.unwrap_or_default(),
    })
}

fn take_ttl(fields: &mut Fields) -> Result<Duration, RuleError> {
    let milliseconds = fields.take_as("ttl_ms", "a whole number of milliseconds")?;
    let ttl = milliseconds.map_or(DEFAULT_TTL, Duration::from_millis);
    if ttl > MAX_TTL {
        let requirement = "be at most 604800000 (7 days)";
        return Err(RuleError::invalid_value("ttl_ms", requirement));
    }
    Ok(ttl)
}

fn take_name(fields: &mut Fields, name: &str) -> Result<Option<String>, RuleError> {
    Ok(fields.take_string(name)?.map(|text| truncate(&text, MAX_NAME_LENGTH)))
}

fn truncate(text: &str, max_length: usize) -> String {
    text.chars().take(max_length).collect()
}

#[cfg(test)]
mod tests;
