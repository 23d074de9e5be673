//! Evaluation of the response of a push service or push gateway.

use std::time::Duration;

use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::receiver::{Protocol, Pusher, PusherKind, ReceiverDocument};
use crate::json;
use crate::wire_enum::wire_enum;

/// Maximum pause that a server can request with `Retry-After`.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The maximum pause without jitter. Jitter adds up to a quarter, so a pause lasts at
/// most ten minutes.
const MAX_PAUSE: Duration = Duration::from_mins(8);

/// The minimum number of denials before a receiver is deleted.
const MIN_DENIALS: i64 = 3;

/// Minimum time between the first and the last of these denials.
const DENIAL_PERIOD: SignedDuration = SignedDuration::from_hours(24);

/// What an attempt says about the message, its receiver and the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    /// The receiver no longer exists and must be deleted.
    ReceiverGone,
    /// The push service does not accept this server's messages for the receiver. The message is
    /// retried; a receiver that is denied for a long time is deleted.
    Denied,
    /// The server rejected the message, which is not retried.
    Rejected,
    /// The server got too many messages, perhaps only for this receiver. This one is retried.
    Throttled,
    /// The attempt failed for another reason, and the message is retried.
    Retry,
    /// The server did not respond in time, or closed the connection. The message is retried.
    NoResponse,
    /// No connection to the origin is possible. The message is retried.
    OriginUnavailable,
    /// There are too many requests in flight. Nothing was processed, and the message is retried.
    Refused,
    /// The message was not sent, and never will be.
    Dropped,
}

wire_enum! {
    /// How a delivery has ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DeliveryOutcome {
        Delivered = "delivered",
        /// The receiver has rejected it, and would reject it again.
        Dropped = "dropped",
        /// It was not accepted before it expired.
        Expired = "expired",
        /// The receiver may not get messages any more, or does not need this one.
        Removed = "removed",
    }
}

impl Verdict {
    pub fn new(receiver: &ReceiverDocument, status: u16, body: &[u8]) -> Self {
        let verdict = Self::from_status(receiver.protocol(), status);
        let is_rejected = |pusher: &Pusher| {
            pusher.kind == PusherKind::Http && rejected_keys(body).contains(&pusher.pushkey)
        };
        if verdict == Self::Delivered && receiver.as_pusher().is_some_and(is_rejected) {
            Self::ReceiverGone
        } else {
            verdict
        }
    }

    /// Derives the verdict from the status. The status of a push gateway never deletes a receiver,
    /// because a broken proxy in front of it would delete all of them.
    fn from_status(protocol: Protocol, status: u16) -> Self {
        let is_web_push = match protocol {
            Protocol::Mastodon | Protocol::WebPush => true,
            Protocol::Gateway => false,
        };
        match status {
            200..=299 => Self::Delivered,
            404 | 410 if is_web_push => Self::ReceiverGone,
            401 | 403 if is_web_push => Self::Denied,
            429 => Self::Throttled,
            408 => Self::NoResponse,
            401 | 403 | 404 | 410 => Self::Retry,
            400..=499 => Self::Rejected,
            _ => Self::Retry,
        }
    }

    /// Returns whether the receiver pauses.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Delivered | Self::ReceiverGone | Self::Refused | Self::Dropped)
    }
}

/// Returns whether a receiver that was denied this many times, first at `since`, has been denied
/// for long enough to be deleted. The caller must also check that the push service has since
/// accepted messages for other receivers: otherwise this server's VAPID contact or key may be the
/// cause.
pub fn is_denied_for_long(denials: i64, since: Timestamp, now: Timestamp) -> bool {
    denials >= MIN_DENIALS && now.duration_since(since) >= DENIAL_PERIOD
}

/// Parses the `Retry-After` header: seconds or a date. Returns at most 24 hours; `None` if the
/// value is malformed.
pub fn parse_retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let pause = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        value.parse().map_or(MAX_RETRY_AFTER, Duration::from_secs)
    } else {
        let date = DateTimeParser::new().parse_timestamp(value).ok()?;
        Duration::try_from(date.duration_since(now)).unwrap_or_default()
    };
    Some(pause.min(MAX_RETRY_AFTER))
}

/// Returns the pause of a receiver or lane after this many failures in a row. It starts at one
/// second and doubles, and the random `jitter` extends it by up to a quarter, so that pauses do not
/// end simultaneously.
pub fn pause_after_failures(failures: i64, jitter: u64) -> Duration {
    let doublings = u32::try_from(failures.max(1) - 1).unwrap_or(u32::MAX);
    let factor = 2_u32.checked_pow(doublings).unwrap_or(u32::MAX);
    let pause = MIN_PAUSE.saturating_mul(factor).min(MAX_PAUSE);
    let quarter = u64::try_from(pause.as_millis() / 4).unwrap_or(u64::MAX);
    pause + Duration::from_millis(jitter % (quarter + 1))
}

/// Returns the push keys that a push gateway has rejected. A malformed body rejects none. Only the
/// key that was sent counts.
fn rejected_keys(body: &[u8]) -> Vec<String> {
    let response = json::parse(body).unwrap_or_default();
    let keys = response.get("rejected").and_then(Value::as_array);
    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
    keys.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_verdict_depends_on_protocol_and_status() {
        use Verdict::{Delivered, Denied, NoResponse, ReceiverGone, Rejected, Retry, Throttled};
        for (statuses, web_push, gateway) in [
            (&[200, 201, 202, 204, 299][..], Delivered, Delivered),
            (&[404, 410], ReceiverGone, Retry),
            (&[401, 403], Denied, Retry),
            (&[400, 402, 405, 407, 409, 411, 413, 415, 428, 451, 499], Rejected, Rejected),
            (&[408], NoResponse, NoResponse),
            (&[429], Throttled, Throttled),
            // The error may concern only one device.
            (&[500, 501, 502, 503, 504, 505, 599], Retry, Retry),
            // Redirects are not followed.
            (&[0, 100, 199, 301, 302, 307, 308, 600, u16::MAX], Retry, Retry),
        ] {
            for &status in statuses {
                assert_eq!(Verdict::from_status(Protocol::Mastodon, status), web_push, "{status}");
                assert_eq!(Verdict::from_status(Protocol::WebPush, status), web_push, "{status}");
                assert_eq!(Verdict::from_status(Protocol::Gateway, status), gateway, "{status}");
            }
        }
    }

    #[test]
    fn only_the_push_key_of_a_gateway_s_receiver_can_be_rejected() {
        let pusher = |kind| {
            let fields = json!({
                "kind": kind, "app_id": "app", "pushkey": "key", "app_display_name": "App",
                "device_display_name": "Phone", "lang": "en", "data": {}, "enabled": true,
                "append": false,
            });
            ReceiverDocument::Pusher(serde_json::from_value(fields).unwrap())
        };
        let gateway = pusher("http");
        for (status, body, verdict) in [
            (200, r#"{"rejected":["key"]}"#, Verdict::ReceiverGone),
            (200, r#"{"rejected":["other","Key"]}"#, Verdict::Delivered),
            (500, r#"{"rejected":["key"]}"#, Verdict::Retry),
            (404, r#"{"rejected":["key"]}"#, Verdict::Retry),
        ] {
            let verdict_of_body = Verdict::new(&gateway, status, body.as_bytes());
            assert_eq!(verdict_of_body, verdict, "{status} {body}");
        }
        let body = br#"{"rejected":["key"]}"#;
        assert_eq!(Verdict::new(&pusher("webpush"), 201, body), Verdict::Delivered);
    }

    #[test]
    fn a_receiver_is_deleted_after_three_denials_over_a_day() {
        let since = Timestamp::from_second(1_800_000_000).unwrap();
        for (denials, hours, expected) in
            [(3, 24, true), (100, 25, true), (2, 100, false), (100, 23, false), (3, -1, false)]
        {
            let now = since + SignedDuration::from_hours(hours);
            assert_eq!(is_denied_for_long(denials, since, now), expected, "{denials} {hours}");
        }
    }

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        let now = "1994-11-06T08:49:37Z".parse().unwrap();
        let day = 24 * 60 * 60;
        for (value, seconds) in [
            ("0", Some(0)),
            ("120", Some(120)),
            (" 5 ", Some(5)),
            ("86400", Some(day)),
            ("86401", Some(day)),
            ("99999999999999999999999", Some(day)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("Mon, 07 Nov 1994 08:49:36 GMT", Some(day - 1)),
            ("Fri, 31 Dec 2100 23:59:59 GMT", Some(day)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 25:00:00 GMT", None),
            ("٣", None),
        ] {
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(parse_retry_after(value, now), expected, "{value}");
        }
    }

    #[test]
    fn a_pause_doubles_up_to_ten_minutes() {
        for (failures, shortest, longest) in [
            (i64::MIN, 1000, 1250),
            (0, 1000, 1250),
            (1, 1000, 1250),
            (2, 2000, 2500),
            (3, 4000, 5000),
            (9, 256_000, 320_000),
            (10, 480_000, 600_000),
            (33, 480_000, 600_000),
            (i64::MAX, 480_000, 600_000),
        ] {
            let quarter = longest - shortest;
            for (jitter, milliseconds) in [(0, shortest), (1, shortest + 1), (quarter, longest)] {
                let pause = pause_after_failures(failures, jitter);
                assert_eq!(pause, Duration::from_millis(milliseconds), "{failures} {jitter}");
            }
            assert!(pause_after_failures(failures, u64::MAX) <= Duration::from_millis(longest));
        }
    }

    #[test]
    fn rejected_keys_are_read_from_the_response() {
        for (body, keys) in [
            (r#"{"rejected":["a","b"]}"#, &["a", "b"][..]),
            (r#"{"rejected":[1,"a",null,["b"]],"x":1}"#, &["a"]),
            (r#"{"rejected":[]}"#, &[]),
            (r#"{"rejected":"a"}"#, &[]),
            (r#"["a"]"#, &[]),
            ("{}", &[]),
            ("", &[]),
            ("<html>", &[]),
        ] {
            assert_eq!(rejected_keys(body.as_bytes()), keys, "{body}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(
            value in any::<String>(),
            body in any::<Vec<u8>>(),
            second in -1_000_000_000_i64..100_000_000_000,
        ) {
            let pause = parse_retry_after(&value, Timestamp::from_second(second).unwrap());
            prop_assert!(pause.is_none_or(|pause| pause <= MAX_RETRY_AFTER));
            let _ = rejected_keys(&body);
        }
    }
}
