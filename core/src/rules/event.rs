//! Events, and the paths to those of their properties that conditions can test.

#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::Scalar;
use super::pattern::SearchText;

/// A Matrix event, whose properties are tested by rule conditions.
#[derive(Debug)]
pub struct Event {
    members: Map<String, Value>,
    body: Option<SearchText>,
    /// The events that this one is related to, by relation type, as far as they are known.
    related_events: BTreeMap<String, Self>,
}

/// The relation type of the event that is replied to.
const REPLY: &str = "m.in_reply_to";

pub(super) static BODY_PATH: LazyLock<PropertyPath> =
    LazyLock::new(|| PropertyPath::parse("content.body"));

impl Event {
    /// Reads an event from its JSON; `None` if the JSON is not an object.
    pub fn from_value(event: Value) -> Option<Self> {
        let Value::Object(mut members) = event else { return None };
        // In the oldest event format of Matrix, the sender is in `user_id`.
        if !members.get("sender").is_some_and(Value::is_string)
            && let Some(sender) = members.get("user_id").filter(|id| id.is_string()).cloned()
        {
            members.insert("sender".to_owned(), sender);
        }
        let mut event = Self { members, body: None, related_events: BTreeMap::new() };
        event.body = event.get(&BODY_PATH).and_then(Value::as_str).map(SearchText::new);
        Some(event)
    }

    /// Adds the events that this one is related to, from a JSON object of events by relation type.
    /// `None` if the JSON is not such an object.
    pub fn with_related_events(self, related_events: Value) -> Option<Self> {
        let Value::Object(events) = related_events else { return None };
        let events = events.into_iter().map(|(name, event)| Some((name, Self::from_value(event)?)));
        Some(Self { related_events: events.collect::<Option<_>>()?, ..self })
    }

    /// Returns the event that this one is related to; `None` if it is unknown.
    pub(super) fn related_event(&self, rel_type: &str) -> Option<&Self> {
        self.related_events.get(rel_type)
    }

    /// Returns whether the event names a related event, or the related event is known. In a thread,
    /// clients mark each message as a reply, for clients without threads; such a fallback is a
    /// relation only if `include_fallbacks` is true.
    pub(super) fn has_relation(&self, rel_type: &str, include_fallbacks: bool) -> bool {
        let relation = self.members.get("content").map(|content| &content["m.relates_to"]);
        let names_event = |relation: &Value| {
            let is_type = relation["rel_type"] == rel_type && relation["event_id"].is_string();
            is_type || rel_type == REPLY && relation[REPLY]["event_id"].is_string()
        };
        let is_fallback =
            |relation: &Value| rel_type == REPLY && relation["is_falling_back"] == true;
        (include_fallbacks || !relation.is_some_and(is_fallback))
            && (self.related_events.contains_key(rel_type) || relation.is_some_and(names_event))
    }

    /// Returns the event's top-level members.
    pub(crate) fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    /// Returns the value at a path, if it can be compared: a string, an integer, a boolean, null,
    /// or an array.
    pub(super) fn get(&self, path: &PropertyPath) -> Option<&Value> {
        let (first, rest) = path.names().split_first()?;
        let top_value = self.members.get(&**first)?;
        let value = rest.iter().try_fold(top_value, |value, name| value.get(&**name))?;
        (value.is_array() || is_scalar(value)).then_some(value)
    }

    /// Returns the items of the array at a path; empty if there is no array.
    pub(super) fn items(&self, path: &PropertyPath) -> &[Value] {
        self.get(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the value at a path, truncated. Array items that cannot be compared are omitted.
    pub(super) fn excerpt(&self, path: &PropertyPath) -> Option<Value> {
        Some(match self.get(path)? {
            Value::Array(items) => {
                let items = items.iter().filter(|item| is_scalar(item));
                items.take(MAX_EXCERPT_LENGTH).map(excerpt).collect()
            }
            value => excerpt(value),
        })
    }

    /// Returns the message text, prepared for searching.
    pub(super) fn body(&self) -> Option<&SearchText> {
        self.body.as_ref()
    }

    pub fn event_id(&self) -> Option<&str> {
        self.members.get("event_id")?.as_str()
    }

    /// Returns the sender's user id.
    pub fn sender(&self) -> Option<&str> {
        self.members.get("sender")?.as_str()
    }

    /// Returns whether the event changes the membership of this user.
    pub fn changes_membership_of(&self, user_id: &str) -> bool {
        let has = |name: &str, text| self.members.get(name).and_then(Value::as_str) == Some(text);
        has("type", "m.room.member") && has("state_key", user_id)
    }

    /// Returns whether the event has `m.mentions` in its content, even if it is empty.
    pub fn has_mentions(&self) -> bool {
        self.members.get("content").is_some_and(|content| content.get("m.mentions").is_some())
    }
}

/// Maximum number of characters of a string, or items of an array, in an excerpt.
const MAX_EXCERPT_LENGTH: usize = 100;

/// Returns a copy of a scalar. Long strings are truncated.
pub(super) fn excerpt(value: &Value) -> Value {
    let excerpt_end = |text: &String| Some(text.char_indices().nth(MAX_EXCERPT_LENGTH)?.0);
    match value {
        Value::String(text) if let Some(end) = excerpt_end(text) => {
            format!("{}…", &text[..end]).into()
        }
        value => value.clone(),
    }
}

/// Returns whether a value can be compared with a [`Scalar`].
fn is_scalar(value: &Value) -> bool {
    match value {
        Value::String(_) | Value::Bool(_) | Value::Null => true,
        Value::Number(number) => number.as_i64().and_then(Scalar::from_integer).is_some(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// The path to a property: the names of the enclosing objects, then its own name.
///
/// In text the names are joined by dots. Within a name `\.` is a dot and `\\` a backslash; a
/// backslash before any other character is literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyPath(Box<[Box<str>]>);

impl PropertyPath {
    /// Parses a dotted path. Every string is a valid path, because names may be empty.
    pub fn parse(text: &str) -> Self {
        let mut names = vec![String::new()];
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if character == '.' {
                names.push(String::new());
                continue;
            }
            let escaped = match character {
                '\\' => characters.next_if(|next| matches!(next, '.' | '\\')),
                _ => None,
            };
            if let Some(name) = names.last_mut() {
                name.push(escaped.unwrap_or(character));
            }
        }
        Self(names.into_iter().map(String::into_boxed_str).collect())
    }

    /// Returns the allocated size in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.0) + self.0.iter().map(|name| name.len()).sum::<usize>()
    }

    /// Returns the names, outermost first.
    pub fn names(&self) -> &[Box<str>] {
        &self.0
    }
}
