//! The script that counts requests, and its counter keys.
//!
//! A key is `PREFIX:{SUBJECT}:LIMIT`, followed by the key of the bucket if that is not its subject.
//! The subject in braces is the hash tag, so all counters of a subject are in one cluster slot and
//! one run of the script checks them all. Subjects are spread over all slots.

use std::sync::LazyLock;
use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode};
use redis::{Cmd, ErrorKind, RedisResult, Script};

use super::slots::hash_slot;

const SCRIPT: &str = include_str!("count.lua");

/// The digest by which a server finds the script that it has run before.
static SCRIPT_DIGEST: LazyLock<String> =
    LazyLock::new(|| Script::new(SCRIPT).get_hash().to_owned());

/// The count before a request, and the time left in the window.
pub(crate) type WindowState = (u32, Duration);

/// The operation that the script performs on counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptMode {
    Count(CountMode),
    /// Counts like a check. The request may be released later.
    Reserve,
    /// Undoes a reservation, only in the windows in which it was made.
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RedisCounter {
    key: String,
    /// Number of requests that the limit admits.
    pub(super) requests: u32,
    window_ms: u64,
    /// The end of the window in which the request was reserved, as Unix time by the server's clock,
    /// if this is a release; otherwise 0.
    end_ms: u64,
}

impl RedisCounter {
    pub(super) fn new(bucket: &Bucket<'_>, prefix: &str) -> Self {
        let name = bucket.limit.name();
        let subject = bucket.key.subject();
        let key = if bucket.key == subject {
            format!("{prefix}:{{{subject}}}:{name}")
        } else {
            format!("{prefix}:{{{subject}}}:{name}:{}", bucket.key)
        };
        let window_ms = bucket.limit.window().as_secs() * 1000;
        Self { key, requests: bucket.limit.requests(), window_ms, end_ms: 0 }
    }

    /// Returns the counter's slot in a cluster.
    pub(super) fn slot(&self) -> u16 {
        hash_slot(self.key.split(['{', '}']).nth(1).unwrap_or_default())
    }

    /// Creates a counter with a window of one second in the slot of this hash tag, to test whether
    /// a server can count.
    pub(super) fn for_test_write(prefix: &str, tag: &str) -> Self {
        Self { key: format!("{prefix}:{{{tag}}}"), requests: u32::MAX, window_ms: 1000, end_ms: 0 }
    }
}

#[derive(Debug, Clone)]
pub(super) struct ScriptRun {
    pub(super) mode: ScriptMode,
    pub(super) counters: Vec<RedisCounter>,
}

#[derive(Debug, Clone)]
pub(super) struct RunResult {
    /// The window of each counter, before the run.
    pub(super) states: Vec<WindowState>,
    /// The server's Unix time; 0 unless the run is a reservation.
    pub(super) server_time_ms: u64,
}

impl ScriptRun {
    /// Returns the command that runs the script: by its digest, or with its text, which the server
    /// then stores.
    pub(super) fn command(&self, with_text: bool) -> Cmd {
        let (name, script) =
            if with_text { ("EVAL", SCRIPT) } else { ("EVALSHA", SCRIPT_DIGEST.as_str()) };
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.counters.len());
        for counter in &self.counters {
            command.arg(&counter.key);
        }
        command.arg(match self.mode {
            ScriptMode::Count(CountMode::Check) => "check",
            ScriptMode::Count(CountMode::Peek) => "peek",
            ScriptMode::Count(CountMode::Charge) => "charge",
            ScriptMode::Count(CountMode::Refund) => "refund",
            ScriptMode::Reserve => "reserve",
            ScriptMode::Release => "release",
        });
        for counter in &self.counters {
            match self.mode {
                ScriptMode::Release => command.arg(counter.end_ms),
                ScriptMode::Count(_) | ScriptMode::Reserve => command.arg(counter.requests),
            };
            command.arg(counter.window_ms);
        }
        command
    }

    /// Parses the response of the script. A wrong number of values is an error.
    pub(super) fn parse(&self, response: &[u64]) -> RedisResult<RunResult> {
        let (pairs, server_time) = response.as_chunks::<2>();
        if pairs.len() != self.counters.len() {
            let kind = ErrorKind::UnexpectedReturnType;
            return Err((kind, "the script must return two numbers per limit").into());
        }
        let window_state = |&[count, left_ms]: &[u64; 2]| {
            (u32::try_from(count).unwrap_or(u32::MAX), Duration::from_millis(left_ms))
        };
        let server_time_ms = server_time.first().copied().unwrap_or_default();
        Ok(RunResult { states: pairs.iter().map(window_state).collect(), server_time_ms })
    }

    /// Returns whether all counters had a request left.
    pub(super) fn is_admitted(&self, result: &RunResult) -> bool {
        let mut pairs = self.counters.iter().zip(&result.states);
        pairs.all(|(counter, (count, _))| *count < counter.requests)
    }

    /// Returns the run that undoes this reservation.
    pub(super) fn to_release(&self, result: &RunResult) -> Self {
        let pairs = self.counters.iter().zip(&result.states);
        let counters = pairs.map(|(counter, (_, left))| {
            let left_ms = u64::try_from(left.as_millis()).unwrap_or_default();
            RedisCounter { end_ms: result.server_time_ms + left_ms, ..counter.clone() }
        });
        Self { mode: ScriptMode::Release, counters: counters.collect() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use belfry_core::limits::{Limit, LimitKey, Network};

    use super::*;

    #[test]
    fn a_key_has_its_subject_as_hash_tag() {
        let limit: Arc<Limit> = Limit::new("l", 9, Duration::from_mins(5)).unwrap().into();
        let network = |text: &str| Network::from_address(text.parse().unwrap());
        let v6 = network("2001:db8:1:2::3");
        for (key, expected) in [
            (LimitKey::Account(7), "p:{account:=7}:l"),
            (LimitKey::App(7), "p:{app:=7}:l"),
            (LimitKey::Network(network("192.0.2.1")), "p:{ip:192.0.2.1}:l"),
            (LimitKey::Network(v6.site().unwrap()), "p:{ip:2001:db8:1::/48}:l"),
            (LimitKey::Network(v6), "p:{ip:2001:db8:1::/48}:l:ip:2001:db8:1:2::/64"),
        ] {
            let counter = RedisCounter::new(&Bucket { limit: &limit, key }, "p");
            assert_eq!(counter.key, expected);
            assert_eq!(counter.slot(), hash_slot(&key.subject().to_string()));
        }
        let name = LimitKey::for_name(v6, "{bob}");
        let counter = RedisCounter::new(&Bucket { limit: &limit, key: name }, "p");
        assert!(counter.key.starts_with("p:{ip:2001:db8:1::/48}:l:tried:2001:db8:1:2::/64:#"));
    }

    #[test]
    fn a_response_has_two_numbers_per_counter_and_the_time() {
        let counters =
            vec![RedisCounter::for_test_write("p", "a"), RedisCounter::for_test_write("p", "b")];
        let run = ScriptRun { mode: ScriptMode::Reserve, counters };
        let result = run.parse(&[3, 50, 4, 60, 1_000]).unwrap();
        let millis = Duration::from_millis;
        assert_eq!(result.states, [(3, millis(50)), (4, millis(60))]);
        let release = run.to_release(&result);
        assert_eq!(
            release.counters.iter().map(|counter| counter.end_ms).collect::<Vec<_>>(),
            [1_050, 1_060]
        );
        assert!(run.parse(&[3, 50]).is_err());
        assert!(run.parse(&[3, 50, 4]).is_err());
    }
}
