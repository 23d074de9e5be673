//! The arithmetic of limits: tables for what the contract says, properties for what always holds.

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

fn limit(name: &str, requests: u32, seconds: u64) -> Limit {
    Limit::new(name, requests, Duration::from_secs(seconds)).unwrap()
}

fn at(seconds: i64) -> Micros {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap().into()
}

/// The smallest engine there is: one window for each limit.
struct Kept(Vec<(Limit, Window)>);

impl Kept {
    fn new(limits: impl IntoIterator<Item = Limit>) -> Self {
        Self(limits.into_iter().map(|limit| (limit, Window::NONE)).collect())
    }

    fn check(&mut self, now: Micros) -> RateLimitDecision {
        judge(CountMode::Check, &mut self.0, now)
    }

    fn counts(&self) -> Vec<u32> {
        self.0.iter().map(|(_, window)| window.count).collect()
    }
}

fn remaining(decision: &RateLimitDecision) -> Vec<u32> {
    decision.statuses().iter().map(|status| status.remaining).collect()
}

#[test]
fn the_301st_of_300_is_refused() {
    let limit = limit("account", 300, 300);
    let mut kept = Kept::new([limit]);
    for left in (0..300).rev() {
        let decision = kept.check(at(1));
        assert!(decision.admitted());
        assert_eq!(remaining(&decision), [left]);
    }
    assert!(!kept.check(at(2)).admitted());
}

#[test]
fn a_window_starts_with_the_first_request_and_lasts_its_length() {
    let limit = limit("account", 2, 300);
    let mut kept = Kept::new([limit]);
    for (now, admitted, left, reset) in [
        (7, true, 1, 307),
        (100, true, 0, 307),
        (306, false, 0, 307),
        (307, true, 1, 607),
        (1000, true, 1, 1300),
    ] {
        let decision = kept.check(at(now));
        let [status] = decision.statuses() else { panic!("one limit") };
        assert_eq!(
            (status.admitted, status.remaining, status.reset),
            (admitted, left, at(reset)),
            "at {now}"
        );
    }
}

#[test]
fn a_refused_call_costs_none_of_its_limits() {
    let (wide, narrow) = (limit("account", 300, 300), limit("media", 1, 1800));
    let mut kept = Kept::new([wide, narrow]);
    assert_eq!(remaining(&kept.check(at(0))), [299, 0]);
    for _ in 0..1000 {
        let decision = kept.check(at(1));
        assert!(!decision.admitted());
        assert_eq!(remaining(&decision), [299, 0]);
    }
    assert_eq!(kept.counts(), [1, 1]);
}

#[test]
fn a_peek_costs_nothing_and_a_charge_only_what_there_is_room_for() {
    let (wide, narrow) = (limit("a", 3, 60), limit("b", 1, 60));
    let mut kept = Kept::new([wide, narrow]);
    let peek = judge(CountMode::Peek, &mut kept.0, at(0));
    assert_eq!((peek.admitted(), remaining(&peek)), (true, vec![3, 1]));
    assert_eq!(kept.counts(), [0, 0]);
    for counts in [[1, 1], [2, 1], [3, 1], [3, 1]] {
        judge(CountMode::Charge, &mut kept.0, at(0));
        assert_eq!(kept.counts(), counts);
    }
    assert!(!judge(CountMode::Peek, &mut kept.0, at(1)).admitted());
}

#[test]
fn a_window_does_not_start_with_a_peek_or_a_refusal() {
    let (open, closed) = (limit("a", 1, 60), limit("b", 0, 60));
    let mut kept = Kept::new([open, closed]);
    judge(CountMode::Peek, &mut kept.0, at(0));
    kept.check(at(10));
    kept.0.pop();
    assert_eq!(kept.check(at(50)).closest().unwrap().reset, at(110));
}

#[test]
fn the_closest_has_the_smallest_remaining_then_the_latest_reset() {
    let names = ["a", "b", "c"];
    for (statuses, closest) in [
        ([(5, 10, true), (3, 10, true), (4, 99, true)], "b"),
        ([(3, 10, true), (3, 20, true), (3, 15, true)], "b"),
        ([(0, 99, true), (7, 1, true), (0, 98, true)], "a"),
        ([(0, 99, true), (0, 10, false), (9, 99, true)], "b"),
        ([(0, 10, false), (0, 99, true), (0, 20, false)], "c"),
    ] {
        let status = |(name, (remaining, reset, admitted))| QuotaStatus {
            limit: limit(name, 9, 60),
            remaining,
            reset: at(reset),
            admitted,
        };
        let all = names.into_iter().zip(statuses).map(status).collect();
        let decision = RateLimitDecision { at: at(0), statuses: all };
        assert_eq!(decision.closest().unwrap().limit.name(), closest, "{statuses:?}");
    }
}

#[test]
fn a_call_without_limits_is_admitted() {
    let decision = judge(CountMode::Check, &mut [], at(0));
    assert!(decision.admitted());
    assert_eq!(decision.closest(), None);
    assert_eq!(decision.wait(), None);
}

#[test]
fn a_limit_of_0_refuses_and_says_when_to_ask_again() {
    let none = limit("none", 0, 60);
    let mut kept = Kept::new([none]);
    for mode in [CountMode::Check, CountMode::Peek, CountMode::Charge] {
        let decision = judge(mode, &mut kept.0, at(0));
        assert!(!decision.admitted());
        assert_eq!(decision.wait(), Some(Duration::from_mins(1)));
    }
}

#[test]
fn the_largest_limit_stops_at_its_end_and_does_not_overflow() {
    let most = limit("most", u32::MAX, 60);
    let window = |count| Window { count, end: at(60) };
    let mut kept = [(most, window(u32::MAX - 1))];
    assert!(judge(CountMode::Check, &mut kept, at(0)).admitted());
    for mode in [CountMode::Check, CountMode::Charge] {
        assert!(!judge(mode, &mut kept, at(0)).admitted());
        assert_eq!(kept[0].1, window(u32::MAX));
    }
}

#[test]
fn a_clock_set_back_gives_no_fresh_window_and_locks_out_for_one_window_at_most() {
    let limit = limit("account", 2, 300);
    let mut kept = Kept::new([limit]);
    kept.check(at(0));
    kept.check(at(0));
    let hour = -3600;
    let decision = kept.check(at(hour));
    assert!(!decision.admitted());
    assert_eq!(decision.closest().unwrap().reset, at(hour + 300));
    assert!(!kept.check(at(hour + 299)).admitted());
    assert!(kept.check(at(hour + 300)).admitted());
}

#[test]
fn a_clock_far_forward_gains_one_window_and_setting_it_right_gains_none() {
    let limit = limit("account", 1, 300);
    let mut kept = Kept::new([limit]);
    let day = 86_400;
    for (now, admitted) in [
        (0, true),
        (1, false),
        (day, true),
        (day + 1, false),
        (2, false),
        (301, false),
        (302, true),
    ] {
        assert_eq!(kept.check(at(now)).admitted(), admitted, "at {now}");
    }
}

#[test]
fn the_ends_of_the_calendar_do_no_harm() {
    let limit = limit("account", 1, 366 * 86_400);
    let calendar = [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX].map(Micros::from);
    for now in calendar.into_iter().chain([Micros::MIN, Micros(i64::MAX - 1)]) {
        let mut kept = Kept::new([limit]);
        let decision = kept.check(now);
        assert!(decision.admitted());
        let [status] = decision.statuses() else { panic!("one limit") };
        assert!(status.reset > now && status.x_reset().is_ascii());
        assert!(Micros::MIN.until(status.reset) < Duration::MAX);
        assert!(!kept.check(now).admitted());
    }
}

#[test]
fn a_changed_limit_keeps_what_was_counted() {
    let before = limit("media", 30, 1800);
    let mut kept = Kept::new([before]);
    (0..20).for_each(|_| drop(kept.check(at(0))));
    let counted = kept.0[0].1;
    for (requests, seconds, admitted, left, reset) in [
        (30, 1800, true, 9, 1800),
        (40, 1800, true, 19, 1800),
        (20, 1800, false, 0, 1800),
        (5, 1800, false, 0, 1800),
        (30, 60, true, 9, 70),
        (30, 7200, true, 9, 1800),
    ] {
        let after = limit("media", requests, seconds);
        let decision = judge(CountMode::Check, &mut [(after, counted)], at(10));
        let [status] = decision.statuses() else { panic!("one limit") };
        let found = (status.admitted, status.remaining, status.reset);
        assert_eq!(found, (admitted, left, at(reset)), "{requests} in {seconds} s");
    }
}

#[test]
fn a_name_or_window_that_no_header_can_carry_is_refused() {
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
    pass: i64,
}

/// Mostly small steps forward, sometimes none, sometimes a clock that jumps either way.
fn steps(clock_jumps: bool) -> impl Strategy<Value = Vec<Step>> {
    let jump = if clock_jumps { -200_000..200_000_i64 } else { 0..1 };
    let pass = prop_oneof![4 => 0..20_i64, 1 => jump];
    let mode = prop_oneof![
        6 => Just(CountMode::Check),
        1 => Just(CountMode::Peek),
        1 => Just(CountMode::Charge),
    ];
    let step = (mode, pass).prop_map(|(mode, pass)| Step { mode, pass });
    prop::collection::vec(step, 1..80)
}

fn limits() -> impl Strategy<Value = Vec<Limit>> {
    prop::collection::vec((0..12_u32, 1..120_u64), 1..4).prop_map(|shapes| {
        let named = |(i, (requests, seconds))| limit(&format!("l{i}"), requests, seconds);
        shapes.into_iter().enumerate().map(named).collect()
    })
}

proptest! {
    #[test]
    fn never_more_than_the_limit_in_a_window(limits in limits(), steps in steps(false)) {
        let mut kept = Kept::new(limits.iter().copied());
        let mut now = 0;
        let mut counted = vec![Vec::<i64>::new(); limits.len()];
        for Step { mode, pass } in steps {
            now += pass;
            let decision = judge(mode, &mut kept.0, at(now));
            for (i, status) in decision.statuses().iter().enumerate() {
                let passed = match mode {
                    CountMode::Check => decision.admitted(),
                    CountMode::Peek => false,
                    CountMode::Charge => status.admitted,
                };
                counted[i].extend(passed.then_some(now));
            }
        }
        // Told by the times alone: windows that begin with the first request after the last one's end.
        for (limit, times) in limits.iter().zip(counted) {
            let mut rest = times.as_slice();
            while let [first, ..] = rest {
                let end = first + i64::from(limit.window_seconds());
                let inside = rest.iter().take_while(|&&time| time < end).count();
                prop_assert!(inside <= limit.requests() as usize, "{} in {:?}", inside, limit);
                rest = &rest[inside..];
            }
        }
    }

    #[test]
    fn remaining_and_reset_never_contradict_the_verdict(limits in limits(), steps in steps(true)) {
        let mut kept = Kept::new(limits.iter().copied());
        let mut now = 0;
        for Step { mode, pass } in steps {
            now += pass;
            let peek = judge(CountMode::Peek, &mut kept.0, at(now));
            let before = kept.counts();
            let decision = judge(mode, &mut kept.0, at(now));
            prop_assert_eq!(peek.admitted(), decision.admitted());
            prop_assert_eq!(decision.wait().is_some(), !decision.admitted());
            for (i, status) in decision.statuses().iter().enumerate() {
                let cost = match mode {
                    CountMode::Check => u32::from(decision.admitted()),
                    CountMode::Peek => 0,
                    CountMode::Charge => u32::from(status.admitted),
                };
                prop_assert_eq!(kept.counts()[i], before[i] + cost);
                prop_assert_eq!(status.admitted, peek.statuses()[i].remaining > 0);
                prop_assert_eq!(status.remaining, peek.statuses()[i].remaining - cost);
                let length = i64::from(status.limit.window_seconds());
                prop_assert!(at(now) < status.reset && status.reset <= at(now + length));
            }
        }
    }

    #[test]
    fn whatever_the_clock_did_nobody_waits_longer_than_told(limits in limits(), steps in steps(true)) {
        let mut kept = Kept::new(limits.iter().copied());
        let mut now = 0;
        for Step { mode, pass } in steps {
            let before = kept.counts();
            now += pass;
            let decision = judge(mode, &mut kept.0, at(now));
            if pass < 0 {
                let kept_all = kept.counts().iter().zip(&before).all(|(after, before)| after >= before);
                prop_assert!(kept_all, "a clock set back gave a fresh window");
            }
            if mode == CountMode::Charge {
                continue; // It may have used up a limit that did not refuse.
            }
            let Some(wait) = decision.wait() else { continue };
            let then = at(now).plus(wait);
            let again = judge(CountMode::Peek, &mut kept.0.clone(), then);
            let closed = again.statuses().iter().any(|s| s.limit.requests() == 0);
            prop_assert!(closed || again.admitted());
        }
    }
}

#[test]
fn a_standing_is_near_its_limit_from_four_fifths_on() {
    for (requests, remaining, near) in [
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
        let reset = Micros(0);
        let status =
            QuotaStatus { limit: limit("l", requests, 60), remaining, reset, admitted: true };
        assert_eq!(status.is_near(), near, "{remaining} of {requests}");
    }
}
