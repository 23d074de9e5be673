//! The state of the room that conditions depend on.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

/// The room at the time of the event. A condition on unknown state is not met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// Number of joined members.
    pub member_count: Option<u64>,
    pub power_levels: Option<PowerLevels>,
    /// The creators, who have unlimited power. Empty in rooms before version 12, where the creator
    /// has a power level like other users.
    pub creators: BTreeSet<String>,
}

/// The parts of `m.room.power_levels` that concern notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PowerLevels {
    /// The levels of users whose level is not the default.
    pub users: BTreeMap<String, PowerLevel>,
    pub users_default: PowerLevel,
    /// The level required to send a notification, by its key (`room` for `@room`).
    pub notifications: BTreeMap<String, PowerLevel>,
}

/// A power level, parsed from an integer or, as in old rooms, from a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PowerLevel(pub i64);

/// The level required for a notification key that the room does not list.
const DEFAULT_REQUIRED_LEVEL: PowerLevel = PowerLevel(50);

impl Room {
    /// Returns whether a user may send notifications that `key` names.
    pub fn allows_notification(&self, user_id: &str, key: &str) -> bool {
        let has_power =
            |levels: &PowerLevels| levels.user_level(user_id) >= levels.required_level(key);
        self.creators.contains(user_id) || self.power_levels.as_ref().is_some_and(has_power)
    }
}

impl PowerLevels {
    /// Returns the level of a user, or the room's default if the user has no level of their own.
    pub fn user_level(&self, user_id: &str) -> PowerLevel {
        self.users.get(user_id).copied().unwrap_or(self.users_default)
    }

    pub fn required_level(&self, key: &str) -> PowerLevel {
        self.notifications.get(key).copied().unwrap_or(DEFAULT_REQUIRED_LEVEL)
    }
}

impl<'de> Deserialize<'de> for PowerLevel {
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
    fn an_unlisted_level_is_the_default() {
        let levels: PowerLevels = serde_json::from_value(json!({
            "users": {"@admin:x": 100, "@old:x": " 40 "}, "users_default": 5, "ban": 50,
            "notifications": {"room": 20},
        }))
        .unwrap();
        assert_eq!(levels.user_level("@admin:x"), PowerLevel(100));
        assert_eq!(levels.user_level("@old:x"), PowerLevel(40));
        assert_eq!(levels.user_level("@else:x"), PowerLevel(5));
        assert_eq!(levels.required_level("room"), PowerLevel(20));
        assert_eq!(levels.required_level("moon"), PowerLevel(50));
        assert_eq!(PowerLevels::default().user_level("@a:x"), PowerLevel(0));
    }

    #[test]
    fn a_level_must_be_an_integer() {
        for level in [json!(1.5), json!("high"), json!(null), json!([1]), json!(u64::MAX)] {
            assert!(serde_json::from_value::<PowerLevel>(level.clone()).is_err(), "{level}");
        }
    }
}
