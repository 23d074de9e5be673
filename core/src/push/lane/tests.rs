mod simulation;

use super::*;

const START: i64 = 1_800_000_000;
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(START + seconds).unwrap()
}

fn proven_record() -> LaneRecord {
    LaneRecord { failures: 0, max_in_flight: 64, is_proven: true, succeeded_at: Some(at(-1000)) }
}

/// An answer to a proven receiver of the account after 100 ms.
fn answer(verdict: Verdict, account_id: i64, started_at: Timestamp) -> Answer {
    Answer {
        verdict,
        account_id,
        receiver_is_proven: true,
        receiver_failures: 0,
        started_at,
        duration: Duration::from_millis(100),
        retry_after: None,
        is_http1: false,
        in_flight: 1024,
        jitter: 0,
    }
}

/// Adds answers that all begin one second before they are received, one second after the other.
fn add_all(lane: &mut Lane, answers: impl IntoIterator<Item = Answer>) -> Vec<Option<Duration>> {
    (1..)
        .zip(answers)
        .map(|(second, answer)| {
            lane.add(&Answer { started_at: at(second - 1), ..answer }, at(second))
        })
        .collect()
}

#[test]
fn every_failure_pauses_the_receiver_and_only_an_unavailable_origin_the_lane() {
    use Verdict::{
        Delivered, Denied, Dropped, NoResponse, OriginUnavailable, ReceiverGone, Refused, Rejected,
        Retry, Throttled,
    };
    for (verdict, pauses_receiver, pauses_lane) in [
        (Delivered, false, false),
        (ReceiverGone, false, false),
        (Dropped, false, false),
        (Refused, false, false),
        (Rejected, true, false),
        (Denied, true, false),
        (Throttled, true, false),
        (Retry, true, false),
        (NoResponse, true, false),
        (OriginUnavailable, true, true),
    ] {
        let mut lane = Lane::new(proven_record());
        let pause = lane.add(&answer(verdict, 1, at(0)), at(1));
        assert_eq!(pause, pauses_receiver.then_some(SECOND), "{verdict:?}");
        assert_eq!(lane.paused_until(), pauses_lane.then_some(at(2)), "{verdict:?}");
        assert_eq!(lane.record().failures, i64::from(pauses_lane), "{verdict:?}");
    }
}

#[test]
fn a_receiver_pauses_longer_after_each_failure_and_as_long_as_the_server_requests() {
    for (failures, retry_after, expected) in [
        (0, None, SECOND),
        (3, None, 8 * SECOND),
        (100, None, 8 * MINUTE),
        (0, Some(90 * MINUTE), 90 * MINUTE),
        (3, Some(SECOND), 8 * SECOND),
    ] {
        let mut lane = Lane::new(proven_record());
        let answer = answer(Verdict::Throttled, 1, at(0));
        let pause = lane.add(&Answer { receiver_failures: failures, retry_after, ..answer }, at(1));
        assert_eq!(pause, Some(expected), "{failures} {retry_after:?}");
    }
}

#[test]
fn a_lane_pauses_when_several_accounts_fail_without_a_success_in_between() {
    use Verdict::{Delivered, NoResponse, Retry, Throttled};
    for (answers, is_paused) in [
        (&[(Retry, 1), (Retry, 1), (Retry, 1), (Retry, 2)][..], false),
        (&[(Retry, 1), (Retry, 2), (Retry, 3)], true),
        (&[(Retry, 1), (NoResponse, 2), (Throttled, 3)], true),
        (&[(Retry, 1), (Retry, 2), (Delivered, 4), (Retry, 3)], false),
        (&[(Throttled, 1), (Throttled, 1), (Throttled, 1)], false),
        (&[(Throttled, 1), (Throttled, 2)], true),
        (&[(Throttled, 1), (Delivered, 3), (Throttled, 2)], false),
        (&[(Throttled, 1), (Retry, 2)], false),
    ] {
        let to_answers =
            || answers.iter().map(|&(verdict, account)| answer(verdict, account, at(0)));
        let mut lane = Lane::new(proven_record());
        add_all(&mut lane, to_answers());
        assert_eq!(lane.paused_until().is_some(), is_paused, "{answers:?}");
        // Receivers that have failed before say nothing about an origin that has accepted messages.
        let to_unproven = |answer| Answer { receiver_is_proven: false, ..answer };
        let mut lane = Lane::new(proven_record());
        add_all(&mut lane, to_answers().map(to_unproven));
        assert_eq!(lane.paused_until(), None, "{answers:?}");
        let mut lane = Lane::new(LaneRecord::default());
        add_all(&mut lane, to_answers().map(to_unproven));
        assert_eq!(lane.paused_until().is_some(), is_paused, "{answers:?}");
    }
}

/// The answer says nothing about the origin if others got one in the meantime.
#[test]
fn a_failure_is_held_against_the_receiver_if_the_origin_accepted_a_message_meanwhile() {
    for verdict in [Verdict::NoResponse, Verdict::OriginUnavailable, Verdict::Throttled] {
        let mut lane = Lane::new(proven_record());
        lane.add(&answer(Verdict::Delivered, 9, at(4)), at(5));
        for account in 1..10 {
            let pause = lane.add(&answer(verdict, account, at(0)), at(10));
            assert_eq!(pause, Some(SECOND));
        }
        assert_eq!(lane.paused_until(), None, "{verdict:?}");
    }
}

#[test]
fn the_pause_of_a_lane_grows_until_a_success() {
    let mut record = proven_record();
    for (failures, pause) in [(1, 1), (2, 2), (3, 4), (4, 8), (12, 480)] {
        record.failures = failures - 1;
        let mut lane = Lane::new(record);
        let expected_limit = if failures == 1 { 64 } else { 1 };
        assert_eq!(lane.max_in_flight(), expected_limit, "one message tests a failing origin");
        lane.add(&answer(Verdict::OriginUnavailable, 1, at(-1)), at(0));
        assert_eq!(lane.paused_until(), Some(at(pause)), "{failures}");
        // The other messages in flight neither extend the pause nor count again.
        lane.add(&answer(Verdict::OriginUnavailable, 2, at(-1)), at(0));
        assert_eq!((lane.paused_until(), lane.record().failures), (Some(at(pause)), failures));
        assert!(!lane.record().is_proven);
        record = lane.record();
    }
    // The failure of a test by a proven receiver pauses again, that of another one does not.
    let mut lane = Lane::new(record);
    let unproven = Answer { receiver_is_proven: false, ..answer(Verdict::Retry, 1, at(0)) };
    lane.add(&unproven, at(1));
    assert_eq!(lane.paused_until(), None);
    lane.add(&answer(Verdict::Retry, 1, at(0)), at(1));
    assert!(lane.paused_until().is_some());

    let mut lane = Lane::new(record);
    lane.add(&answer(Verdict::Delivered, 1, at(0)), at(1));
    let LaneRecord { failures, is_proven, succeeded_at, .. } = lane.record();
    assert_eq!((failures, is_proven, succeeded_at), (0, true, Some(at(1))));
}

#[test]
fn the_retry_after_of_a_second_account_applies_to_the_lane_for_at_most_ten_minutes() {
    for (seconds, expected) in [(0, 1), (90, 90), (86_400, 600)] {
        let retry_after = Some(Duration::from_secs(seconds));
        let throttled =
            |account| Answer { retry_after, ..answer(Verdict::Throttled, account, at(0)) };
        let mut lane = Lane::new(proven_record());
        lane.add(&throttled(1), at(0));
        assert_eq!(lane.paused_until(), None);
        lane.add(&throttled(2), at(0));
        assert_eq!(lane.paused_until(), Some(at(expected)));
    }
}

/// Answers rounds of messages: in each, as many as may be in flight, all after `duration`.
fn windows(lane: &mut Lane, rounds: i64, duration: Duration, is_http1: bool) -> Vec<usize> {
    let mut windows = Vec::new();
    for round in 0..rounds {
        let in_flight = lane.max_in_flight();
        for _ in 0..in_flight {
            let answer = answer(Verdict::Delivered, 1, at(100 * round));
            let answer = Answer { duration, is_http1, in_flight, ..answer };
            lane.add(&answer, at(100 * round + 1));
        }
        windows.push(lane.max_in_flight());
    }
    windows
}

#[test]
fn the_window_doubles_with_each_round_of_answers_in_time() {
    let mut lane = Lane::new(LaneRecord::default());
    let fast = Duration::from_millis(300);
    let expected = [32, 64, 128, 256, 512, 1024, 1024];
    assert_eq!(windows(&mut lane, 7, fast, false), expected);
    assert_eq!(lane.max_unproven_in_flight(), 768);
    // It is kept for the next time, also after a restart.
    assert_eq!(Lane::new(lane.record()).max_in_flight(), 1024);
    // HTTP/1.1 needs a connection for each message.
    assert_eq!(windows(&mut Lane::new(lane.record()), 2, fast, true), [128, 128]);
    // A lane that is hardly used does not grow.
    let mut lane = Lane::new(proven_record());
    for second in 0..100 {
        let answer = answer(Verdict::Delivered, 1, at(second));
        lane.add(&Answer { in_flight: 1, ..answer }, at(second + 1));
    }
    assert_eq!(lane.max_in_flight(), 64);
}

#[test]
fn slow_answers_narrow_the_window_and_never_pause() {
    let mut lane = Lane::new(proven_record());
    let narrowed = windows(&mut lane, 12, Duration::from_millis(5200), false);
    assert_eq!(narrowed[..3], [48, 36, 27]);
    assert_eq!(narrowed[11], 4);
    assert_eq!((lane.paused_until(), lane.record().failures), (None, 0));
    assert!(lane.record().is_proven);
    // Also if the answers only become slower than they were.
    let mut lane = Lane::new(proven_record());
    windows(&mut lane, 1, Duration::from_millis(20), false);
    assert_eq!(windows(&mut lane, 1, Duration::from_millis(241), false), [96]);
}

#[test]
fn an_overloaded_origin_is_approached_slowly_again() {
    for verdict in [Verdict::Refused, Verdict::Throttled, Verdict::NoResponse] {
        let mut lane = Lane::new(LaneRecord { max_in_flight: 256, ..proven_record() });
        // The messages of one round count once.
        for _ in 0..100 {
            lane.add(&answer(verdict, 1, at(-1)), at(0));
        }
        assert_eq!(lane.max_in_flight(), 128, "{verdict:?}");
        let grown = windows(&mut lane, 4, Duration::from_millis(50), false);
        assert_eq!(grown, [128, 129, 130, 131], "{verdict:?}");
    }
}

/// It rejects what exceeds its limit, and accepts the rest.
#[test]
fn an_overloaded_origin_that_accepts_other_messages_is_not_paused() {
    for (seconds, is_paused) in [(10, false), (11, true)] {
        let mut lane = Lane::new(proven_record());
        lane.add(&answer(Verdict::Delivered, 1, at(-1)), at(0));
        for account in 2..100 {
            let rejected = answer(Verdict::Throttled, account, at(seconds - 1));
            assert_eq!(lane.add(&rejected, at(seconds)), Some(SECOND));
        }
        assert_eq!(lane.paused_until().is_some(), is_paused, "{seconds}");
    }
}

#[test]
fn an_origin_that_has_accepted_nothing_gets_few_messages() {
    let mut lane = Lane::new(LaneRecord { max_in_flight: 500, ..LaneRecord::default() });
    assert_eq!((lane.max_in_flight(), lane.max_unproven_in_flight()), (8, 8));
    lane.add(&answer(Verdict::Retry, 1, at(0)), at(1));
    assert!(!lane.record().is_proven);
    lane.add(&answer(Verdict::Delivered, 1, at(0)), at(1));
    assert!(lane.max_in_flight() > 8);
}

#[test]
fn failures_alone_make_a_lane_unproven_until_the_next_success() {
    for (verdicts, is_proven) in [
        (&[][..], true),
        (&[Verdict::ReceiverGone, Verdict::Refused], true),
        (&[Verdict::NoResponse], false),
        (&[Verdict::NoResponse, Verdict::Delivered], true),
        (&[Verdict::Delivered, Verdict::Denied], true),
    ] {
        let mut lane = Lane::new(proven_record());
        add_all(&mut lane, verdicts.iter().map(|&verdict| answer(verdict, 1, at(0))));
        assert_eq!(lane.record().is_proven, is_proven, "{verdicts:?}");
    }
}

#[test]
fn extreme_values_do_not_overflow() {
    let record =
        LaneRecord { failures: i64::MAX, max_in_flight: i64::MIN, ..LaneRecord::default() };
    let mut lane = Lane::new(record);
    assert_eq!(lane.max_in_flight(), 1);
    let answer = Answer {
        receiver_failures: i64::MAX,
        retry_after: Some(Duration::MAX),
        duration: Duration::MAX,
        jitter: u64::MAX,
        ..answer(Verdict::OriginUnavailable, i64::MIN, Timestamp::MIN)
    };
    assert_eq!(lane.add(&answer, Timestamp::MAX), Some(Duration::MAX));
    assert_eq!(lane.paused_until(), Some(Timestamp::MAX));
}
