//! Requests of application services to withdraw messages that the user has read elsewhere.

use serde::Serialize;
use serde_json::Value;

use super::message::{Counts, Message};
use super::notify_request::{AccountName, NUMERIC_ID, parse_id, take_counts, take_id};
use crate::json::{Fields, JsonError, read_array};
use crate::rules::RuleError;
use crate::secret::Sha256Digest;

/// Maximum number of ids in a request.
const MAX_IDS: usize = 1000;

/// A request to withdraw the messages that a user has read, and to send the counts that remain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRequest {
    pub account: AccountName,
    pub messages: ReadMessages,
    /// The numbers for the badges of the user's apps; `None` if they are not sent.
    pub counts: Option<Counts>,
}

/// The messages that a user has read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ReadMessages {
    /// The events of a room that were accepted up to this time, as Unix time in milliseconds.
    Room {
        room_id: String,
        up_to_ms: u64,
    },
    Events {
        room_id: String,
        event_ids: Vec<String>,
    },
    /// The notifications of Mastodon's API with these ids.
    Notifications(Vec<String>),
}

impl ReadRequest {
    pub fn parse(body: &[u8]) -> Result<Self, RuleError> {
        let mut fields = Fields::parse(body)?;
        let up_to_ms = fields.take_as("up_to_ms", "a whole number of milliseconds")?;
        let event_ids = take_ids(&mut fields, "event_ids", Some)?;
        let notification_ids = take_ids(&mut fields, "notification_ids", |text| {
            parse_id(&text).map(|id| id.to_string())
        })?;
        let counts = take_counts(&mut fields)?;
        let room_id = take_id(&mut fields, "room_id")?
            .ok_or_else(|| JsonError::MissingField("room_id".to_owned()));
        let (account_field, messages) = match (up_to_ms, event_ids, notification_ids) {
            (Some(up_to_ms), None, None) => {
                ("user_id", ReadMessages::Room { room_id: room_id?, up_to_ms })
            }
            (None, Some(event_ids), None) => {
                ("user_id", ReadMessages::Events { room_id: room_id?, event_ids })
            }
            (None, None, Some(ids)) => ("account", ReadMessages::Notifications(ids)),
            _ => {
                let requirement = "contain one of up_to_ms, event_ids and notification_ids";
                return Err(RuleError::invalid_value("the body", requirement));
            }
        };
        let account = AccountName::take(&mut fields, account_field)?;
        Ok(Self { account, messages, counts })
    }

    /// Returns the message with the counts; `None` if the request has none. Equal requests have
    /// equal messages, so that a repeated request sends none.
    pub fn counts_message(&self) -> Option<Message> {
        let content = serde_json::json!([self.messages, self.counts?]);
        let digest = Sha256Digest::compute(&content.to_string());
        Some(Message::Counts { id: format!("counts-{}", digest.to_text()) })
    }
}

/// Removes and returns an optional array of ids that `read` accepts.
fn take_ids(
    fields: &mut Fields,
    name: &'static str,
    read: impl Fn(String) -> Option<String>,
) -> Result<Option<Vec<String>>, RuleError> {
    let Some(ids) = fields.take(name) else { return Ok(None) };
    let ids = read_array(name, ids, |id, location| match id {
        Value::String(id) => {
            read(id).ok_or_else(|| RuleError::invalid_value(location.to_string(), NUMERIC_ID))
        }
        _ => Err(location.wrong_type("a string").into()),
    })?;
    if ids.len() > MAX_IDS {
        return Err(RuleError::invalid_value(name, "contain at most 1000 ids"));
    }
    Ok(Some(ids))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::matrix::MatrixErrorCode::{BadJson, InvalidParam, MissingParam};

    fn parse(body: &Value) -> Result<ReadRequest, RuleError> {
        ReadRequest::parse(body.to_string().as_bytes())
    }

    #[test]
    fn a_read_request_names_a_user_and_messages() {
        let alice = || AccountName::UserId("@alice:x".to_owned());
        let room_id = || "!r:x".to_owned();
        let counts = Some(Counts { unread: 3, missed_calls: 0 });
        for (body, account, messages, counts) in [
            (
                json!({"user_id": "@alice:x", "room_id": "!r:x", "up_to_ms": 5,
                       "counts": {"unread": 3}}),
                alice(),
                ReadMessages::Room { room_id: room_id(), up_to_ms: 5 },
                counts,
            ),
            (
                json!({"user_id": "7", "room_id": "!r:x", "event_ids": ["$1", "$2"],
                       "counts": {}}),
                AccountName::Id(7),
                ReadMessages::Events {
                    room_id: room_id(),
                    event_ids: vec!["$1".to_owned(), "$2".to_owned()],
                },
                Some(Counts::default()),
            ),
            (
                json!({"account": "@alice:x", "notification_ids": ["042"]}),
                alice(),
                ReadMessages::Notifications(vec!["42".to_owned()]),
                None,
            ),
        ] {
            assert_eq!(parse(&body), Ok(ReadRequest { account, messages, counts }), "{body}");
        }
    }

    #[test]
    fn an_invalid_read_request_is_rejected_with_the_reason() {
        let ids = |count| vec!["1"; count];
        assert!(parse(&json!({"account": "7", "notification_ids": ids(1000)})).is_ok());
        let one_of = "the body must contain one of up_to_ms, event_ids and notification_ids";
        let up_to = "up_to_ms must be a whole number of milliseconds";
        let numeric = "notification_ids[1] must be a decimal number below 9223372036854775808";
        for (changes, code, message) in [
            (json!({"up_to_ms": null}), BadJson, up_to),
            (json!({"up_to_ms": -1}), BadJson, up_to),
            (json!({"event_ids": []}), InvalidParam, one_of),
            (json!({"notification_ids": []}), InvalidParam, one_of),
            (json!({"room_id": ""}), InvalidParam, "room_id must be 1 to 255 bytes long"),
            (
                json!({"user_id": "alice"}),
                InvalidParam,
                "user_id must be a user id such as @alice:example.org, or the id of an account",
            ),
            (json!({"event_ids": "$1"}), BadJson, "event_ids must be an array"),
            (json!({"event_ids": [1]}), BadJson, "event_ids[0] must be a string"),
            (json!({"notification_ids": ["1", "$1"]}), InvalidParam, numeric),
            (
                json!({"event_ids": ids(1001)}),
                InvalidParam,
                "event_ids must contain at most 1000 ids",
            ),
            (
                json!({"counts": {"unread": -1}}),
                BadJson,
                "counts.unread must be a whole number below 4294967296",
            ),
        ] {
            let mut body = json!({"user_id": "@alice:x", "room_id": "!r:x", "up_to_ms": 5});
            body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            let error = parse(&body).unwrap_err();
            assert_eq!((error.code(), &*error.to_string()), (code, message), "{changes}");
        }
        for (body, message) in [
            (json!({"account": "7", "up_to_ms": 5, "room_id": "!r:x"}), "user_id is missing"),
            (json!({"user_id": "7", "up_to_ms": 5}), "room_id is missing"),
            (json!({"user_id": "7", "event_ids": []}), "room_id is missing"),
            (json!({"user_id": "7", "notification_ids": []}), "account is missing"),
        ] {
            let error = parse(&body).unwrap_err();
            assert_eq!((error.code(), &*error.to_string()), (MissingParam, message), "{body}");
        }
        assert_eq!(parse(&json!({"user_id": "7"})).unwrap_err().to_string(), one_of);
    }

    #[test]
    fn different_requests_have_different_counts_messages() {
        let room = json!({"user_id": "7", "room_id": "!r:x", "up_to_ms": 5, "counts": {}});
        let message_of = |changes: Value| {
            let mut body = room.clone();
            body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            parse(&body).unwrap().counts_message().unwrap()
        };
        let messages = [
            message_of(json!({})),
            message_of(json!({"up_to_ms": 6})),
            message_of(json!({"room_id": "!s:x"})),
            message_of(json!({"counts": {"unread": 1}})),
        ];
        for (index, message) in messages.iter().enumerate() {
            assert!(!messages[..index].contains(message), "{index}");
        }
        assert_eq!(message_of(json!({"counts": {"unread": 0}})), messages[0]);
        let body = json!({"user_id": "7", "room_id": "!r:x", "up_to_ms": 5});
        assert_eq!(parse(&body).unwrap().counts_message(), None);
    }
}
