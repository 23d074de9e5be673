//! The effect of a rule on its user, as the account pages show and change it.

use super::evaluate::collect_tweaks;
use super::time_and_day::TimeAndDay;
use super::{Action, Condition, ConditionKind, Extra, Rule, TweakValue};

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

impl Rule {
    /// Returns the time condition of a quiet hours rule: an override or underride rule that does
    /// not notify and has no other condition.
    pub fn quiet_hours(&self) -> Option<&TimeAndDay> {
        match self.conditions.as_deref() {
            Some([Condition { kind: ConditionKind::TimeAndDay(condition), .. }])
                if Effect::from_actions(&self.actions) == Effect::Silent =>
            {
                Some(condition)
            }
            _ => None,
        }
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
