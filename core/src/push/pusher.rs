//! Requests of Matrix clients that set, delete or activate a pusher, and the pushers in responses.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;

use super::address::PushAddressPolicy;
use super::endpoint::{Endpoint, EndpointError};
use super::keys::{InvalidKey, WebPushKeys};
use super::receiver::{Protocol, Pusher, PusherKind};
use crate::json::{self, Fields, JsonError, Location};
use crate::matrix::MatrixErrorCode;
use crate::rules::{IdError, ProfileTag};
use crate::secret::{Secret, Sha256Digest};

const GATEWAY_PATH: &str = "/_matrix/push/v1/notify";

/// The only known value of `format`; with any other, messages contain the full event.
const EVENT_ID_ONLY: &str = "event_id_only";

/// The name of the field `enabled` until MSC3881 is part of the specification.
const UNSTABLE_ENABLED: &str = "org.matrix.msc3881.enabled";

const MAX_APP_ID_BYTES: usize = 64;
const MAX_PUSHKEY_BYTES: usize = 512;
const MAX_DATA_BYTES: usize = 8 * 1024;
/// Maximum length of each string that is only displayed.
const MAX_NAME_BYTES: usize = 255;

/// Time limit for a client to acknowledge a pusher.
pub const ACK_LIFETIME: Duration = Duration::from_mins(5);

/// A request to set or delete a pusher, which is identified by its app id and push key.
pub enum PusherRequest {
    Set(Box<NewPusher>),
    Delete {
        app_id: String,
        /// Identifies the device to the app's gateway.
        pushkey: String,
    },
}

pub struct NewPusher {
    pub pusher: Pusher,
    /// The URL to which messages are sent.
    pub endpoint: Endpoint,
    /// The client's keys, if messages are sent by Web Push.
    pub keys: Option<WebPushKeys>,
}

/// A request to activate a pusher, which proves that the client receives its messages (MSC4174).
#[derive(Debug)]
pub struct ActivationRequest {
    pub app_id: String,
    pub ack_token: Secret,
}

/// The acknowledgement that a pusher requires before it is activated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingAck {
    /// The digest of the token that the device must return.
    pub digest: Sha256Digest,
    /// When that token expires.
    pub expires_at: Timestamp,
}

/// The reason no pusher is activated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivationError {
    /// The user has no pusher of the app.
    NoPusher,
    /// None of the app's pushers waits for this token.
    UnknownToken,
    ExpiredToken,
}

/// The reason a request about pushers is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PusherError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error(
        "kind must be http, webpush or org.matrix.msc4174.webpush, or null to delete the pusher; \
         other kinds, such as email, are not supported"
    )]
    Kind,
    /// NUL cannot be stored in PostgreSQL.
    #[error("{field} must have 1 to {max_bytes} bytes, and no NUL character")]
    Id { field: &'static str, max_bytes: usize },
    #[error("{field} may have at most {max_bytes} bytes")]
    TooLong { field: &'static str, max_bytes: usize },
    #[error("profile_tag: {0}")]
    ProfileTag(#[from] IdError),
    #[error("data.url: {0}")]
    Url(#[from] EndpointError),
    #[error("the path of data.url must be {GATEWAY_PATH}")]
    Path,
    #[error("{}", match .0 {
        InvalidKey::PublicKey => "pushkey must be the base64url of an uncompressed P-256 public \
            key (65 bytes)",
        InvalidKey::Auth => "data.auth must be the base64url of 16 bytes",
    })]
    Key(#[from] InvalidKey),
}

impl PusherError {
    pub fn code(&self) -> MatrixErrorCode {
        match self {
            Self::Json(error) => error.into(),
            _ => MatrixErrorCode::InvalidParam,
        }
    }
}

impl PusherRequest {
    /// Parses and validates the body of `POST pushers/set`.
    pub fn parse(body: &[u8], address_policy: &PushAddressPolicy) -> Result<Self, PusherError> {
        let mut fields = Fields::parse(body)?;
        let app_id = require_id(&mut fields, "app_id", MAX_APP_ID_BYTES)?;
        let pushkey = require_id(&mut fields, "pushkey", MAX_PUSHKEY_BYTES)?;
        let kind = match fields.require("kind")? {
            Value::Null => return Ok(Self::Delete { app_id, pushkey }),
            Value::String(name) => PusherKind::from_name(&name).ok_or(PusherError::Kind)?,
            _ => return Err(PusherError::Kind),
        };
        let mut pusher = Pusher {
            kind,
            app_id,
            pushkey,
            app_display_name: require_name(&mut fields, "app_display_name")?,
            device_display_name: require_name(&mut fields, "device_display_name")?,
            profile_tag: take_profile_tag(&mut fields)?,
            lang: require_name(&mut fields, "lang")?,
            data: serde_json::Map::new(),
            enabled: take_enabled(&mut fields)?,
            append: take_flag(&mut fields, "append")?.unwrap_or_default(),
        };
        let (endpoint, keys) = read_data(&mut pusher, fields.require("data")?, address_policy)?;
        Ok(Self::Set(Box::new(NewPusher { pusher, endpoint, keys })))
    }
}

impl ActivationRequest {
    /// Parses the body of `POST pushers/ack`.
    pub fn parse(body: &[u8]) -> Result<Self, PusherError> {
        let mut fields = Fields::parse(body)?;
        let app_id = require_id(&mut fields, "app_id", MAX_APP_ID_BYTES)?;
        Ok(Self { app_id, ack_token: Secret::new(fields.require_string("ack_token")?) })
    }

    pub fn digest(&self) -> Sha256Digest {
        Sha256Digest::compute(self.ack_token.reveal())
    }

    /// Finds the pusher to activate among the user's pushers, each with its id and its pending
    /// acknowledgement.
    pub fn find_pusher<'a>(
        &self,
        pushers: impl IntoIterator<Item = (i64, &'a Pusher, Option<PendingAck>)>,
        now: Timestamp,
    ) -> Result<(i64, &'a Pusher), ActivationError> {
        let mut error = ActivationError::NoPusher;
        for (id, pusher, pending_ack) in pushers {
            if pusher.app_id != self.app_id {
                continue;
            }
            match pending_ack.filter(|ack| ack.digest == self.digest()) {
                Some(ack) if now < ack.expires_at => return Ok((id, pusher)),
                Some(_) => return Err(ActivationError::ExpiredToken),
                None => error = ActivationError::UnknownToken,
            }
        }
        Err(error)
    }
}

impl Pusher {
    /// Removes the push key and the client's data, with which other apps of the account could take
    /// the device over, or send to it. The fields remain, because clients require them.
    pub fn redact(&mut self) {
        self.pushkey.clear();
        self.data = [("url".to_owned(), Value::from(""))].into_iter().collect();
    }

    /// Returns the pusher as `GET pushers` lists it. `is_activated` is shown only for Web Push,
    /// because other pushers need no activation.
    pub fn to_json(&self, is_activated: bool) -> Value {
        let mut json = json!({
            "app_id": self.app_id,
            "pushkey": self.pushkey,
            "kind": self.kind,
            "app_display_name": self.app_display_name,
            "device_display_name": self.device_display_name,
            "lang": self.lang,
            "data": self.data,
            UNSTABLE_ENABLED: self.enabled,
        });
        if let Some(profile_tag) = &self.profile_tag {
            json["profile_tag"] = profile_tag.as_str().into();
        }
        if self.protocol() == Protocol::WebPush {
            json["activated"] = is_activated.into();
        }
        json
    }

    /// Returns whether messages contain only the ids of the event and the room.
    pub(super) fn wants_event_id_only(&self) -> bool {
        self.data.get("format").and_then(Value::as_str) == Some(EVENT_ID_ONLY)
    }
}

fn read_data(
    pusher: &mut Pusher,
    data: Value,
    address_policy: &PushAddressPolicy,
) -> Result<(Endpoint, Option<WebPushKeys>), PusherError> {
    if json::to_bytes(&data).len() > MAX_DATA_BYTES {
        return Err(PusherError::TooLong { field: "data", max_bytes: MAX_DATA_BYTES });
    }
    let mut fields = Fields::new(data, Location::Field("data"))?;
    let url = fields.require_string("url")?;
    let endpoint = Endpoint::parse(&url, address_policy)?;
    let keys = match pusher.protocol() {
        Protocol::WebPush => {
            Some(WebPushKeys::parse(&pusher.pushkey, &fields.require_string("auth")?)?)
        }
        _ if endpoint.url().path() != GATEWAY_PATH => return Err(PusherError::Path),
        _ => None,
    };
    let format: Option<String> = take_optional(&mut fields, "format", "a string")?;
    pusher.data = fields.into_remaining();
    pusher.data.extend(format.map(|format| ("format".to_owned(), format.into())));
    pusher.data.insert("url".to_owned(), url.into());
    Ok((endpoint, keys))
}

fn require_id(
    fields: &mut Fields,
    field: &'static str,
    max_bytes: usize,
) -> Result<String, PusherError> {
    let id = fields.require_string(field)?;
    let is_valid = (1..=max_bytes).contains(&id.len()) && !id.contains('\0');
    if is_valid { Ok(id) } else { Err(PusherError::Id { field, max_bytes }) }
}

fn require_name(fields: &mut Fields, field: &'static str) -> Result<String, PusherError> {
    let name = fields.require_string(field)?;
    if name.len() > MAX_NAME_BYTES {
        return Err(PusherError::TooLong { field, max_bytes: MAX_NAME_BYTES });
    }
    Ok(name)
}

/// Takes the profile tag. An empty one counts as absent.
fn take_profile_tag(fields: &mut Fields) -> Result<Option<String>, PusherError> {
    let tag: Option<String> = take_optional(fields, "profile_tag", "a string")?;
    let tag = tag.filter(|tag| !tag.is_empty());
    if let Some(tag) = &tag {
        tag.parse::<ProfileTag>()?;
    }
    Ok(tag)
}

fn take_enabled(fields: &mut Fields) -> Result<bool, PusherError> {
    let unstable_value = take_flag(fields, UNSTABLE_ENABLED)?;
    let stable_value = take_flag(fields, "enabled")?;
    Ok(unstable_value.or(stable_value).unwrap_or(true))
}

fn take_flag(fields: &mut Fields, name: &str) -> Result<Option<bool>, PusherError> {
    take_optional(fields, name, "a boolean")
}

/// Takes a field that some clients send as `null` instead of omitting it.
fn take_optional<T: serde::de::DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    expected: &'static str,
) -> Result<Option<T>, PusherError> {
    Ok(fields.take_as::<Option<T>>(name, expected)?.flatten())
}

#[cfg(test)]
mod tests;
