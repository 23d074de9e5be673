//! Compares clocks: tokens, sessions and codes expire, and data is deleted by the clock.

use belfry_runtime::duration;
use jiff::{SignedDuration, Timestamp};

use super::report::Report;

/// Differences up to this are normal.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(5);

/// What other clocks say.
#[derive(Default)]
pub(super) struct Clocks {
    /// By how much the clocks of engines are ahead of ours, with the name of the engine.
    pub(super) ahead: Vec<(&'static str, SignedDuration)>,
    /// The time of the newest audit event.
    pub(super) newest_event: Option<Timestamp>,
}

pub(super) fn check(clocks: &Clocks, now: Timestamp, report: &mut Report) {
    let before = report.failures();
    let fix = "synchronise the clocks by NTP (systemd-timesyncd, chrony)";
    for (engine, ahead) in &clocks.ahead {
        if ahead.abs() > TOLERANCE {
            let length = duration::format_seconds(ahead.unsigned_abs());
            let direction = if ahead.is_positive() { "ahead of" } else { "behind" };
            let problem = format!("the clock of {engine} is {length} {direction} this machine's");
            report.fail("clock", problem, fix);
        }
    }
    if let Some(newest) = clocks.newest_event.filter(|newest| *newest > now + TOLERANCE) {
        let problem = format!("it is {now}, but the newest audit event is of {newest}");
        report.fail("clock", problem, "set the clock of this machine, by NTP");
    }
    if report.failures() == before {
        let second = Timestamp::from_second(now.as_second()).unwrap_or(now);
        report.ok("clock", format!("it is {second}"));
    }
}
