//! Counts that all cores add to at once: each thread has a place of its own, and who reads adds
//! them up. One place for all would wander from core to core with every call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Atomic;

/// Places. Threads beyond that share some, which is slower but as right.
const STRIPES: usize = 16;

/// One value for each place.
#[derive(Debug, Default)]
struct Striped<T>([Stripe<T>; STRIPES]);

/// Two lines of memory that no other place shares: cores fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe<T>(T);

impl<T> Striped<T> {
    /// The place of this thread.
    fn own(&self) -> &T {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static PLACE: usize = THREADS.fetch_add(1, Relaxed) % STRIPES;
        }
        &self.0[PLACE.with(|place| *place)].0
    }

    fn sum(&self, count: impl Fn(&T) -> &AtomicU64) -> u64 {
        self.0.iter().map(|stripe| count(&stripe.0).load(Relaxed)).sum()
    }
}

/// A count that only grows.
#[derive(Debug, Default)]
pub struct Count(Striped<AtomicU64>);

impl Atomic<u64> for Count {
    fn inc(&self) -> u64 {
        self.inc_by(1)
    }

    /// What is returned is this thread's part of the count as it was.
    fn inc_by(&self, more: u64) -> u64 {
        self.0.own().fetch_add(more, Relaxed)
    }

    fn get(&self) -> u64 {
        self.0.sum(|count| count)
    }
}

/// How many buckets there are beside the last, which has no upper end.
const BUCKETS: usize = 16;

/// The upper end of the first, in nanoseconds and in seconds. Each is twice as wide as the one
/// before it, so that they reach from 100 µs to 3 s.
const FIRST: u64 = 100_000;
const FIRST_IN_SECONDS: f64 = 0.0001;

/// How long something took, by powers of two.
#[derive(Debug, Clone, Default)]
pub(super) struct Times(Arc<Striped<Observed>>);

#[derive(Debug, Default)]
struct Observed {
    nanoseconds: AtomicU64,
    buckets: [AtomicU64; BUCKETS + 1],
}

impl Times {
    /// Adds one.
    pub(super) fn observe(&self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = (0..BUCKETS).find(|bucket| nanoseconds <= FIRST << bucket).unwrap_or(BUCKETS);
        let own = self.0.own();
        own.nanoseconds.fetch_add(nanoseconds, Relaxed);
        own.buckets[bucket].fetch_add(1, Relaxed);
    }
}

impl EncodeMetric for Times {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        let buckets: [(f64, u64); BUCKETS + 1] = std::array::from_fn(|bucket| {
            let end = FIRST_IN_SECONDS * f64::from(1_u32 << bucket);
            let end = if bucket < BUCKETS { end } else { f64::INFINITY };
            (end, self.0.sum(|own| &own.buckets[bucket]))
        });
        let sum = Duration::from_nanos(self.0.sum(|own| &own.nanoseconds)).as_secs_f64();
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn no_count_is_lost_among_more_threads_than_places() {
        let count = Counter::<u64, Count>::default();
        std::thread::scope(|threads| {
            for _ in 0..STRIPES * 3 {
                threads.spawn(|| {
                    for _ in 0..1000 {
                        count.inc();
                    }
                });
            }
        });
        assert_eq!(count.get(), 1000 * 3 * STRIPES as u64);
    }

    #[test]
    fn times_are_told_in_seconds_and_each_bucket_has_those_below_it() {
        let times = Times::default();
        for microseconds in [99, 100, 101, 399, 3_276_800, 3_276_801] {
            times.observe(Duration::from_micros(microseconds));
        }
        let mut registry = Registry::default();
        registry.register("took", "How long it took", times);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "took_sum 6.5543",
            "took_count 6",
            "took_bucket{le=\"0.0001\"} 2",
            "took_bucket{le=\"0.0002\"} 3",
            "took_bucket{le=\"0.0004\"} 4",
            "took_bucket{le=\"1.6384\"} 4",
            "took_bucket{le=\"3.2768\"} 5",
            "took_bucket{le=\"+Inf\"} 6",
        ] {
            assert!(text.lines().any(|told| told == line), "{line} in\n{text}");
        }
    }
}
