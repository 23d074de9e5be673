//! The cost of rule evaluation, compared with ruma on the same rules and the same event.
#![expect(clippy::unwrap_used, reason = "a measurement may panic")]

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use belfry_core::rules::User;
use belfry_core::rules::evaluate::{Member, Room};
use belfry_core::rules::event::Event;
use belfry_core::rules::index::{IndexedRules, Members};
use belfry_core::rules::pattern::{GlobPattern, SearchText};
use belfry_core::rules::work::{RequestWorkBudget, UserWorkBudget};
use clap::Args;
use jiff::Timestamp;
use ruma_common::push::{PushConditionRoomCtx, Ruleset};
use ruma_common::serde::Raw;
use serde_json::{Value, json};

use crate::print_row;
use crate::test_data::{ROOM_ID, RulePool, message_event};

fn user_id(user: usize) -> String {
    format!("@user{user}:example.org")
}

fn parse_event(json: &str) -> Event {
    Event::from_value(belfry_core::json::parse(json.as_bytes()).unwrap()).unwrap()
}

fn display_name(user: usize) -> String {
    format!("User Number{user}")
}

/// Returns the time of one run: the best of many short rounds, because other work on the machine
/// only adds to it.
fn best_time<T>(mut run: impl FnMut() -> T) -> Duration {
    let end = Instant::now() + Duration::from_millis(700);
    let mut best = Duration::MAX;
    while Instant::now() < end {
        let start = Instant::now();
        let mut runs = 0;
        while runs == 0 || start.elapsed() < Duration::from_millis(2) {
            black_box(run());
            runs += 1;
        }
        best = best.min(start.elapsed() / runs);
    }
    best
}

/// Prints and returns the time per item in nanoseconds.
fn print_time_per_item(label: &str, time: Duration, items: usize) -> f64 {
    let nanos = time.as_secs_f64() * 1e9 / f64::from(u32::try_from(items).unwrap());
    print_row(label, format_args!("{nanos:.1}"), "ns");
    nanos
}

/// Prints a ratio with its target.
fn print_ratio(label: &str, ratio: f64, target: &str) {
    print_row(label, format_args!("{ratio:.1}"), &format!("times ({target})"));
}

/// Returns the output of a future that never waits.
fn poll_ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Number of members in the large room
    #[arg(default_value_t = 100_000)]
    users: usize,
}

/// Measures single users, rooms and patterns, and prints the figures.
pub(crate) fn measure(&Arguments { users }: &Arguments) {
    let pool = RulePool::new();
    let json = message_event().to_string();

    let ruma_ns = measure_one_user(&pool, &json);
    let [small_room_ns, large_room_ns] =
        [10_000, users].map(|members| measure_room(&pool, members, &json));
    print_ratio(
        "room of 10,000 members against ruma, per member",
        ruma_ns / small_room_ns,
        "100 or more",
    );
    print_ratio(
        "large room against the room of 10,000 members, per member",
        large_room_ns / small_room_ns,
        "3 or less",
    );
    measure_globs();
}

/// One user, for both evaluators.
struct SingleUser {
    id: String,
    name: String,
    belfry_rules: IndexedRules,
    ruma_rules: Ruleset,
    ruma_context: PushConditionRoomCtx,
}

impl SingleUser {
    fn new(pool: &RulePool, user: usize) -> Self {
        let id = user_id(user);
        let name = display_name(user);
        let document = pool.document(user);
        let room = ROOM_ID.try_into().unwrap();
        let ruma_id = id.as_str().try_into().unwrap();
        Self {
            belfry_rules: IndexedRules::new([&document]),
            ruma_rules: serde_json::from_value(json!(document.ruleset(User::new(&id)))).unwrap(),
            ruma_context: PushConditionRoomCtx::new(room, 10_000_u32.into(), ruma_id, name.clone()),
            name,
            id,
        }
    }

    fn members(&self) -> Members<'_> {
        let member = Member { display_name: Some(&self.name), profile_tag: None };
        Members::new([(self.id.as_str(), member, Some(&self.belfry_rules))])
    }

    fn is_notified(&self, event: &Event, room: &Room) -> Option<bool> {
        self.members()
            .evaluate(event, room, Timestamp::UNIX_EPOCH, &mut RequestWorkBudget::default())
            .get(0)
            .map(|evaluation| evaluation.notifies())
    }
}

/// Measures evaluation for one user, and returns ruma's time in nanoseconds.
fn measure_one_user(pool: &RulePool, json: &str) -> f64 {
    let room = Room { member_count: Some(10_000), ..Room::default() };
    let raw: Raw<Value> = Raw::from_json_string(json.to_owned()).unwrap();
    let users: Vec<SingleUser> = (0..16).map(|user| SingleUser::new(pool, user)).collect();
    let event = parse_event(json);
    let mut next_user = users.iter().cycle();
    let ruma_time = best_time(|| {
        next_user
            .next()
            .map(|user| poll_ready(user.ruma_rules.get_actions(&raw, &user.ruma_context)))
    });
    let ruma_ns = print_time_per_item("ruma, get_actions, per user", ruma_time, 1);
    let mut next_user = users.iter().cycle();
    let belfry_time = best_time(|| {
        let event = parse_event(json);
        next_user.next().map(|user| user.is_notified(&event, &room))
    });
    let belfry_ns =
        print_time_per_item("ours, one user alone from the raw event, per user", belfry_time, 1);
    print_ratio("one user alone against ruma", ruma_ns / belfry_ns, "1 or more");
    let mut next_user = users.iter().cycle();
    let parsed_event_time =
        best_time(|| next_user.next().map(|user| user.is_notified(&event, &room)));
    print_time_per_item(
        "ours, one user alone from the parsed event, per user",
        parsed_event_time,
        1,
    );
    print_time_per_item("ours, parsing the raw event", best_time(|| parse_event(json)), 1);
    for user in &users {
        let members = user.members();
        let evaluation = members
            .evaluate(&event, &room, Timestamp::UNIX_EPOCH, &mut RequestWorkBudget::default())
            .get(0)
            .unwrap();
        let actions = json!(evaluation.actions().collect::<Vec<_>>());
        assert_eq!(
            actions,
            json!(poll_ready(user.ruma_rules.get_actions(&raw, &user.ruma_context)))
        );
    }
    ruma_ns
}

/// Measures a room with `member_count` members, and returns the time per member in nanoseconds.
fn measure_room(pool: &RulePool, member_count: usize, json: &str) -> f64 {
    let row_name = |label: &str| format!("room of {member_count} members: {label}");
    let room = Room { member_count: Some(member_count as u64), ..Room::default() };
    let ids: Vec<String> = (0..member_count).map(user_id).collect();
    let names: Vec<String> = (0..member_count).map(display_name).collect();
    let memory_before = resident_memory_bytes();
    let start = Instant::now();
    let rules: Vec<IndexedRules> =
        (0..member_count).map(|user| IndexedRules::new([&pool.document(user)])).collect();
    print_time_per_item(
        &row_name("compiling, with documents, per user"),
        start.elapsed(),
        member_count,
    );
    let bytes_per_user =
        resident_memory_bytes().saturating_sub(memory_before) / member_count as u64;
    print_row(&row_name("memory, per user with 10 rules"), bytes_per_user, "bytes");

    let member_entries = || {
        ids.iter().zip(&names).zip(&rules).map(|((id, name), rules)| {
            let member = Member { display_name: Some(name.as_str()), profile_tag: None };
            (id.as_str(), member, Some(rules))
        })
    };
    print_time_per_item(
        &row_name("preparing the members, per member"),
        best_time(|| Members::new(member_entries())),
        member_count,
    );
    let members = Members::new(member_entries());
    let event = parse_event(json);
    let elapsed = best_time(|| {
        members.evaluate(
            &parse_event(json),
            &room,
            Timestamp::UNIX_EPOCH,
            &mut RequestWorkBudget::default(),
        )
    });
    let ns_per_member = print_time_per_item(
        &row_name("evaluating the raw event for all, per member"),
        elapsed,
        member_count,
    );
    let common_keyword_event = parse_event(&json.replace("word17", "word0"));
    let elapsed = best_time(|| {
        members.evaluate(
            &common_keyword_event,
            &room,
            Timestamp::UNIX_EPOCH,
            &mut RequestWorkBudget::default(),
        )
    });
    print_time_per_item(
        &row_name("the same when a fifth of the members match a keyword"),
        elapsed,
        member_count,
    );
    let elapsed = best_time(|| {
        members
            .evaluate(&event, &room, Timestamp::UNIX_EPOCH, &mut RequestWorkBudget::default())
            .groups()
    });
    print_time_per_item(
        &row_name("the same with members grouped by result, per member"),
        elapsed,
        member_count,
    );
    ns_per_member
}

/// Measures patterns that are expensive to match.
fn measure_globs() {
    let text = SearchText::new(&"a".repeat(64 * 1024));
    let spaced = SearchText::new(&("a ".repeat(32 * 1024) + "a"));
    for (label, glob, text) in [
        ("*a*a*a… × 10,000", "*a".repeat(10_000) + "*b", &text),
        ("? × 10,000", "?".repeat(10_000), &spaced),
        ("*a?*a?… × 10,000", "*a?".repeat(10_000) + "*b", &text),
        (
            "a?a?a?… × 10,000, then b (exceeds the budget)",
            "*".to_owned() + &"a?".repeat(10_000) + "b",
            &text,
        ),
    ] {
        let pattern = GlobPattern::new(&glob);
        let input_bytes = glob.len() + text.as_lowercase().len();
        print_time_per_item(
            &format!("glob {label} on 64 KiB, per byte"),
            best_time(|| pattern.matches_word(text, &UserWorkBudget::unlimited())),
            input_bytes,
        );
    }
}

/// Returns this process's resident memory.
fn resident_memory_bytes() -> u64 {
    // The second field counts pages, which have 4 KiB on x86-64.
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
