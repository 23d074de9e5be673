//! The bodies of requests for verdicts: an event, its room, and who is asked about it.

use serde_json::Value;

use super::evaluate::{Member, PowerLevels, Room};
use super::event::Event;
use super::{ProfileTag, RuleError};
use crate::json::{self, Fields, Location};

/// What is known of a room, and of the one user who is asked about it.
#[derive(Debug, Default)]
pub struct RoomFacts {
    /// The room.
    pub room: Room,
    /// What the user is called there.
    pub display_name: Option<String>,
}

/// A request for one user's verdict, explained.
#[derive(Debug)]
pub struct ExplainRequest {
    /// The event.
    pub event: Event,
    /// The room it is in.
    pub room: Room,
    display_name: Option<String>,
    profile_tag: Option<ProfileTag>,
}

/// A request for the verdicts of many users.
#[derive(Debug)]
pub struct EvaluateRequest {
    /// The event.
    pub event: Event,
    /// The room it is in.
    pub room: Room,
    /// Who is asked, in the order of the body.
    pub members: Vec<RequestedMember>,
    /// Whether those are told too who are not notified.
    pub all: bool,
}

/// One of many users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedMember {
    /// The user's id.
    pub user_id: Box<str>,
    display_name: Option<Box<str>>,
    profile_tag: Option<ProfileTag>,
}

impl RoomFacts {
    /// Reads what stands in `room` of a request, by itself.
    ///
    /// # Errors
    /// When it is no JSON object, or has a field of the wrong type.
    pub fn read(json: &[u8]) -> Result<Self, RuleError> {
        Self::of(Fields::of(json::read(json)?, ROOM)?)
    }

    fn of(mut facts: Fields) -> Result<Self, RuleError> {
        Ok(Self { room: known(&mut facts)?, display_name: facts.take_string("display_name")? })
    }
}

impl ExplainRequest {
    /// Reads the body of a `POST` of `explain`.
    ///
    /// # Errors
    /// When it is no JSON object, has no event, or a field of the wrong type.
    pub fn read(body: &[u8]) -> Result<Self, RuleError> {
        let mut fields = Fields::read(body)?;
        let event = event(&mut fields)?;
        let RoomFacts { room, display_name } = RoomFacts::of(room(&mut fields)?)?;
        Ok(Self { event, room, display_name, profile_tag: profile_tag(&mut fields)? })
    }

    /// What is known of the user who asks.
    #[must_use]
    pub fn member(&self) -> Member<'_> {
        Member {
            display_name: self.display_name.as_deref(),
            profile_tag: self.profile_tag.as_ref().map(ProfileTag::as_str),
        }
    }
}

impl EvaluateRequest {
    /// Reads the body of a `POST` of `evaluate`. The members are read one by one, so that a
    /// hundred thousand of them take little more than their names.
    ///
    /// # Errors
    /// When it is no JSON object, has no event or members, or a field of the wrong type.
    pub fn read(body: &[u8]) -> Result<Self, RuleError> {
        let mut members = Vec::new();
        let rest = json::read_streamed(body, "members", |number, value| {
            members.push(RequestedMember::read(value, Location::Item("members", number))?);
            Ok::<_, RuleError>(())
        })?;
        let mut fields = Fields::of(rest, Location::Body)?;
        if !fields.need("members")?.is_array() {
            return Err(fields.wrong_type("members", "an array").into());
        }
        let event = event(&mut fields)?;
        let room = known(&mut room(&mut fields)?)?;
        let all = fields.take_bool("all")?.unwrap_or_default();
        Ok(Self { event, room, members, all })
    }
}

impl RequestedMember {
    fn read(value: Value, location: Location) -> Result<Self, RuleError> {
        let mut fields = Fields::of(value, location)?;
        Ok(Self {
            user_id: fields.need_string("user_id")?.into(),
            display_name: fields.take_string("display_name")?.map(Into::into),
            profile_tag: profile_tag(&mut fields)?,
        })
    }

    /// What is known of the user.
    #[must_use]
    pub fn member(&self) -> Member<'_> {
        Member {
            display_name: self.display_name.as_deref(),
            profile_tag: self.profile_tag.as_ref().map(ProfileTag::as_str),
        }
    }
}

fn event(fields: &mut Fields) -> Result<Event, RuleError> {
    let event = Event::from_value(fields.need("event")?);
    event.map_err(|_| fields.wrong_type("event", "a JSON object").into())
}

const ROOM: Location = Location::Field("room");

/// The facts of the room; none when nothing is said of it.
fn room(fields: &mut Fields) -> Result<Fields, RuleError> {
    let facts = fields.take("room").unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    Ok(Fields::of(facts, ROOM)?)
}

fn known(facts: &mut Fields) -> Result<Room, RuleError> {
    let count = facts.take("member_count").map(|count| {
        count.as_u64().ok_or_else(|| facts.wrong_type("member_count", "a whole number"))
    });
    let levels = facts.take("power_levels").map(|levels| power_levels(facts, levels));
    let creators = facts.take("creators").map(|creators| {
        let refusal = |_| facts.wrong_type("creators", "an array of user ids");
        serde_json::from_value(creators).map_err(refusal)
    });
    Ok(Room {
        member_count: count.transpose()?,
        power_levels: levels.transpose()?,
        creators: creators.transpose()?.unwrap_or_default(),
    })
}

fn power_levels(facts: &Fields, levels: Value) -> Result<PowerLevels, RuleError> {
    const WANTED: &str = "the content of an m.room.power_levels event, with integers for levels";
    let refusal = || RuleError::from(facts.wrong_type("power_levels", WANTED));
    // serde would read an array as the fields in their order.
    if !levels.is_object() {
        return Err(refusal());
    }
    serde_json::from_value(levels).map_err(|_| refusal())
}

fn profile_tag(fields: &mut Fields) -> Result<Option<ProfileTag>, RuleError> {
    Ok(fields.take_string("profile_tag")?.map(|tag| tag.parse()).transpose()?)
}

#[cfg(test)]
mod tests;
