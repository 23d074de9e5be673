//! People and rooms, by the id or link that a user enters.

use super::PreferenceError;
use crate::percent;
use crate::rules::{ConditionKind, Effect, MAX_ID_BYTES, Rule, RuleKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A person, by user id: `@alice:example.org`.
    Person(String),
    /// A room, by room id: `!abc:example.org`.
    Room(String),
}

const LINK_PREFIX: &str = "https://matrix.to/#/";

/// Length of the hash in a room id. Since room version 12, room ids are hashes without a server.
const HASH_CHARS: usize = 43;

impl Subject {
    /// Parses the id of a person or room that can have a rule, or a link to the person or room.
    pub fn parse(text: &str) -> Result<Self, PreferenceError> {
        let subject = Self::parse_any(text)?;
        // A rule id cannot contain these characters, although user ids and room ids can.
        if subject.id().contains(['/', '\\']) {
            return Err(PreferenceError::IdInvalid);
        }
        Ok(subject)
    }

    /// Parses the user id of any person, or a link to the person.
    pub fn parse_person(text: &str) -> Result<String, PreferenceError> {
        match Self::parse_any(text)? {
            Self::Person(id) => Ok(id),
            Self::Room(_) => Err(PreferenceError::IdInvalid),
        }
    }

    /// Parses the id of any person or room, or a link to the person or room.
    fn parse_any(text: &str) -> Result<Self, PreferenceError> {
        let text = text.trim();
        let id_in_link = text.strip_prefix(LINK_PREFIX).and_then(decode_link_id);
        let id = id_in_link.as_deref().unwrap_or(text);
        match id.chars().next() {
            None => Err(PreferenceError::IdBlank),
            Some('#') => Err(PreferenceError::RoomAlias),
            Some(_) if id.len() > MAX_ID_BYTES => Err(PreferenceError::IdTooLong),
            Some('@') if Self::is_user_id(id) => Ok(Self::Person(id.to_owned())),
            Some('!') if Self::is_room_id(id) => Ok(Self::Room(id.to_owned())),
            Some('@') if !id.contains(':') => Err(PreferenceError::PersonWithoutServer),
            Some(_) => Err(PreferenceError::IdInvalid),
        }
    }

    /// Returns the user id or room id, which is also the rule id.
    pub fn id(&self) -> &str {
        match self {
            Self::Person(id) | Self::Room(id) => id,
        }
    }

    /// Returns the kind of a rule for the person or room.
    pub(super) fn kind(&self) -> RuleKind {
        match self {
            Self::Person(_) => RuleKind::Sender,
            Self::Room(_) => RuleKind::Room,
        }
    }

    /// Returns whether an id is a user id.
    pub(super) fn is_user_id(id: &str) -> bool {
        id.strip_prefix('@').and_then(|id| id.split_once(':')).is_some_and(is_localpart_and_server)
    }

    /// Returns whether an id is a room id.
    pub(super) fn is_room_id(id: &str) -> bool {
        let Some(id) = id.strip_prefix('!') else { return false };
        let is_hash = |id: &str| {
            let is_base64_byte =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            id.len() == HASH_CHARS && id.bytes().all(is_base64_byte)
        };
        id.split_once(':').map_or_else(|| is_hash(id), is_localpart_and_server)
    }
}

/// Returns the id of the user or room that a rule of this kind matches, if the rule has no other
/// conditions. An override rule must be silent: Element mutes a room with an override rule whose
/// only condition is the room.
pub(super) fn id_in_rule(kind: RuleKind, rule: &Rule) -> Option<&str> {
    let conditions = rule.conditions.as_deref().unwrap_or_default();
    match (kind, conditions) {
        (RuleKind::Room | RuleKind::Sender, []) => Some(&rule.rule_id),
        (RuleKind::Override, [condition])
            if Effect::from_actions(&rule.actions) == Effect::Silent =>
        {
            match &condition.kind {
                ConditionKind::EventMatch { key, pattern }
                    if key == "room_id" && !pattern.contains(['*', '?']) =>
                {
                    Some(pattern)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Decodes the id in the part of a link after the prefix. An event id and the servers to join
/// through may follow it.
fn decode_link_id(link_target: &str) -> Option<String> {
    let encoded_id = link_target.split(['/', '?']).next()?;
    percent::decode_segment(encoded_id).ok().map(Into::into)
}

fn is_localpart_and_server((localpart, server): (&str, &str)) -> bool {
    let is_plain_char = |c: char| !c.is_whitespace() && !c.is_control();
    let is_host_char =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    let is_server =
        server.chars().all(is_host_char) && server.contains(|c: char| c != '.' && c != ':');
    !localpart.is_empty() && localpart.chars().all(is_plain_char) && !server.is_empty() && is_server
}

#[cfg(test)]
mod tests {
    use super::*;

    /// People and rooms can have an id with a slash, but then they cannot have a rule.
    #[test]
    fn people_and_rooms_are_parsed_from_an_id_or_a_link() {
        for (text, person, has_rule) in [
            ("@bob:example.org", Some("@bob:example.org"), true),
            (" @bob:example.org ", Some("@bob:example.org"), true),
            ("https://matrix.to/#/@bob:example.org", Some("@bob:example.org"), true),
            ("@bob/work:example.org", Some("@bob/work:example.org"), false),
            ("!tea:example.org", None, true),
            ("https://matrix.to/#/!tea:example.org", None, true),
            ("!tea/cake:example.org", None, false),
            ("#tea:example.org", None, false),
            ("https://example.org/", None, false),
            ("", None, false),
        ] {
            assert_eq!(Subject::parse_person(text).ok().as_deref(), person, "{text}");
            assert_eq!(Subject::parse(text).is_ok(), has_rule, "{text}");
        }
    }
}
