//! A scenario's settings, its counts, and the descriptions of its failed checks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fastrand::Rng;

/// The maximum number of losses that are described. Further losses are only counted.
const MAX_DESCRIPTIONS: usize = 20;

/// The time after an outage within which every node should write again.
pub const MAX_RECOVERY: Duration = Duration::from_secs(10);

/// A scenario's counts.
#[derive(Debug, Default)]
pub struct Outcome {
    pub rounds: u32,
    pub acknowledged: u64,
    /// Writes that failed, as expected during an outage.
    pub failed: u64,
    pub checks: u64,
    /// Violations: an acknowledged write was lost, a valid write was rejected, a response lacked
    /// its token or code, or the server did not recover.
    pub losses: u64,
    pub loss_descriptions: Vec<String>,
    /// Messages that arrived more than once, as is possible after a kill.
    pub duplicates: u64,
    /// The times from the end of an outage until a node wrote again, where they are measured.
    pub recoveries: Vec<Duration>,
}

impl Outcome {
    /// Returns the number of recoveries that took longer than [`MAX_RECOVERY`], perhaps only
    /// because the machine was busy.
    #[must_use]
    pub fn slow_recoveries(&self) -> usize {
        self.recoveries.iter().filter(|&&recovery| recovery > MAX_RECOVERY).count()
    }

    /// Counts a check, and a loss if `holds` is false.
    pub(crate) fn check(&mut self, holds: bool, description: impl FnOnce() -> String) {
        self.checks += 1;
        if !holds {
            self.record_loss(description());
        }
    }

    pub(crate) fn record_loss(&mut self, description: String) {
        self.losses += 1;
        if self.loss_descriptions.len() < MAX_DESCRIPTIONS {
            self.loss_descriptions.push(description);
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.acknowledged += other.acknowledged;
        self.failed += other.failed;
        self.checks += other.checks;
        self.losses += other.losses;
        self.loss_descriptions.extend(other.loss_descriptions);
        self.loss_descriptions.truncate(MAX_DESCRIPTIONS);
        self.duplicates += other.duplicates;
        self.recoveries.extend(other.recoveries);
    }
}

/// The binaries, length and seed of a scenario.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The binary under test.
    pub belfry: PathBuf,
    /// Maximum number of rounds.
    pub rounds: u32,
    /// Time after which no round is started.
    pub time_limit: Option<Duration>,
    pub seed: u64,
}

pub(crate) struct Run<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) rng: Rng,
    pub(crate) outcome: Outcome,
    start: Instant,
    report: &'a mut dyn FnMut(&Outcome),
}

impl<'a> Run<'a> {
    pub(crate) fn new(settings: &'a Settings, report: &'a mut dyn FnMut(&Outcome)) -> Self {
        let rng = Rng::with_seed(settings.seed);
        Self { settings, rng, outcome: Outcome::default(), start: Instant::now(), report }
    }

    /// Returns the number of the next round, or `None` after the last round or the time limit.
    pub(crate) fn next_round(&self) -> Option<u32> {
        let is_time_limit_reached =
            self.settings.time_limit.is_some_and(|time| self.start.elapsed() >= time);
        (!is_time_limit_reached && self.outcome.rounds < self.settings.rounds)
            .then_some(self.outcome.rounds)
    }

    pub(crate) fn end_round(&mut self) {
        self.outcome.rounds += 1;
        (self.report)(&self.outcome);
    }
}
