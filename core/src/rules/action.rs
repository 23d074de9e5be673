//! What a rule does when it wins.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::fields::{At, Fields};
use super::{Extra, RuleError};

/// One item of a rule's `actions`.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Notify the user.
    Notify,
    /// Do not notify. Today the same as no action.
    DontNotify,
    /// Notify later, together with other events. Kept and returned, without effect.
    Coalesce,
    /// The bare word `set_tweak`, which sets no tweak. Kept and returned, without effect.
    BareSetTweak,
    /// How the notification is given: `sound`, `highlight` or what else a client understands.
    SetTweak {
        /// The tweak's name.
        name: String,
        /// Its value; without one the tweak has its default.
        value: Option<TweakValue>,
        /// Other members of the object, kept as they came.
        extra: Extra,
    },
}

/// The value of a tweak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TweakValue {
    /// A name, such as that of a sound.
    String(String),
    /// On or off.
    Boolean(bool),
}

impl Action {
    /// Sets a tweak to its default.
    #[must_use]
    pub fn tweak(name: &str) -> Self {
        Self::SetTweak { name: name.to_owned(), value: None, extra: Extra::new() }
    }

    /// Sets a tweak to a word.
    #[must_use]
    pub fn tweak_to(name: &str, value: &str) -> Self {
        let value = Some(TweakValue::String(value.to_owned()));
        Self::SetTweak { name: name.to_owned(), value, extra: Extra::new() }
    }

    pub(super) fn from_json(value: Value, at: At) -> Result<Self, RuleError> {
        match value {
            Value::String(word) => Ok(match word.as_str() {
                "notify" => Self::Notify,
                "dont_notify" => Self::DontNotify,
                "coalesce" => Self::Coalesce,
                "set_tweak" => Self::BareSetTweak,
                _ => return Err(RuleError::UnknownAction(at.to_string())),
            }),
            Value::Object(_) => {
                let mut fields = Fields::of(value, at)?;
                let name = fields.need_string("set_tweak")?;
                let value = match fields.take("value") {
                    None => None,
                    Some(Value::String(word)) => Some(TweakValue::String(word)),
                    Some(Value::Bool(on)) => Some(TweakValue::Boolean(on)),
                    Some(_) => return Err(fields.wrong_type("value", "a string or a boolean")),
                };
                Ok(Self::SetTweak { name, value, extra: fields.rest() })
            }
            _ => Err(at.wrong_type("a string or an object")),
        }
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Notify => serializer.serialize_str("notify"),
            Self::DontNotify => serializer.serialize_str("dont_notify"),
            Self::Coalesce => serializer.serialize_str("coalesce"),
            Self::BareSetTweak => serializer.serialize_str("set_tweak"),
            Self::SetTweak { name, value, extra } => {
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry("set_tweak", name)?;
                if let Some(value) = value {
                    object.serialize_entry("value", value)?;
                }
                for (key, value) in extra {
                    object.serialize_entry(key, value)?;
                }
                object.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::Class;

    fn read(value: Value) -> Result<Action, RuleError> {
        Action::from_json(value, At::Item("actions", 1))
    }

    #[test]
    fn an_action_is_returned_as_it_came() {
        for wire in [
            json!("notify"),
            json!("dont_notify"),
            json!("coalesce"),
            json!("set_tweak"),
            json!({"set_tweak": "highlight"}),
            json!({"set_tweak": "highlight", "value": false}),
            json!({"set_tweak": "sound", "value": "default"}),
            json!({"set_tweak": "", "value": ""}),
            json!({"set_tweak": "org.x.light", "value": "red", "blink": [1, 2]}),
        ] {
            assert_eq!(json!(read(wire.clone()).unwrap()), wire);
        }
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for (wire, class, text) in [
            (json!("ring"), Class::InvalidParam, "actions[1] must be notify, dont_notify, coal"),
            (json!(""), Class::InvalidParam, "actions[1] must be notify, dont_notify, coalesce"),
            (json!(1), Class::BadJson, "actions[1] must be a string or an object"),
            (json!(null), Class::BadJson, "actions[1] must be a string or an object"),
            (json!(["notify"]), Class::BadJson, "actions[1] must be a string or an object"),
            (json!({"set_sound": "x"}), Class::MissingParam, "actions[1].set_tweak is missing"),
            (json!({"set_tweak": 1}), Class::BadJson, "actions[1].set_tweak must be a string"),
            (
                json!({"set_tweak": "sound", "value": null}),
                Class::BadJson,
                "actions[1].value must be a string or a boolean",
            ),
            (
                json!({"set_tweak": "sound", "value": 1}),
                Class::BadJson,
                "actions[1].value must be a string or a boolean",
            ),
        ] {
            let refusal = read(wire.clone()).unwrap_err();
            assert_eq!(refusal.class(), class, "{wire}");
            assert!(refusal.to_string().starts_with(text), "{wire}: {refusal}");
        }
    }
}
