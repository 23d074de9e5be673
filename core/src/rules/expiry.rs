//! The time at which a timed rule expires.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RuleError;
use crate::json::Location;

/// The time at which a timed rule, or a timed override of a built-in rule, expires: `until` in the
/// API, as Unix time in milliseconds. It is at most the largest integer that all JSON parsers
/// represent exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct RuleExpiry(i64);

impl RuleExpiry {
    pub const MAX: Self = Self(9_007_199_254_740_991);

    /// Creates an expiry from a time, truncated to milliseconds. A time before the Unix epoch
    /// becomes the epoch.
    pub fn from_timestamp(time: Timestamp) -> Self {
        Self(time.as_millisecond().clamp(0, Self::MAX.0))
    }

    /// Returns the Unix time in milliseconds.
    pub fn as_millisecond(self) -> i64 {
        self.0
    }

    /// Returns the time, rounded up to a second. A later time than `Timestamp::MAX` becomes
    /// `Timestamp::MAX`.
    pub fn to_timestamp(self) -> Timestamp {
        let second = self.0 / 1000 + i64::from(self.0 % 1000 > 0);
        Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
    }

    /// Returns whether the rule has expired at `now`.
    pub fn is_reached(self, now: Timestamp) -> bool {
        now.as_millisecond() >= self.0
    }

    /// Rejects an expiry that is not after `now`.
    pub fn require_after(self, now: Timestamp) -> Result<(), RuleError> {
        if !self.is_reached(now) {
            return Ok(());
        }
        Err(RuleError::PastExpiry { until: self.0, now: now.as_millisecond() })
    }

    /// Reads `until` from a body.
    pub(crate) fn from_json(value: &Value) -> Result<Self, RuleError> {
        match value {
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                Self::from_stored(value).ok_or(RuleError::ExpiryRange)
            }
            _ => Err(Location::Field("until")
                .wrong_type("an integer: Unix time in milliseconds")
                .into()),
        }
    }

    /// Reads `until` from a stored rule. Returns `None` if it is not a valid expiry: rules stored
    /// before `until` existed may contain an unrelated field of that name.
    pub(super) fn from_stored(value: &Value) -> Option<Self> {
        Self::try_from(value.as_i64()?).ok()
    }
}

impl TryFrom<i64> for RuleExpiry {
    type Error = RuleError;

    fn try_from(millis: i64) -> Result<Self, RuleError> {
        if (0..=Self::MAX.0).contains(&millis) {
            return Ok(Self(millis));
        }
        Err(RuleError::ExpiryRange)
    }
}

impl From<RuleExpiry> for i64 {
    fn from(expiry: RuleExpiry) -> Self {
        expiry.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::matrix::MatrixErrorCode::{BadJson, InvalidParam};

    #[test]
    fn until_is_an_integer_from_0_to_the_largest_safe_integer() {
        for valid_millis in [0, 1, 1_800_000_000_000, 9_007_199_254_740_991_i64] {
            let expiry = RuleExpiry::from_json(&json!(valid_millis)).unwrap();
            assert_eq!(expiry.as_millisecond(), valid_millis);
            assert_eq!(json!(expiry), json!(valid_millis));
            assert_eq!(serde_json::from_value::<RuleExpiry>(json!(valid_millis)).unwrap(), expiry);
        }
        let range_message = "until must be from 0 to 9007199254740991 (Unix time in milliseconds)";
        let type_message = "until must be an integer: Unix time in milliseconds";
        for (invalid_until, code, message) in [
            (json!(-1), InvalidParam, range_message),
            (json!(9_007_199_254_740_992_i64), InvalidParam, range_message),
            (json!(u64::MAX), InvalidParam, range_message),
            (json!(1e300), BadJson, type_message),
            (json!(1.0), BadJson, type_message),
            (json!("1800000000000"), BadJson, type_message),
            (json!(null), BadJson, type_message),
            (json!(true), BadJson, type_message),
            (json!([1]), BadJson, type_message),
        ] {
            let error = RuleExpiry::from_json(&invalid_until).unwrap_err();
            assert_eq!((error.code(), &*error.to_string()), (code, message), "{invalid_until}");
            assert_eq!(RuleExpiry::from_stored(&invalid_until), None, "{invalid_until}");
            assert!(serde_json::from_value::<RuleExpiry>(invalid_until).is_err());
        }
    }

    #[test]
    fn an_expiry_is_reached_at_its_exact_time() {
        let timestamp = |millis| Timestamp::from_millisecond(millis).unwrap();
        let expiry = RuleExpiry::from_timestamp(timestamp(5_000));
        for (now, is_reached) in [(4_999, false), (5_000, true), (5_001, true)] {
            assert_eq!(expiry.is_reached(timestamp(now)), is_reached, "{now}");
        }
        assert!(!RuleExpiry::MAX.is_reached(Timestamp::MAX));
        assert_eq!(RuleExpiry::from_timestamp(Timestamp::MIN).as_millisecond(), 0);
    }

    #[test]
    fn an_expiry_in_the_past_is_rejected_with_both_times() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let require_with_offset =
            |millis: i64| RuleExpiry(1_800_000_000_000 + millis).require_after(now);
        assert_eq!(require_with_offset(1), Ok(()));
        for (millis, until) in [(0, "1800000000000"), (-1, "1799999999999")] {
            let error = require_with_offset(millis).unwrap_err();
            assert_eq!(error.code(), InvalidParam);
            assert_eq!(
                error.to_string(),
                format!(
                    "until must be in the future: it is {until}, and the server's clock is at \
                     1800000000000 (Unix time in milliseconds)"
                )
            );
        }
    }

    #[test]
    fn an_expiry_is_rounded_up_to_a_second() {
        for (millis, rounded_second) in [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2)] {
            assert_eq!(
                RuleExpiry(millis).to_timestamp(),
                Timestamp::from_second(rounded_second).unwrap()
            );
        }
        assert_eq!(RuleExpiry::MAX.to_timestamp(), Timestamp::MAX);
    }
}
