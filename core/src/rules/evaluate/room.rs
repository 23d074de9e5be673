//! What a verdict needs to know of the room beside the event.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

/// The room at the time of the event. A condition on what is not known does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Room {
    /// How many members have joined it.
    pub member_count: Option<u64>,
    /// Who may do what in it.
    pub power_levels: Option<PowerLevels>,
    /// Who made it, and may do everything in it; nobody in a room from before version 12, where
    /// its creator has a power level like everybody.
    pub creators: BTreeSet<String>,
}

/// What a room's `m.room.power_levels` say of notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PowerLevels {
    /// The levels of those users who do not have the default.
    pub users: BTreeMap<String, Level>,
    /// The level of all other users.
    pub users_default: Level,
    /// The level that it takes to notify, by the key of the notification: `room` for everybody.
    pub notifications: BTreeMap<String, Level>,
}

/// A power level. Old rooms have them as strings too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(pub i64);

/// What it takes to notify where the room does not say.
const TO_NOTIFY: Level = Level(50);

impl Room {
    /// Whether a user may send notifications of this key.
    #[must_use]
    pub fn may_notify(&self, user_id: &str, key: &str) -> bool {
        let has_power = |levels: &PowerLevels| levels.of(user_id) >= levels.to_notify(key);
        self.creators.contains(user_id) || self.power_levels.as_ref().is_some_and(has_power)
    }
}

impl PowerLevels {
    /// The level of a user.
    #[must_use]
    pub fn of(&self, user_id: &str) -> Level {
        self.users.get(user_id).copied().unwrap_or(self.users_default)
    }

    /// The level that a notification takes.
    #[must_use]
    pub fn to_notify(&self, key: &str) -> Level {
        self.notifications.get(key).copied().unwrap_or(TO_NOTIFY)
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let level = match Value::deserialize(deserializer)? {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        level.map(Self).ok_or_else(|| D::Error::custom("a power level must be an integer"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_level_that_is_not_said_is_the_default() {
        let levels: PowerLevels = serde_json::from_value(json!({
            "users": {"@admin:x": 100, "@old:x": " 40 "}, "users_default": 5, "ban": 50,
            "notifications": {"room": 20},
        }))
        .unwrap();
        assert_eq!(levels.of("@admin:x"), Level(100));
        assert_eq!(levels.of("@old:x"), Level(40));
        assert_eq!(levels.of("@else:x"), Level(5));
        assert_eq!(levels.to_notify("room"), Level(20));
        assert_eq!(levels.to_notify("moon"), Level(50));
        assert_eq!(PowerLevels::default().of("@a:x"), Level(0));
    }

    #[test]
    fn what_is_no_integer_is_no_level() {
        for level in [json!(1.5), json!("high"), json!(null), json!([1]), json!(u64::MAX)] {
            assert!(serde_json::from_value::<Level>(level.clone()).is_err(), "{level}");
        }
    }
}
