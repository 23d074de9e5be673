//! Actions of a push rule.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Extra, RuleError};
use crate::json::{self, Fields, Location};

/// One item of a rule's `actions`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Notify,
    /// Do not notify. Deprecated, equivalent to an empty list of actions.
    DontNotify,
    /// Notify later, together with other events. Deprecated; stored without effect.
    Coalesce,
    /// The string `set_tweak`, as in early versions of the specification. Stored without effect.
    #[serde(rename = "set_tweak")]
    BareSetTweak,
    /// Set a property of the notification, such as `sound` or `highlight`.
    #[serde(untagged)]
    SetTweak {
        #[serde(rename = "set_tweak")]
        name: String,
        /// Value of the tweak. If absent, the tweak has its default value.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<TweakValue>,
        /// Other members of the object, stored and returned unchanged.
        #[serde(flatten)]
        extra: Extra,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TweakValue {
    /// A string, such as the name of a sound.
    String(String),
    /// A boolean, such as whether to highlight.
    Boolean(bool),
}

/// Approximate size of a map with one entry, in bytes. The map allocates space for eleven entries.
const MAP_BYTES: usize = 640;

impl Action {
    /// Returns the approximate allocated size in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        let Self::SetTweak { name, value, extra } = self else { return 0 };
        let value_bytes = if let Some(TweakValue::String(text)) = value { text.len() } else { 0 };
        // In memory, unknown members take several times the size of their JSON.
        let extra_bytes =
            if extra.is_empty() { 0 } else { MAP_BYTES + 8 * json::to_bytes(extra).len() };
        name.len() + value_bytes + extra_bytes
    }

    /// Parses an action, which is a string or an object. Errors name its location in the body.
    pub(crate) fn from_json(value: Value, location: Location) -> Result<Self, RuleError> {
        match value {
            Value::String(name) => Ok(match name.as_str() {
                "notify" => Self::Notify,
                "dont_notify" => Self::DontNotify,
                "coalesce" => Self::Coalesce,
                "set_tweak" => Self::BareSetTweak,
                _ => {
                    let requirement =
                        "be notify, dont_notify, coalesce, set_tweak, or an object with set_tweak";
                    return Err(RuleError::invalid_value(location.to_string(), requirement));
                }
            }),
            Value::Object(_) => {
                let mut fields = Fields::new(value, location)?;
                let name = fields.require_string("set_tweak")?;
                let value = match fields.take("value") {
                    None => None,
                    Some(Value::String(text)) => Some(TweakValue::String(text)),
                    Some(Value::Bool(boolean)) => Some(TweakValue::Boolean(boolean)),
                    Some(_) => {
                        return Err(fields.wrong_type("value", "a string or a boolean").into());
                    }
                };
                Ok(Self::SetTweak { name, value, extra: fields.into_remaining() })
            }
            _ => Err(location.wrong_type("a string or an object").into()),
        }
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_json(value, Location::Field("actions")).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::matrix::MatrixErrorCode;

    fn parse_action(value: Value) -> Result<Action, RuleError> {
        Action::from_json(value, Location::Item("actions", 1))
    }

    #[test]
    fn an_action_is_serialized_as_it_was_parsed() {
        for wire_json in [
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
            assert_eq!(json!(parse_action(wire_json.clone()).unwrap()), wire_json);
        }
    }

    #[test]
    fn an_invalid_action_is_rejected_with_its_path() {
        for (wire_json, code, message) in [
            (
                json!("ring"),
                MatrixErrorCode::InvalidParam,
                "actions[1] must be notify, dont_notify, coal",
            ),
            (
                json!(""),
                MatrixErrorCode::InvalidParam,
                "actions[1] must be notify, dont_notify, coalesce",
            ),
            (json!(1), MatrixErrorCode::BadJson, "actions[1] must be a string or an object"),
            (json!(null), MatrixErrorCode::BadJson, "actions[1] must be a string or an object"),
            (
                json!(["notify"]),
                MatrixErrorCode::BadJson,
                "actions[1] must be a string or an object",
            ),
            (
                json!({"set_sound": "x"}),
                MatrixErrorCode::MissingParam,
                "actions[1].set_tweak is missing",
            ),
            (
                json!({"set_tweak": 1}),
                MatrixErrorCode::BadJson,
                "actions[1].set_tweak must be a string",
            ),
            (
                json!({"set_tweak": "sound", "value": null}),
                MatrixErrorCode::BadJson,
                "actions[1].value must be a string or a boolean",
            ),
            (
                json!({"set_tweak": "sound", "value": 1}),
                MatrixErrorCode::BadJson,
                "actions[1].value must be a string or a boolean",
            ),
        ] {
            let error = parse_action(wire_json.clone()).unwrap_err();
            assert_eq!(error.code(), code, "{wire_json}");
            assert!(error.to_string().starts_with(message), "{wire_json}: {error}");
        }
    }
}
