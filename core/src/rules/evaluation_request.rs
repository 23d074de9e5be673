//! The bodies of evaluation requests: an event, its room, and the users to evaluate it for.

use serde_json::Value;

use super::evaluate::{Member, Room};
use super::event::Event;
use super::{ProfileTag, RuleError};
use crate::json::{self, Fields, JsonError, Location, find_suggestion};

/// The `room` of an explain request: the room's state, and the user's display name in it.
#[derive(Debug, Default)]
pub struct ExplainRoom {
    /// Member count, power levels and creators.
    pub room: Room,
    /// The user's display name in the room.
    pub display_name: Option<String>,
}

/// A request to explain the evaluation of an event for one user.
#[derive(Debug)]
pub struct ExplainRequest {
    /// The event to evaluate.
    pub event: Event,
    /// The room that the event was sent to.
    pub room: Room,
    display_name: Option<String>,
    profile_tag: Option<ProfileTag>,
}

/// A request to evaluate an event for many users.
#[derive(Debug)]
pub struct EvaluateRequest {
    /// The event to evaluate.
    pub event: Event,
    /// The room that the event was sent to.
    pub room: Room,
    /// The users, in the order of the body.
    pub members: Vec<RequestedMember>,
    /// True if the response also lists users that are not notified.
    pub all: bool,
}

/// A user in an [`EvaluateRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedMember {
    /// The user id.
    pub user_id: Box<str>,
    display_name: Option<Box<str>>,
    profile_tag: Option<ProfileTag>,
}

impl ExplainRoom {
    /// Parses the JSON of a `room`.
    pub fn read(json: &[u8]) -> Result<Self, RuleError> {
        Self::from_fields(Fields::new(json::parse(json)?, ROOM_LOCATION)?)
    }

    fn from_fields(mut fields: Fields) -> Result<Self, RuleError> {
        fields.check_spelling(&[&ROOM_FIELDS[..], &["display_name"]].concat())?;
        let room = read_room(&mut fields)?;
        Ok(Self { room, display_name: fields.take_string("display_name")? })
    }
}

impl ExplainRequest {
    /// Parses the body of a `POST` request to `explain`.
    pub fn read(body: &[u8]) -> Result<Self, RuleError> {
        let mut fields = Fields::read(body)?;
        fields.check_spelling(&["event", "room", "profile_tag"])?;
        let event = take_event(&mut fields)?;
        let ExplainRoom { room, display_name } =
            ExplainRoom::from_fields(take_room_fields(&mut fields)?)?;
        Ok(Self { event, room, display_name, profile_tag: take_profile_tag(&mut fields)? })
    }

    /// Returns the user as a member of the room.
    pub fn member(&self) -> Member<'_> {
        Member {
            display_name: self.display_name.as_deref(),
            profile_tag: self.profile_tag.as_ref().map(ProfileTag::as_str),
        }
    }
}

impl EvaluateRequest {
    /// Parses the body of a `POST` request to `evaluate`. Members are parsed one by one, because
    /// the JSON values of 100,000 members would take several times the memory.
    pub fn read(body: &[u8]) -> Result<Self, RuleError> {
        let mut members = Vec::new();
        let body_without_members =
            json::parse_streamed(body, json::MAX_DEPTH, "members", |index, value| {
                members.push(RequestedMember::from_json(value, Location::Item("members", index))?);
                Ok::<_, RuleError>(())
            })?;
        let mut fields = Fields::new(body_without_members, Location::Body)?;
        fields.check_spelling(&["event", "room", "members", "all"])?;
        if !fields.require("members")?.is_array() {
            return Err(fields.wrong_type("members", "an array").into());
        }
        let event = take_event(&mut fields)?;
        let mut room_fields = take_room_fields(&mut fields)?;
        room_fields.check_spelling(&ROOM_FIELDS)?;
        let room = read_room(&mut room_fields)?;
        let all = fields.take_bool("all")?.unwrap_or_default();
        Ok(Self { event, room, members, all })
    }
}

impl RequestedMember {
    fn from_json(value: Value, location: Location) -> Result<Self, RuleError> {
        let mut fields = Fields::new(value, location)?;
        fields.check_spelling(&["user_id", "display_name", "profile_tag"])?;
        Ok(Self {
            user_id: fields.require_string("user_id")?.into(),
            display_name: fields.take_string("display_name")?.map(Into::into),
            profile_tag: take_profile_tag(&mut fields)?,
        })
    }

    /// Returns the user as a member of the room.
    pub fn member(&self) -> Member<'_> {
        Member {
            display_name: self.display_name.as_deref(),
            profile_tag: self.profile_tag.as_ref().map(ProfileTag::as_str),
        }
    }
}

/// The fields of an event that rules test most. Without one of them, rules would match other events
/// than the application service expects.
const EVENT_FIELDS: [&str; 4] = ["type", "sender", "room_id", "content"];

fn take_event(fields: &mut Fields) -> Result<Event, RuleError> {
    let event = Event::from_value(fields.require("event")?)
        .ok_or_else(|| fields.wrong_type("event", "a JSON object"))?;
    // An event may have a field that resembles one of these in addition to it.
    let members = event.members();
    let missing_fields: Vec<&str> =
        EVENT_FIELDS.into_iter().filter(|name| !members.contains_key(*name)).collect();
    for name in members.keys() {
        if let Some(suggestion) = find_suggestion(name, &missing_fields) {
            let field = format!("event.{name}");
            return Err(JsonError::MisspeltField { field, suggestion }.into());
        }
    }
    Ok(event)
}

const ROOM_LOCATION: Location = Location::Field("room");

/// The fields of `room` that describe its state.
const ROOM_FIELDS: [&str; 3] = ["member_count", "power_levels", "creators"];

/// Returns the fields of `room`. If `room` is absent, there are none.
fn take_room_fields(fields: &mut Fields) -> Result<Fields, RuleError> {
    let room = fields.take("room").unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    Ok(Fields::new(room, ROOM_LOCATION)?)
}

fn read_room(fields: &mut Fields) -> Result<Room, RuleError> {
    const EXPECTED_LEVELS: &str =
        "the content of an m.room.power_levels event, with integers for levels";
    let member_count = fields.take_as("member_count", "a whole number")?;
    let power_levels = fields
        .take("power_levels")
        .map(|levels| {
            // Checked here, because serde would also accept an array with the fields in order.
            let levels = levels.is_object().then(|| serde_json::from_value(levels).ok()).flatten();
            levels.ok_or_else(|| fields.wrong_type("power_levels", EXPECTED_LEVELS))
        })
        .transpose()?;
    let creators = fields.take_as("creators", "an array of user ids")?.unwrap_or_default();
    Ok(Room { member_count, power_levels, creators })
}

fn take_profile_tag(fields: &mut Fields) -> Result<Option<ProfileTag>, RuleError> {
    Ok(fields.take_string("profile_tag")?.map(|tag| tag.parse()).transpose()?)
}

#[cfg(test)]
mod tests;
