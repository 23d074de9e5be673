//! Actions of a push rule, and their effect on its user.

use std::collections::BTreeMap;

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

pub(crate) fn collect_tweaks<'a>(
    actions: impl Iterator<Item = &'a Action>,
) -> BTreeMap<&'a str, TweakValue> {
    let read_tweak = |action: &'a Action| match action {
        Action::SetTweak { name, value, .. } => {
            Some((name.as_str(), value.clone().unwrap_or_else(|| default_tweak_value(name))))
        }
        _ => None,
    };
    actions.filter_map(read_tweak).collect()
}

/// Returns the value of a tweak that is set without one.
fn default_tweak_value(name: &str) -> TweakValue {
    match name {
        "sound" => TweakValue::String("default".to_owned()),
        _ => TweakValue::Boolean(true),
    }
}

/// The effect on the user when a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The user is not notified.
    Silent,
    /// The user gets a notification.
    Notify {
        /// True if the notification plays a sound.
        sound: bool,
        /// True if the notification is highlighted.
        highlight: bool,
    },
}

impl Effect {
    /// Returns the effect of these actions. Without `notify`, tweaks have no effect.
    pub fn from_actions(actions: &[Action]) -> Self {
        if !actions.contains(&Action::Notify) {
            return Self::Silent;
        }
        let tweaks = collect_tweaks(actions.iter());
        let is_set = |name: &str| match tweaks.get(name) {
            Some(TweakValue::Boolean(is_on)) => *is_on,
            Some(TweakValue::String(text)) => !text.is_empty(),
            None => false,
        };
        Self::Notify { sound: is_set("sound"), highlight: is_set("highlight") }
    }
}

/// Returns a copy of these actions, changed to have this effect. The copy is empty for
/// [`Effect::Silent`]. Otherwise other tweaks are preserved, and so is the sound name if the sound
/// stays on.
pub(super) fn with_effect(actions: &[Action], effect: Effect) -> Vec<Action> {
    let Effect::Notify { sound, highlight } = effect else { return Vec::new() };
    let (has_sound, has_highlight) = match Effect::from_actions(actions) {
        Effect::Notify { sound, highlight } => (sound, highlight),
        Effect::Silent => (false, false),
    };
    let is_replaced = |action: &Action| match action {
        Action::Notify | Action::DontNotify => true,
        Action::SetTweak { name, .. } if name == "sound" => has_sound != sound,
        Action::SetTweak { name, .. } if name == "highlight" => has_highlight != highlight,
        Action::SetTweak { .. } | Action::Coalesce | Action::BareSetTweak => false,
    };
    let mut new_actions = vec![Action::Notify];
    new_actions.extend(actions.iter().filter(|action| !is_replaced(action)).cloned());
    if sound && !has_sound {
        new_actions.push(new_tweak("sound", Some(TweakValue::String("default".to_owned()))));
    }
    if highlight && !has_highlight {
        new_actions.push(new_tweak("highlight", None));
    }
    new_actions
}

fn new_tweak(name: &str, value: Option<TweakValue>) -> Action {
    Action::SetTweak { name: name.to_owned(), value, extra: Extra::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::matrix::MatrixErrorCode;
    use crate::rules::Rule;

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

    #[test]
    fn the_effect_follows_from_the_actions() {
        let notify_effect = |sound, highlight| Effect::Notify { sound, highlight };
        for (actions, effect) in [
            (json!([]), Effect::Silent),
            (json!(["dont_notify"]), Effect::Silent),
            (json!([{"set_tweak": "sound", "value": "default"}]), Effect::Silent),
            (json!(["notify"]), notify_effect(false, false)),
            (json!(["coalesce", "set_tweak", "notify"]), notify_effect(false, false)),
            (json!(["notify", {"set_tweak": "sound"}]), notify_effect(true, false)),
            (json!(["notify", {"set_tweak": "sound", "value": ""}]), notify_effect(false, false)),
            (json!(["notify", {"set_tweak": "highlight"}]), notify_effect(false, true)),
            (
                json!(["notify", {"set_tweak": "highlight", "value": false}]),
                notify_effect(false, false),
            ),
            (
                json!([{"set_tweak": "sound", "value": "ring"}, "notify", {"set_tweak": "highlight"}]),
                notify_effect(true, true),
            ),
            (
                json!(["notify", {"set_tweak": "sound"}, {"set_tweak": "sound", "value": false}]),
                notify_effect(false, false),
            ),
        ] {
            let rule: Rule = serde_json::from_value(
                json!({"rule_id": "a", "enabled": true, "actions": actions}),
            )
            .unwrap();
            assert_eq!(Effect::from_actions(&rule.actions), effect, "{actions}");
        }
    }

    #[test]
    fn setting_an_effect_changes_only_actions_that_disagree_with_it() {
        let default_sound = json!({"set_tweak": "sound", "value": "default"});
        let bell_sound = json!({"set_tweak": "sound", "value": "bell.ogg", "org.x": 1});
        let highlight_tweak = json!({"set_tweak": "highlight"});
        let color_tweak = json!({"set_tweak": "color", "value": "red"});
        for (actions, (sound, highlight), expected) in [
            (json!([]), (false, false), json!(["notify"])),
            (
                json!(["dont_notify"]),
                (true, true),
                json!(["notify", default_sound, highlight_tweak]),
            ),
            (
                json!(["notify", bell_sound]),
                (true, true),
                json!(["notify", bell_sound, highlight_tweak]),
            ),
            (
                json!([bell_sound, "notify", color_tweak]),
                (false, false),
                json!(["notify", color_tweak]),
            ),
            (
                json!(["notify", {"set_tweak": "sound", "value": ""}]),
                (true, false),
                json!(["notify", default_sound]),
            ),
            (
                json!(["notify", {"set_tweak": "highlight", "value": false}, default_sound]),
                (true, false),
                json!(["notify", {"set_tweak": "highlight", "value": false}, default_sound]),
            ),
            (
                json!(["notify", {"set_tweak": "highlight", "value": false}, default_sound]),
                (false, true),
                json!(["notify", highlight_tweak]),
            ),
            // Tweaks without `notify` have no effect, so they do not count as set.
            (json!([highlight_tweak]), (false, true), json!(["notify", highlight_tweak])),
        ] {
            let parsed_actions: Vec<Action> = serde_json::from_value(actions.clone()).unwrap();
            let effect = Effect::Notify { sound, highlight };
            let new_actions = with_effect(&parsed_actions, effect);
            assert_eq!(json!(new_actions), expected, "{actions}");
            assert_eq!(Effect::from_actions(&new_actions), effect, "{actions}");
            assert_eq!(with_effect(&parsed_actions, Effect::Silent), [], "{actions}");
        }
    }
}
