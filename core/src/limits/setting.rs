//! How limits are written in a configuration file, and how a row of it changes the defaults.

use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use thiserror::Error;

use super::key::KeyKind;
use super::route::RoutePattern;
use super::{Limit, LimitError};

/// What a configuration says of one limit: `false` removes it, keys change or add it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitSetting {
    /// `media = false`
    Off,
    /// `media = { requests = 60 }`
    Override(LimitOverride),
}

/// What is said of a limit; what is not said stays as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitOverride {
    /// Whose requests are counted together: `"account"` or `"ip"`.
    pub per: Option<KeyKind>,
    /// Which calls are counted, as `["POST /api/v1/media"]`.
    #[serde(rename = "match")]
    pub matches: Option<Vec<RoutePattern>>,
    /// How many requests a window admits.
    pub requests: Option<u32>,
    /// How long a window lasts, as `"30m"` or `"1h 30m"`.
    #[serde(deserialize_with = "window")]
    pub window: Option<Duration>,
}

/// Why the limits of a configuration cannot be had. Each text begins with the limit's name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitSettingError {
    /// A row that is not among the defaults does not say enough.
    #[error("{0}: a new limit needs `per`, `match`, `requests` and `window`")]
    Incomplete(String),
    /// A row says that it counts no calls.
    #[error("{0}: `match` is empty; name the calls, or remove the limit with `{0} = false`")]
    MatchesNothing(String),
    /// A limit that is not in the table has a fixed meaning.
    #[error("{0}: only `requests` and `window` can be set here")]
    Fixed(String),
    /// The name is that of a limit outside the table.
    #[error("{0}: the name is taken by a limit that is no row; take another")]
    Taken(String),
    /// There is no limit of this name to change.
    #[error("{name}: there is no such limit; there are {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The name, or the window.
    #[error("{0}: {1}")]
    Limit(String, LimitError),
}

impl LimitOverride {
    /// The limit with what is said here; without one, everything must be said.
    pub(super) fn limit(&self, name: &str, was: Option<Limit>) -> Result<Limit, LimitSettingError> {
        let window = |limit: Limit| Duration::from_secs(limit.window_seconds().into());
        let incomplete = || LimitSettingError::Incomplete(name.into());
        let requests = self.requests.or(was.map(Limit::requests)).ok_or_else(incomplete)?;
        let window = self.window.or(was.map(window)).ok_or_else(incomplete)?;
        Limit::new(name, requests, window).map_err(|e| LimitSettingError::Limit(name.into(), e))
    }
}

impl<'de> Deserialize<'de> for LimitSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = LimitSetting;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`false` to remove the limit, or a table with its keys")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<LimitSetting, E> {
                if value {
                    return Err(E::invalid_value(de::Unexpected::Bool(true), &self));
                }
                Ok(LimitSetting::Off)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LimitSetting, A::Error> {
                LimitOverride::deserialize(MapAccessDeserializer::new(map))
                    .map(LimitSetting::Override)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

fn window<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || de::Error::custom(format!("{text:?} is no length: write \"30m\" or \"1h 30m\""));
    let length: SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(length).map(Some).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::abuse::AbuseLimits;
    use super::super::table::LimitTable;
    use super::*;

    fn table(settings: Value) -> Result<LimitTable, String> {
        serde_json::from_value(settings).map_err(|error| error.to_string())
    }

    fn names(table: &LimitTable) -> Vec<&str> {
        table.rows().iter().map(|row| row.limit.name()).collect()
    }

    #[test]
    fn no_settings_are_the_defaults() {
        assert_eq!(table(json!({})), Ok(LimitTable::default()));
        assert_eq!(
            serde_json::from_value::<AbuseLimits>(json!({})).unwrap(),
            AbuseLimits::default()
        );
    }

    #[test]
    fn a_row_is_changed_only_in_what_is_said() {
        let changed =
            table(json!({"media": {"requests": 60}, "ip": {"window": "1h 30m"}})).unwrap();
        let defaults = LimitTable::default();
        assert_eq!(names(&changed), names(&defaults));
        let (media, was) = (&changed.rows()[1], &defaults.rows()[1]);
        assert_eq!((media.limit.requests(), media.limit.window_seconds()), (60, 1800));
        assert_eq!((media.per, &media.matches), (was.per, &was.matches));
        assert_eq!(changed.rows()[3].limit.window_seconds(), 5400);
    }

    #[test]
    fn a_row_is_removed_with_false_and_added_under_a_new_name() {
        let search = json!({
            "per": "ip", "match": ["GET /api/v2/search", "GET /api/v1/search"],
            "requests": 10, "window": "1m",
        });
        let changed = table(json!({"media": false, "search": search})).unwrap();
        assert_eq!(names(&changed), ["account", "delete", "ip", "sign_up", "search"]);
        let row = &changed.rows()[4];
        assert_eq!((row.per, row.matches.len(), row.limit.requests()), (KeyKind::Ip, 2, 10));
    }

    #[test]
    fn what_is_wrong_is_said_with_the_name() {
        let minute = json!({"per": "ip", "match": ["*"], "requests": 1, "window": "1m"});
        let with = |key: &str, value: Value| {
            let mut row = minute.clone();
            row[key] = value;
            json!({ "new": row })
        };
        for (settings, said) in [
            (json!({"new": {"requests": 1, "window": "1m"}}), "new: a new limit needs"),
            (json!({"nwe": false}), "nwe: there is no such limit; there are account, media"),
            (json!({"media": true}), "`false` to remove the limit"),
            (json!({"media": 30}), "`false` to remove the limit"),
            (json!({"media": {"request": 30}}), "unknown field `request`"),
            (json!({"media": {"match": []}}), "media: `match` is empty"),
            (json!({"A": minute}), "\"A\" is no name for a limit"),
            (json!({"client_secret": minute}), "client_secret: the name is taken"),
            (with("per", json!("token")), "expected `account` or `ip`"),
            (with("match", json!(["POST"])), "\"POST\" names no calls"),
            (with("requests", json!(-1)), "invalid value"),
            (with("requests", json!(u64::MAX)), "expected u32"),
            (with("window", json!("0s")), "new: a window has whole seconds"),
            (with("window", json!("1500ms")), "new: a window has whole seconds"),
            (with("window", json!("-5m")), "\"-5m\" is no length"),
            (with("window", json!("5")), "\"5\" is no length"),
            (with("window", json!("99999999999999999999h")), "is no length"),
            (with("window", json!("1y")), "\"1y\" is no length"),
        ] {
            let error = table(settings.clone()).unwrap_err();
            assert!(error.contains(said), "{settings}: {error}");
        }
    }

    #[test]
    fn the_limits_outside_the_table_change_their_numbers_only() {
        let own =
            |settings| serde_json::from_value::<AbuseLimits>(settings).map_err(|e| e.to_string());
        let changed =
            own(json!({"sign_in_name": {"requests": 3}, "client_secret": false})).unwrap();
        let limits: Vec<_> = changed.limits().map(|l| (l.name(), l.requests())).collect();
        assert_eq!(
            limits,
            [("sign_in_address", 25), ("sign_in_name", 3), ("app_registration", 30)]
        );
        for (settings, said) in [
            (json!({"sign_in": {"requests": 3}}), "sign_in: there is no such limit"),
            (json!({"sign_in_name": {"per": "ip"}}), "sign_in_name: only `requests` and"),
            (json!({"sign_in_name": {"match": ["*"]}}), "sign_in_name: only `requests` and"),
        ] {
            let error = own(settings).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
