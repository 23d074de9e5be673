//! Tests of the values and of the text format.

use std::time::Duration;

use super::exposition::Exposition;
use super::*;

const NUMBERS: Family =
    Family { name: "a_total", kind: Kind::Counter, labels: &["x", "y"], help: "Numbers" };
const SIZES: Family = Family { name: "b", kind: Kind::Histogram, labels: &["x"], help: "Sizes" };

fn exposition_text(write: impl FnOnce(&mut Exposition)) -> String {
    let mut out = Exposition::default();
    write(&mut out);
    out.finish()
}

#[test]
fn a_family_is_described_once_before_its_samples() {
    let write = |out: &mut Exposition| {
        let mut numbers = out.family(&NUMBERS);
        numbers.value(&["one", "a\"b\\c\nd"], 1);
        numbers.value(&["two", ""], 2.5);
    };
    let samples = "a_total{x=\"one\",y=\"a\\\"b\\\\c\\nd\"} 1\na_total{x=\"two\",y=\"\"} 2.5\n";
    assert_eq!(
        exposition_text(write),
        format!("# HELP a_total Numbers\n# TYPE a_total counter\n{samples}")
    );
}

#[test]
fn a_family_without_samples_is_omitted() {
    let begin = |out: &mut Exposition| {
        out.family(&NUMBERS);
    };
    assert_eq!(exposition_text(begin), "");
}

#[test]
fn histogram_buckets_are_cumulative() {
    let counts = Histogram::counts();
    for number in [1, 2, 2, 3, 1024, 1025] {
        counts.observe(number);
    }
    let text = exposition_text(|out| out.family(&SIZES).histogram(&["y"], &counts));
    for line in [
        "b_bucket{x=\"y\",le=\"1\"} 1",
        "b_bucket{x=\"y\",le=\"2\"} 3",
        "b_bucket{x=\"y\",le=\"4\"} 4",
        "b_bucket{x=\"y\",le=\"512\"} 4",
        "b_bucket{x=\"y\",le=\"1024\"} 5",
        "b_bucket{x=\"y\",le=\"+Inf\"} 6",
        "b_sum{x=\"y\"} 2057",
        "b_count{x=\"y\"} 6",
    ] {
        assert!(text.lines().any(|actual| actual == line), "{line} in\n{text}");
    }
}

#[test]
fn durations_are_reported_in_seconds() {
    let durations = Histogram::durations();
    for microseconds in [99, 100, 101, 5_000_000, 5_000_001] {
        durations.observe_duration(Duration::from_micros(microseconds));
    }
    let (buckets, count, sum) = durations.snapshot();
    let bounds: Vec<String> = buckets.iter().map(|(bound, _)| bound.to_string()).collect();
    assert_eq!(
        bounds,
        [
            "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05",
            "0.1", "0.25", "0.5", "1", "2.5", "5"
        ]
    );
    assert_eq!((buckets[0].1, buckets[1].1, buckets[14].1, count), (2, 3, 4, 5));
    assert!((sum - 10.000_301).abs() < 1e-9, "{sum}");
}

#[test]
fn durations_with_retries_are_reported_up_to_a_day() {
    let durations = Histogram::long_durations();
    for seconds in [0, 60, 3_600, 86_400, 86_401] {
        durations.observe_duration(Duration::from_secs(seconds));
    }
    let (buckets, count, _) = durations.snapshot();
    let counts: Vec<(String, u64)> =
        buckets[9..].iter().map(|(bound, count)| (bound.to_string(), *count)).collect();
    let expected = [("60", 2), ("300", 2), ("3600", 3), ("21600", 3), ("86400", 4)];
    assert_eq!(counts, expected.map(|(bound, count)| (bound.to_owned(), count)));
    assert_eq!(count, 5);
}

#[test]
fn a_gauge_counts_until_its_guard_is_dropped() {
    let gauge = Gauge::default();
    let first_guard = gauge.enter();
    let second_guard = gauge.enter();
    assert_eq!(gauge.get(), 2);
    drop(first_guard);
    assert_eq!(gauge.get(), 1);
    drop(second_guard);
    assert_eq!(gauge.get(), 0);
}
