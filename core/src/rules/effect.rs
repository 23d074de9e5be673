//! The effect of a rule on its user, for the account pages.

use super::evaluate::tweaks;
use super::{Action, TweakValue};

/// How the user is notified when a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The user is not notified.
    Silent,
    /// The user gets a notification.
    Notify {
        /// Whether it plays a sound.
        sound: bool,
        /// Whether it is highlighted.
        highlight: bool,
    },
}

impl Effect {
    /// The effect of these actions. Tweaks without `notify` have none.
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
    fn the_effect_follows_from_the_actions() {
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
