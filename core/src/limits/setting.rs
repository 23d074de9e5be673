//! Limits in the configuration file: overrides of default limits, and additional limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use super::key::KeyKind;
use super::route::RoutePattern;
use super::{Limit, LimitError};

/// The setting of one limit: `false` removes it, a table changes or adds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitSetting {
    /// `media = false`
    Off,
    /// `media = { requests = 60 }`
    Override(LimitOverride),
}

/// The keys that are set for a limit. The others keep their defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitOverride {
    /// The kind of key to count under: `"account"`, `"app"` or `"ip"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<KeyKind>,
    /// The requests to count, as in `["POST /api/v1/media"]`.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<Vec<RoutePattern>>,
    /// Number of requests per window.
    pub requests: Option<u32>,
    /// The window length, as in `"30m"` or `"1h 30m"`.
    #[serde(deserialize_with = "deserialize_window", serialize_with = "serialize_window")]
    pub window: Option<Duration>,
}

/// The reason limit settings are invalid. Each message begins with the limit name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitSettingError {
    #[error(
        "{name}: not a default limit (those are {known_names}), and a new one needs `per`, \
         `match`, `requests` and `window`"
    )]
    Incomplete { name: String, known_names: String },
    #[error(
        "{0}: `match` is empty; list the requests to count, or remove the limit with `{0} = false`"
    )]
    EmptyMatch(String),
    #[error("{0}: only `requests` and `window` can be set here")]
    NotConfigurable(String),
    #[error("{0}: reserved name: names in [limits.abuse] and names that end in -48 cannot be used")]
    Reserved(String),
    #[error("{name}: unknown limit; the limits are {known_names}")]
    Unknown { name: String, known_names: String },
    #[error("{0}: {1}")]
    Limit(String, LimitError),
}

impl LimitOverride {
    /// Returns the override that sets this limit's requests and window.
    pub(super) fn from_limit(limit: &Limit) -> Self {
        let requests = Some(limit.requests());
        let window = Some(limit.window());
        Self { requests, window, ..Self::default() }
    }

    /// Applies `requests` and `window` to a default limit.
    pub(super) fn apply(&self, default: &Limit) -> Result<Arc<Limit>, LimitSettingError> {
        let requests = self.requests.unwrap_or(default.requests());
        new_limit(default.name(), requests, self.window.unwrap_or(default.window()))
    }
}

pub(super) fn new_limit(
    name: &str,
    requests: u32,
    window: Duration,
) -> Result<Arc<Limit>, LimitSettingError> {
    let limit = Limit::new(name, requests, window);
    limit.map(Arc::new).map_err(|error| LimitSettingError::Limit(name.into(), error))
}

impl<'de> Deserialize<'de> for LimitSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SettingVisitor;

        impl<'de> Visitor<'de> for SettingVisitor {
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

        deserializer.deserialize_any(SettingVisitor)
    }
}

impl Serialize for LimitSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Override(change) => change.serialize(serializer),
        }
    }
}

#[expect(clippy::ref_option, reason = "serde calls it with this type")]
fn serialize_window<S: Serializer>(
    window: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match window.map(SignedDuration::try_from) {
        Some(Ok(window)) => serializer.collect_str(&format_args!("{window:#}")),
        _ => serializer.serialize_none(),
    }
}

fn deserialize_window<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a duration such as \"30m\"")]
    enum WindowValue {
        Text(String),
        Number(i64),
    }
    let text = match WindowValue::deserialize(deserializer)? {
        WindowValue::Text(text) => text,
        WindowValue::Number(number) => {
            let advice = format!("{number} is not a duration: write \"{number}s\" for seconds");
            return Err(de::Error::custom(advice));
        }
    };
    let duration_error = || {
        de::Error::custom(format!(
            "{text:?} is not a duration: write \"30m\", \"1h 30m\" or \"24h\""
        ))
    };
    let duration: SignedDuration = text.parse().map_err(|_| duration_error())?;
    Duration::try_from(duration).map(Some).map_err(|_| duration_error())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::abuse::AbuseLimits;
    use super::super::table::LimitTable;
    use super::*;

    fn parse_table(settings: Value) -> Result<LimitTable, String> {
        serde_json::from_value(settings).map_err(|error| error.to_string())
    }

    fn parse_abuse_limits(settings: Value) -> Result<AbuseLimits, String> {
        serde_json::from_value(settings).map_err(|error| error.to_string())
    }

    fn names(table: &LimitTable) -> Vec<&str> {
        table.rows.iter().map(|row| row.limit.name()).collect()
    }

    #[test]
    fn without_settings_the_defaults_apply() {
        assert_eq!(parse_table(json!({})), Ok(LimitTable::default()));
        assert_eq!(parse_abuse_limits(json!({})), Ok(AbuseLimits::default()));
    }

    #[test]
    fn an_override_changes_only_the_keys_it_sets() {
        let table =
            parse_table(json!({"media": {"requests": 60}, "ip": {"window": "1h 30m"}})).unwrap();
        let defaults = LimitTable::default();
        assert_eq!(names(&table), names(&defaults));
        let media = &table.rows[1];
        let default = &defaults.rows[1];
        assert_eq!((media.limit.requests(), media.limit.window().as_secs()), (60, 1800));
        assert_eq!((media.per, &media.patterns), (default.per, &default.patterns));
        assert_eq!(table.rows[3].limit.window().as_secs(), 5400);
    }

    #[test]
    fn a_row_is_removed_with_false_and_added_under_a_new_name() {
        let search = json!({
            "per": "ip", "match": ["GET /api/v2/search", "GET /api/v1/search"],
            "requests": 10, "window": "1m",
        });
        let table = parse_table(json!({"media": false, "search": search})).unwrap();
        assert_eq!(names(&table), ["account", "delete", "ip", "sign_up", "search"]);
        let row = &table.rows[4];
        assert_eq!((row.per, row.patterns.len(), row.limit.requests()), (KeyKind::Network, 2, 10));
    }

    #[test]
    fn serialized_settings_are_parsed_back_unchanged() {
        let search = json!({
            "per": "ip", "match": ["GET /api/v2/search", "* /api/v1/search/*"],
            "requests": 10, "window": "1h 30m",
        });
        let settings = json!({"media": false, "ip": {"requests": 7}, "search": search});
        let table = parse_table(settings).unwrap();
        let serialized_table = serde_json::to_value(&table).unwrap();
        assert_eq!(serialized_table["media"], json!(false));
        assert_eq!(serialized_table["search"], search);
        assert_eq!(
            serialized_table["ip"],
            json!({"per": "ip", "match": ["*"], "requests": 7, "window": "5m"})
        );
        assert_eq!(parse_table(serialized_table), Ok(table));

        let limits =
            parse_abuse_limits(json!({"app_registration": false, "sign_in_name": {"requests": 3}}))
                .unwrap();
        let serialized_limits = serde_json::to_value(&limits).unwrap();
        assert_eq!(serialized_limits["app_registration"], json!(false));
        assert_eq!(serialized_limits["sign_in_name"], json!({"requests": 3, "window": "1h"}));
        assert_eq!(parse_abuse_limits(serialized_limits), Ok(limits));
    }

    #[test]
    fn invalid_settings_are_rejected_with_the_reason() {
        let valid_row = json!({"per": "ip", "match": ["*"], "requests": 1, "window": "1m"});
        let row_with = |key: &str, value: Value| {
            let mut row = valid_row.clone();
            row[key] = value;
            json!({ "new": row })
        };
        for (settings, expected) in [
            (
                json!({"new": {"requests": 1, "window": "1m"}}),
                "new: not a default limit (those are account, media, delete, ip, sign_up), and a new",
            ),
            (json!({"nwe": false}), "nwe: unknown limit; the limits are account, media"),
            (json!({"media": true}), "`false` to remove the limit"),
            (json!({"media": 30}), "`false` to remove the limit"),
            (json!({"media": {"request": 30}}), "unknown field `request`"),
            (json!({"media": {"match": []}}), "media: `match` is empty"),
            (json!({"A": valid_row}), "\"A\" is not a valid limit name"),
            (json!({"client_secret": valid_row}), "client_secret: reserved name"),
            (json!({"ip-48": valid_row}), "ip-48: reserved name"),
            (row_with("per", json!("token")), "expected one of `account`, `app`, `ip`"),
            (row_with("match", json!(["POST"])), "\"POST\" is not a valid pattern"),
            (row_with("match", json!(["GETT /api/*"])), "\"GETT /api/*\": unknown method; known"),
            (row_with("requests", json!(-1)), "invalid value"),
            (row_with("requests", json!(u64::MAX)), "expected u32"),
            (row_with("window", json!("0s")), "new: a window must be whole seconds"),
            (row_with("window", json!("1500ms")), "new: a window must be whole seconds"),
            (row_with("window", json!("-5m")), "\"-5m\" is not a duration"),
            (row_with("window", json!("5")), "\"5\" is not a duration"),
            (row_with("window", json!(5)), "5 is not a duration: write \"5s\" for seconds"),
            (row_with("window", json!(true)), "a duration such as \"30m\""),
            (row_with("window", json!("99999999999999999999h")), "is not a duration"),
            (row_with("window", json!("1y")), "\"1y\" is not a duration"),
        ] {
            let error = parse_table(settings.clone()).unwrap_err();
            assert!(error.contains(expected), "{settings}: {error}");
        }
    }

    #[test]
    fn only_an_abuse_limits_requests_and_window_can_be_set() {
        let settings = json!({"sign_in_name": {"requests": 3}, "app_registration": false});
        let abuse_limits = parse_abuse_limits(settings).unwrap();
        let limits: Vec<_> =
            abuse_limits.limits().map(|limit| (limit.name(), limit.requests())).collect();
        let expected = [
            ("sign_in_address", 25),
            ("sign_in_name", 3),
            ("client_secret", 25),
            ("authorization_request", 60),
            ("device_test", 5),
        ];
        assert_eq!(limits, expected);
        for (settings, expected) in [
            (json!({"sign_in": {"requests": 3}}), "sign_in: unknown limit"),
            (json!({"client_secret": false}), "client_secret: unknown limit"),
            (json!({"sign_in_name": {"per": "ip"}}), "sign_in_name: only `requests` and"),
            (json!({"sign_in_name": {"match": ["*"]}}), "sign_in_name: only `requests` and"),
        ] {
            let error = parse_abuse_limits(settings).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
