//! What a rule does when it wins, as a person would say it.

use super::evaluate::tweaks;
use super::{Action, TweakValue};

/// What the user hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Silent,
    /// A notification.
    Notify {
        /// With a sound.
        sound: bool,
        /// BuiltinOverrides out among others.
        highlight: bool,
    },
}

impl Effect {
    /// What these actions come to. Tweaks of a notification that is not given come to nothing.
    #[must_use]
    pub fn of(actions: &[Action]) -> Self {
        if !actions.contains(&Action::Notify) {
            return Self::Silent;
        }
        let tweaks = tweaks(actions.iter());
        let is_set = |name: &str| match tweaks.get(name) {
            Some(TweakValue::Boolean(on)) => *on,
            Some(TweakValue::String(word)) => !word.is_empty(),
            None => false,
        };
        Self::Notify { sound: is_set("sound"), highlight: is_set("highlight") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::Rule;

    #[test]
    fn what_a_rule_does_is_what_its_actions_come_to() {
        let notify = |sound, highlight| Effect::Notify { sound, highlight };
        for (actions, effect) in [
            (json!([]), Effect::Silent),
            (json!(["dont_notify"]), Effect::Silent),
            (json!([{"set_tweak": "sound", "value": "default"}]), Effect::Silent),
            (json!(["notify"]), notify(false, false)),
            (json!(["coalesce", "set_tweak", "notify"]), notify(false, false)),
            (json!(["notify", {"set_tweak": "sound"}]), notify(true, false)),
            (json!(["notify", {"set_tweak": "sound", "value": ""}]), notify(false, false)),
            (json!(["notify", {"set_tweak": "highlight"}]), notify(false, true)),
            (json!(["notify", {"set_tweak": "highlight", "value": false}]), notify(false, false)),
            (
                json!([{"set_tweak": "sound", "value": "ring"}, "notify", {"set_tweak": "highlight"}]),
                notify(true, true),
            ),
            (
                json!(["notify", {"set_tweak": "sound"}, {"set_tweak": "sound", "value": false}]),
                notify(false, false),
            ),
        ] {
            let rule = json!({"rule_id": "a", "enabled": true, "actions": actions});
            let rule: Rule = serde_json::from_value(rule).unwrap();
            assert_eq!(Effect::of(&rule.actions), effect, "{actions}");
        }
    }
}
