//! Tests of rate-limit decisions: examples, and properties that hold for every sequence of
//! requests.

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

fn limit(name: &str, requests: u32, seconds: u64) -> Arc<Limit> {
    Limit::new(name, requests, Duration::from_secs(seconds)).unwrap().into()
}

fn time(seconds: i64) -> UnixMicros {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap().into()
}

#[derive(Clone)]
struct TestEngine(Vec<(Arc<Limit>, Window)>);

impl TestEngine {
    fn new<'a>(limits: impl IntoIterator<Item = &'a Arc<Limit>>) -> Self {
        Self(limits.into_iter().map(|limit| (Arc::clone(limit), Window::default())).collect())
    }

    fn decide(&mut self, mode: CountMode, now: UnixMicros) -> RateLimitDecision {
        let mut windows: Vec<_> = self.0.iter().map(|(limit, window)| (limit, *window)).collect();
        let decision = decide(mode, &mut windows, now);
        let windows: Vec<_> = windows.into_iter().map(|(_, window)| window).collect();
        for ((_, stored_window), window) in self.0.iter_mut().zip(windows) {
            *stored_window = window;
        }
        decision
    }

    fn check(&mut self, now: UnixMicros) -> RateLimitDecision {
        self.decide(CountMode::Check, now)
    }

    fn counts(&self) -> Vec<u32> {
        self.0.iter().map(|(_, window)| window.count).collect()
    }
}

fn remaining(decision: &RateLimitDecision) -> Vec<u32> {
    decision.statuses().iter().map(|status| status.remaining).collect()
}

#[test]
fn a_limit_of_300_rejects_the_301st_request() {
    let limit = limit("account", 300, 300);
    let mut engine = TestEngine::new([&limit]);
    for left in (0..300).rev() {
        let decision = engine.check(time(1));
        assert!(decision.is_admitted());
        assert_eq!(remaining(&decision), [left]);
    }
    assert!(!engine.check(time(2)).is_admitted());
}

#[test]
fn a_window_starts_with_the_first_request_and_lasts_its_length() {
    let limit = limit("account", 2, 300);
    let mut engine = TestEngine::new([&limit]);
    for (now, is_admitted, left, reset) in [
        (7, true, 1, 307),
        (100, true, 0, 307),
        (306, false, 0, 307),
        (307, true, 1, 607),
        (1000, true, 1, 1300),
    ] {
        let decision = engine.check(time(now));
        let [status] = decision.statuses() else { panic!("expected one limit") };
        assert_eq!(
            (status.is_admitted, status.remaining, status.reset),
            (is_admitted, left, time(reset)),
            "at {now}"
        );
    }
}

#[test]
fn a_rejected_request_consumes_no_quota() {
    let wide = limit("account", 300, 300);
    let narrow = limit("media", 1, 1800);
    let mut engine = TestEngine::new([&wide, &narrow]);
    assert_eq!(remaining(&engine.check(time(0))), [299, 0]);
    for _ in 0..1000 {
        let decision = engine.check(time(1));
        assert!(!decision.is_admitted());
        assert_eq!(remaining(&decision), [299, 0]);
    }
    assert_eq!(engine.counts(), [1, 1]);
}

#[test]
fn a_peek_consumes_nothing_and_a_charge_only_what_is_left() {
    let wide = limit("a", 3, 60);
    let narrow = limit("b", 1, 60);
    let mut engine = TestEngine::new([&wide, &narrow]);
    let peek = engine.decide(CountMode::Peek, time(0));
    assert_eq!((peek.is_admitted(), remaining(&peek)), (true, vec![3, 1]));
    assert_eq!(engine.counts(), [0, 0]);
    for counts in [[1, 1], [2, 1], [3, 1], [3, 1]] {
        engine.decide(CountMode::Charge, time(0));
        assert_eq!(engine.counts(), counts);
    }
    assert!(!engine.decide(CountMode::Peek, time(1)).is_admitted());
}

#[test]
fn a_refund_takes_back_one_request_in_the_current_window() {
    let wide = limit("a", 3, 60);
    let narrow = limit("b", 1, 60);
    let mut engine = TestEngine::new([&wide, &narrow]);
    engine.check(time(0));
    assert!(!engine.check(time(1)).is_admitted());
    let refund = engine.decide(CountMode::Refund, time(2));
    assert_eq!((refund.is_admitted(), remaining(&refund)), (true, vec![3, 1]));
    assert_eq!(remaining(&engine.decide(CountMode::Refund, time(2))), [3, 1]);
    engine.check(time(3));
    // After the end of the window there is nothing to take back.
    assert_eq!(remaining(&engine.decide(CountMode::Refund, time(99))), [3, 1]);
    assert_eq!(engine.counts(), [0, 0]);
}

#[test]
fn a_peek_or_a_rejected_request_starts_no_window() {
    let open_limit = limit("a", 1, 60);
    let closed_limit = limit("b", 0, 60);
    let mut engine = TestEngine::new([&open_limit, &closed_limit]);
    engine.decide(CountMode::Peek, time(0));
    engine.check(time(10));
    engine.0.pop();
    assert_eq!(engine.check(time(50)).closest_status().unwrap().reset, time(110));
}

#[test]
fn the_closest_status_is_a_rejection_or_has_the_fewest_requests_left() {
    let names = ["a", "b", "c"];
    for (statuses, closest) in [
        ([(5, 10, true), (3, 10, true), (4, 99, true)], "b"),
        ([(3, 10, true), (3, 20, true), (3, 15, true)], "b"),
        ([(0, 99, true), (7, 1, true), (0, 98, true)], "a"),
        ([(0, 99, true), (0, 10, false), (9, 99, true)], "b"),
        ([(0, 10, false), (0, 99, true), (0, 20, false)], "c"),
    ] {
        let status = |(name, (remaining, reset, is_admitted))| QuotaStatus {
            limit: limit(name, 9, 60),
            remaining,
            reset: time(reset),
            is_admitted,
        };
        let quota_statuses = names.into_iter().zip(statuses).map(status).collect();
        let decision = RateLimitDecision { decided_at: time(0), statuses: quota_statuses };
        assert_eq!(decision.closest_status().unwrap().limit.name(), closest, "{statuses:?}");
    }
}

#[test]
fn a_request_without_limits_is_admitted() {
    let decision = decide(CountMode::Check, &mut [], time(0));
    assert!(decision.is_admitted());
    assert_eq!(decision.closest_status(), None);
    assert_eq!(decision.retry_after(), None);
}

#[test]
fn a_limit_of_0_rejects_and_reports_when_to_retry() {
    let zero_limit = limit("none", 0, 60);
    let mut engine = TestEngine::new([&zero_limit]);
    for mode in [CountMode::Check, CountMode::Peek, CountMode::Charge] {
        let decision = engine.decide(mode, time(0));
        assert!(!decision.is_admitted());
        assert_eq!(decision.retry_after(), Some(Duration::from_mins(1)));
    }
}

#[test]
fn the_largest_limit_does_not_overflow() {
    let largest_limit = limit("most", u32::MAX, 60);
    let window = |count| Window { count, end: time(60) };
    let mut windows = [(&largest_limit, window(u32::MAX - 1))];
    assert!(decide(CountMode::Check, &mut windows, time(0)).is_admitted());
    for mode in [CountMode::Check, CountMode::Charge] {
        assert!(!decide(mode, &mut windows, time(0)).is_admitted());
        assert_eq!(windows[0].1, window(u32::MAX));
    }
}

#[test]
fn a_clock_set_back_gives_no_new_window_and_rejects_for_one_window_at_most() {
    let limit = limit("account", 2, 300);
    let mut engine = TestEngine::new([&limit]);
    engine.check(time(0));
    engine.check(time(0));
    let hour_ago = -3600;
    let decision = engine.check(time(hour_ago));
    assert!(!decision.is_admitted());
    assert_eq!(decision.closest_status().unwrap().reset, time(hour_ago + 300));
    assert!(!engine.check(time(hour_ago + 299)).is_admitted());
    assert!(engine.check(time(hour_ago + 300)).is_admitted());
}

#[test]
fn a_clock_jump_forward_gains_one_window_and_correcting_it_gains_none() {
    let limit = limit("account", 1, 300);
    let mut engine = TestEngine::new([&limit]);
    let day = 86_400;
    for (now, is_admitted) in [
        (0, true),
        (1, false),
        (day, true),
        (day + 1, false),
        (2, false),
        (301, false),
        (302, true),
    ] {
        assert_eq!(engine.check(time(now)).is_admitted(), is_admitted, "at {now}");
    }
}

#[test]
fn times_at_the_ends_of_the_calendar_do_not_overflow() {
    let limit = limit("account", 1, 366 * 86_400);
    let calendar = [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX].map(UnixMicros::from);
    for now in calendar.into_iter().chain([UnixMicros(i64::MIN), UnixMicros(i64::MAX - 1)]) {
        let mut engine = TestEngine::new([&limit]);
        let decision = engine.check(now);
        assert!(decision.is_admitted());
        let [status] = decision.statuses() else { panic!("expected one limit") };
        assert!(status.reset > now && status.reset_time().is_ascii());
        assert!(UnixMicros(i64::MIN).until(status.reset) < Duration::MAX);
        assert!(!engine.check(now).is_admitted());
    }
}

#[test]
fn changing_a_limit_preserves_its_counts() {
    let original_limit = limit("media", 30, 1800);
    let mut engine = TestEngine::new([&original_limit]);
    (0..20).for_each(|_| drop(engine.check(time(0))));
    let stored_window = engine.0[0].1;
    for (requests, seconds, is_admitted, left, reset) in [
        (30, 1800, true, 9, 1800),
        (40, 1800, true, 19, 1800),
        (20, 1800, false, 0, 1800),
        (5, 1800, false, 0, 1800),
        (30, 60, true, 9, 70),
        (30, 7200, true, 9, 1800),
    ] {
        let changed_limit = limit("media", requests, seconds);
        let decision = decide(CountMode::Check, &mut [(&changed_limit, stored_window)], time(10));
        let [status] = decision.statuses() else { panic!("expected one limit") };
        let actual = (status.is_admitted, status.remaining, status.reset);
        assert_eq!(actual, (is_admitted, left, time(reset)), "{requests} in {seconds} s");
    }
}

#[test]
fn invalid_names_and_windows_are_rejected() {
    let minute = Duration::from_mins(1);
    for name in ["", "Media", "a b", "a\"b", "ä", "a:b", &"a".repeat(49)] {
        assert!(matches!(Limit::new(name, 1, minute), Err(LimitError::Name(_))), "{name:?}");
    }
    for window in [
        Duration::ZERO,
        Duration::from_millis(999),
        Duration::from_millis(1500),
        Duration::from_hours(8785),
        Duration::MAX,
    ] {
        assert_eq!(Limit::new("a", 1, window), Err(LimitError::Window), "{window:?}");
    }
}

#[derive(Debug, Clone)]
struct Step {
    mode: CountMode,
    elapsed_seconds: i64,
}

/// Mostly small steps forward, sometimes none, sometimes a clock jump in either direction.
fn steps(has_clock_jumps: bool) -> impl Strategy<Value = Vec<Step>> {
    let jump = if has_clock_jumps { -200_000..200_000_i64 } else { 0..1 };
    let elapsed_seconds = prop_oneof![4 => 0..20_i64, 1 => jump];
    let mode = prop_oneof![
        6 => Just(CountMode::Check),
        1 => Just(CountMode::Peek),
        1 => Just(CountMode::Charge),
    ];
    let step =
        (mode, elapsed_seconds).prop_map(|(mode, elapsed_seconds)| Step { mode, elapsed_seconds });
    prop::collection::vec(step, 1..80)
}

fn limits() -> impl Strategy<Value = Vec<Arc<Limit>>> {
    prop::collection::vec((0..12_u32, 1..120_u64), 1..4).prop_map(|shapes| {
        let numbered_limit = |(i, (requests, seconds))| limit(&format!("l{i}"), requests, seconds);
        shapes.into_iter().enumerate().map(numbered_limit).collect()
    })
}

proptest! {
    #[test]
    fn a_window_never_admits_more_than_the_limit(limits in limits(), steps in steps(false)) {
        let mut engine = TestEngine::new(&limits);
        let mut now = 0;
        let mut counted_times = vec![Vec::<i64>::new(); limits.len()];
        for Step { mode, elapsed_seconds } in steps {
            now += elapsed_seconds;
            let decision = engine.decide(mode, time(now));
            for (i, status) in decision.statuses().iter().enumerate() {
                let is_counted = match mode {
                    CountMode::Check => decision.is_admitted(),
                    CountMode::Peek | CountMode::Refund => false,
                    CountMode::Charge => status.is_admitted,
                };
                if is_counted {
                    counted_times[i].push(now);
                }
            }
        }
        // Recomputed from the times alone: a window starts with the first request after the end of
        // the previous one.
        for (limit, times) in limits.iter().zip(counted_times) {
            let mut remaining_times = times.as_slice();
            while let [first, ..] = remaining_times {
                let end = first + limit.window().as_secs().cast_signed();
                let count = remaining_times.iter().take_while(|&&time| time < end).count();
                prop_assert!(count <= limit.requests() as usize, "{} in {:?}", count, limit);
                remaining_times = &remaining_times[count..];
            }
        }
    }

    #[test]
    fn remaining_and_reset_agree_with_the_decision(limits in limits(), steps in steps(true)) {
        let mut engine = TestEngine::new(&limits);
        let mut now = 0;
        for Step { mode, elapsed_seconds } in steps {
            now += elapsed_seconds;
            let peek = engine.decide(CountMode::Peek, time(now));
            let counts_before = engine.counts();
            let decision = engine.decide(mode, time(now));
            prop_assert_eq!(peek.is_admitted(), decision.is_admitted());
            prop_assert_eq!(decision.retry_after().is_some(), !decision.is_admitted());
            for (i, status) in decision.statuses().iter().enumerate() {
                let cost = match mode {
                    CountMode::Check => u32::from(decision.is_admitted()),
                    CountMode::Peek | CountMode::Refund => 0,
                    CountMode::Charge => u32::from(status.is_admitted),
                };
                prop_assert_eq!(engine.counts()[i], counts_before[i] + cost);
                prop_assert_eq!(status.is_admitted, peek.statuses()[i].remaining > 0);
                prop_assert_eq!(status.remaining, peek.statuses()[i].remaining - cost);
                let window_seconds = status.limit.window().as_secs().cast_signed();
                let latest_reset = time(now + window_seconds);
                prop_assert!(time(now) < status.reset && status.reset <= latest_reset);
            }
        }
    }

    #[test]
    fn a_client_never_waits_longer_than_reported_after_any_clock_change(limits in limits(), steps in steps(true)) {
        let mut engine = TestEngine::new(&limits);
        let mut now = 0;
        for Step { mode, elapsed_seconds } in steps {
            let counts_before = engine.counts();
            now += elapsed_seconds;
            let decision = engine.decide(mode, time(now));
            if elapsed_seconds < 0 {
                let mut counts = engine.counts().into_iter().zip(&counts_before);
                let all_remain = counts.all(|(after, before)| after >= *before);
                prop_assert!(all_remain, "a clock set back gave a new window");
            }
            if mode == CountMode::Charge {
                continue; // A charge may exhaust a limit that did not reject it.
            }
            let Some(wait) = decision.retry_after() else { continue };
            let retry_time = time(now).plus(wait);
            let retry_decision = engine.clone().decide(CountMode::Peek, retry_time);
            let mut statuses = retry_decision.statuses().iter();
            let has_zero_limit = statuses.any(|status| status.limit.requests() == 0);
            prop_assert!(has_zero_limit || retry_decision.is_admitted());
        }
    }
}

#[test]
fn a_quota_is_nearly_exhausted_from_80_percent_on() {
    for (requests, remaining, expected) in [
        (300, 61, false),
        (300, 60, true),
        (300, 0, true),
        (5, 2, false),
        (5, 1, true),
        (1, 1, false),
        (1, 0, true),
        (0, 0, true),
        (u32::MAX, u32::MAX, false),
        (u32::MAX, 0, true),
    ] {
        let reset = UnixMicros(0);
        let status =
            QuotaStatus { limit: limit("l", requests, 60), remaining, reset, is_admitted: true };
        assert_eq!(status.is_nearly_exhausted(), expected, "{remaining} of {requests}");
    }
}
