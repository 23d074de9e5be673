//! The bodies of evaluation requests: an event, its room, and the users to evaluate it for.

use serde_json::{Value, json};

use super::evaluate::{Member, Room};
use super::event::Event;
use super::{ProfileTag, RuleError};
use crate::json::{self, Fields, Location};

/// The form of `related_events`, for an error.
pub const RELATED_EVENTS_FORM: &str = "an object of events, by relation type";

/// The `room` of an explain request: the room's state, and the user's display name in it.
#[derive(Debug, Default)]
pub struct ExplainRoom {
    /// Member count, power levels and creators.
    pub room: Room,
    pub display_name: Option<String>,
}

#[derive(Debug)]
pub struct ExplainRequest {
    pub event: Event,
    pub room: Room,
    display_name: Option<String>,
    profile_tag: Option<ProfileTag>,
}

/// A request to evaluate an event for many users.
#[derive(Debug)]
pub struct EvaluateRequest {
    pub event: Event,
    pub room: Room,
    /// The users, in the order of the body.
    pub members: Vec<RequestedMember>,
    /// True if the response also lists users that are not notified.
    pub all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedMember {
    /// The user id, or the id of an account on this server.
    pub id: Box<str>,
    display_name: Option<Box<str>>,
    profile_tag: Option<ProfileTag>,
}

impl ExplainRoom {
    pub fn parse(json: &[u8]) -> Result<Self, RuleError> {
        Self::from_fields(Fields::new(json::parse(json)?, ROOM_LOCATION)?)
    }

    fn from_fields(mut fields: Fields) -> Result<Self, RuleError> {
        let room = read_room(&mut fields)?;
        Ok(Self { room, display_name: fields.take_string("display_name")? })
    }
}

impl ExplainRequest {
    pub fn parse(body: &[u8]) -> Result<Self, RuleError> {
        let mut fields = Fields::parse(body)?;
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
    pub fn parse(body: &[u8]) -> Result<Self, RuleError> {
        Self::parse_extended(body, |_, _| Ok(())).map(|(request, _)| request)
    }

    /// Creates a request to evaluate an event without type and text for one user, whom it may
    /// mention. Such an event matches only rules that apply to everything, or to mentions.
    pub(crate) fn without_content(user_id: &str, mentions_user: bool) -> Self {
        let mentioned_users = mentions_user.then_some(user_id).into_iter().collect::<Vec<_>>();
        let event = json!({ "content": { "m.mentions": { "user_ids": mentioned_users } } });
        let member = RequestedMember { id: user_id.into(), display_name: None, profile_tag: None };
        Self {
            event: Event::from_value(event).expect("the JSON is an object"),
            room: Room::default(),
            members: vec![member],
            all: true,
        }
    }

    /// Parses a body with the fields of `evaluate` and others, which are returned. Members are
    /// parsed one by one, because the JSON values of 100,000 members would take several times the
    /// memory. `on_member` gets the fields of each member first, and may take some of them.
    pub(crate) fn parse_extended(
        body: &[u8],
        mut on_member: impl FnMut(&mut Fields, Location) -> Result<(), RuleError>,
    ) -> Result<(Self, RemainingFields), RuleError> {
        let mut members = Vec::new();
        let body_without_members = json::parse_streamed(body, "members", |index, value| {
            let location = Location::Item("members", index);
            let mut fields = Fields::new(value, location)?;
            on_member(&mut fields, location)?;
            members.push(RequestedMember::from_fields(&mut fields)?);
            Ok::<_, RuleError>(())
        })?;
        let mut fields = Fields::new(body_without_members, Location::Body)?;
        if !fields.require("members")?.is_array() {
            return Err(fields.wrong_type("members", "an array").into());
        }
        let event = take_event(&mut fields)?;
        let mut room_fields = take_room_fields(&mut fields)?;
        let room = read_room(&mut room_fields)?;
        let all = fields.take_bool("all")?.unwrap_or_default();
        let remaining_fields = RemainingFields { body: fields, room: room_fields };
        Ok((Self { event, room, members, all }, remaining_fields))
    }
}

pub(crate) struct RemainingFields {
    pub(crate) body: Fields,
    pub(crate) room: Fields,
}

impl RequestedMember {
    fn from_fields(fields: &mut Fields) -> Result<Self, RuleError> {
        Ok(Self {
            id: fields.require_string("user_id")?.into(),
            display_name: fields.take_string("display_name")?.map(Into::into),
            profile_tag: take_profile_tag(fields)?,
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

/// Reads the event, with the events that it is related to.
fn take_event(fields: &mut Fields) -> Result<Event, RuleError> {
    let event = Event::from_value(fields.require("event")?);
    let event = event.ok_or_else(|| fields.wrong_type("event", "a JSON object"))?;
    let Some(related_events) = fields.take("related_events") else { return Ok(event) };
    let event = event.with_related_events(related_events);
    Ok(event.ok_or_else(|| fields.wrong_type("related_events", RELATED_EVENTS_FORM))?)
}

const ROOM_LOCATION: Location = Location::Field("room");

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
