//! Counters, gauges and histograms. Updating them takes no lock and allocates nothing.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Creates a counter with the value 0.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub fn inc(&self) {
        self.inc_by(1);
    }

    pub fn inc_by(&self, number: u64) {
        self.0.fetch_add(number, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A number that grows and shrinks.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    pub fn inc(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub fn dec_by(&self, number: usize) {
        self.0.fetch_sub(i64::try_from(number).unwrap_or(i64::MAX), Relaxed);
    }

    /// Adds one until the returned value is dropped.
    pub fn enter(&self) -> GaugeGuard<'_> {
        self.inc();
        GaugeGuard(self)
    }

    pub fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}

/// An increment of a gauge, which is undone when this value is dropped.
#[derive(Debug)]
pub struct GaugeGuard<'a>(&'a Gauge);

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.dec_by(1);
    }
}

/// Upper bounds of the buckets for durations, in nanoseconds: from 100 µs to 5 s.
const DURATION_BOUNDS: [u64; 15] = micros_to_nanos([
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000,
]);

/// Upper bounds of the buckets for durations with retries, in nanoseconds: from 10 ms to a day.
const LONG_DURATION_BOUNDS: [u64; 14] = micros_to_nanos([
    10_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    15_000_000,
    60_000_000,
    300_000_000,
    3_600_000_000,
    21_600_000_000,
    86_400_000_000,
]);

/// Converts microseconds to nanoseconds.
const fn micros_to_nanos<const LEN: usize>(mut bounds: [u64; LEN]) -> [u64; LEN] {
    let mut index = 0;
    while index < LEN {
        bounds[index] *= 1_000;
        index += 1;
    }
    bounds
}

/// Upper bounds of the buckets for numbers of items.
const COUNT_BOUNDS: [u64; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The distribution of durations or numbers, in fixed buckets.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// The number of recorded units per unit of the metric: 1e9 nanoseconds per second for
    /// durations.
    per_unit: f64,
    /// The observations in each bucket; the last one has no upper bound.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// Creates a histogram of durations, which are shown in seconds.
    pub fn durations() -> Self {
        Self::new(&DURATION_BOUNDS, 1e9)
    }

    /// Creates a histogram of durations with retries, which are shown in seconds.
    pub fn long_durations() -> Self {
        Self::new(&LONG_DURATION_BOUNDS, 1e9)
    }

    /// Creates a histogram of numbers of items.
    pub fn counts() -> Self {
        Self::new(&COUNT_BOUNDS, 1.0)
    }

    fn new(bounds: &'static [u64], per_unit: f64) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::default()).collect();
        Self { bounds, per_unit, buckets, sum: AtomicU64::default() }
    }

    /// Records a number of items, or a duration in nanoseconds.
    pub fn observe(&self, number: u64) {
        let index = self.bounds.partition_point(|bound| *bound < number);
        self.buckets[index].fetch_add(1, Relaxed);
        self.sum.fetch_add(number, Relaxed);
    }

    pub fn observe_duration(&self, duration: Duration) {
        self.observe(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    pub fn observe_since(&self, start: Instant) {
        self.observe_duration(start.elapsed());
    }

    /// Returns the upper bound of each bucket but the last, with the observations up to it; the
    /// total number of observations; and their sum.
    #[expect(clippy::cast_precision_loss, reason = "a metric needs no more than 53 bits")]
    pub fn snapshot(&self) -> (Vec<(f64, u64)>, u64, f64) {
        let mut count = 0;
        let mut cumulative_counts = self.buckets.iter().map(|bucket| {
            count += bucket.load(Relaxed);
            count
        });
        let bounds = self.bounds.iter().map(|bound| *bound as f64 / self.per_unit);
        let buckets = bounds.zip(cumulative_counts.by_ref()).collect();
        let total = cumulative_counts.next().unwrap_or_default();
        (buckets, total, self.sum.load(Relaxed) as f64 / self.per_unit)
    }
}
