//! What verdicts cost, beside ruma's evaluator on the same rules and the same event.
#![expect(clippy::unwrap_used, reason = "a measurement may stop where it cannot go on")]

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use belfry_core::rules::evaluate::{CompiledRules, Member, Room};
use belfry_core::rules::event::Event;
use belfry_core::rules::index::RuleIndex;
use belfry_core::rules::pattern::{GlobPattern, Text};
use belfry_core::rules::{Document, User};
use clap::Args;
use ruma_common::push::{PushConditionRoomCtx, Ruleset};
use ruma_common::serde::Raw;
use serde_json::{Value, json};

use crate::process::resident_memory;
use crate::row;
use crate::world::{ROOM, Random, World, message};

fn id(user: usize) -> String {
    format!("@user{user}:example.org")
}

fn name(user: usize) -> String {
    format!("User Number{user}")
}

/// The time of one call: the best of many short rounds, because other work on the machine only ever
/// adds to it.
fn time<T>(mut call: impl FnMut() -> T) -> Duration {
    let end = Instant::now() + Duration::from_millis(700);
    let mut best = Duration::MAX;
    while Instant::now() < end {
        let (start, mut calls) = (Instant::now(), 0);
        while calls == 0 || start.elapsed() < Duration::from_millis(2) {
            black_box(call());
            calls += 1;
        }
        best = best.min(start.elapsed() / calls);
    }
    best
}

/// Prints the time of each of so many, in nanoseconds, and gives it.
fn each(what: &str, time: Duration, of: usize) -> f64 {
    let nanos = time.as_secs_f64() * 1e9 / f64::from(u32::try_from(of).unwrap());
    row(what, format_args!("{nanos:.1}"), "ns");
    nanos
}

/// Prints a ratio beside what is wanted.
fn ratio(what: &str, ratio: f64, wanted: &str) {
    row(what, format_args!("{ratio:.1}"), &format!("times ({wanted})"));
}

/// What a future gives that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// How much is measured.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many users the large audience has
    #[arg(default_value_t = 1_000_000)]
    users: usize,
}

/// Prints the figures.
pub(crate) fn measure(&Arguments { users: many }: &Arguments) {
    let world = World::new();
    let json = message().to_string();

    let ruma = one_user(&world, &json);
    let [few, many] = [10_000, many].map(|users| audience(&world, users, &json));
    ratio("audience of 10,000 against ruma, per user", ruma / few, "100 or more");
    ratio("large audience against that of 10,000, per user", many / few, "1.5 or less");
    globs();
}

/// One user, before both evaluators.
struct Alone {
    name: String,
    ours: CompiledRules,
    theirs: Ruleset,
    context: PushConditionRoomCtx,
}

impl Alone {
    fn new(world: &World, user: usize) -> Self {
        let (id, name, document) = (id(user), name(user), world.document(user));
        let room = ROOM.try_into().unwrap();
        let me = id.as_str().try_into().unwrap();
        Self {
            ours: CompiledRules::new(&id, [&document]),
            theirs: serde_json::from_value(json!(document.ruleset(User::new(&id)))).unwrap(),
            context: PushConditionRoomCtx::new(room, 10_000_u32.into(), me, name.clone()),
            name,
        }
    }

    fn member(&self) -> Member<'_> {
        Member { display_name: Some(&self.name), profile_tag: None }
    }
}

/// What ruma takes for a user, in nanoseconds.
fn one_user(world: &World, json: &str) -> f64 {
    let room = Room { member_count: Some(10_000), ..Room::default() };
    let raw: Raw<Value> = Raw::from_json_string(json.to_owned()).unwrap();
    let users: Vec<Alone> = (0..16).map(|user| Alone::new(world, user)).collect();
    let event = Event::from_slice(json.as_bytes()).unwrap();
    let mut turn = users.iter().cycle();
    let ruma = time(|| turn.next().map(|user| now(user.theirs.get_actions(&raw, &user.context))));
    let ruma = each("ruma, get_actions, per user", ruma, 1);
    let mut turn = users.iter().cycle();
    let alone = time(|| {
        let event = Event::from_slice(json.as_bytes()).unwrap();
        turn.next().map(|user| user.ours.verdict(&event, &room, user.member()).notify())
    });
    let alone = each("ours, one user alone from the raw event, per user", alone, 1);
    ratio("one user alone against ruma", ruma / alone, "3 or more");
    let mut turn = users.iter().cycle();
    let flat =
        time(|| turn.next().map(|user| user.ours.verdict(&event, &room, user.member()).notify()));
    each("ours, one user alone from the flattened event, per user", flat, 1);
    each("ours, flattening the raw event", time(|| Event::from_slice(json.as_bytes()).unwrap()), 1);
    for user in &users {
        let ours = user.ours.verdict(&event, &room, user.member());
        let ours = json!(ours.actions().collect::<Vec<_>>());
        assert_eq!(ours, json!(now(user.theirs.get_actions(&raw, &user.context))));
    }
    ruma
}

/// What a verdict takes for one of so many users, in nanoseconds.
fn audience(world: &World, users: usize, json: &str) -> f64 {
    let name = |what: &str| format!("audience of {users}: {what}");
    let room = Room { member_count: Some(users as u64), ..Room::default() };
    let ids: Vec<String> = (0..users).map(id).collect();
    let names: Vec<String> = (0..users).map(self::name).collect();
    let before = resident_memory();
    let mut audience = RuleIndex::new();
    let start = Instant::now();
    for (user, id) in ids.iter().enumerate() {
        audience.put(id, [&world.document(user)]);
    }
    each(&name("making it, with documents, per user"), start.elapsed(), users);
    let memory = resident_memory().saturating_sub(before) / users as u64;
    row(&name("memory, per user with 10 rules"), memory, "bytes");

    let list = || {
        ids.iter().zip(&names).map(|(id, name)| {
            (id.as_str(), Member { display_name: Some(name.as_str()), profile_tag: None })
        })
    };
    each(
        &name("finding the members of a room, per member"),
        time(|| audience.members(list())),
        users,
    );
    let members = audience.members(list());
    let event = Event::from_slice(json.as_bytes()).unwrap();
    let heard = time(|| members.verdicts(&Event::from_slice(json.as_bytes()).unwrap(), &room));
    let per_user = each(&name("verdicts of all from the raw event, per user"), heard, users);
    let common = Event::from_slice(json.replace("word17", "word0").as_bytes()).unwrap();
    let heard = time(|| members.verdicts(&common, &room));
    each(&name("the same when a fifth of them have a word of it, per user"), heard, users);
    let told = time(|| members.verdicts(&event, &room).groups());
    each(&name("the same with all users listed by verdict, per user"), told, users);
    let few = audience.members(list().take(100));
    each(
        &name("verdicts of 100 members, per member"),
        time(|| few.verdicts(&event, &room)),
        few.len(),
    );
    drop((members, few));

    let mut random = Random(1);
    let documents: Vec<Document> = (0..1000).map(|user| world.document(user + users)).collect();
    let change = time(|| {
        let user = usize::try_from(random.below(users as u64)).unwrap();
        audience.put(&ids[user], [&documents[user % documents.len()]]);
    });
    each(&name("changing the rules of one user"), change, 1);
    per_user
}

fn globs() {
    let text = Text::new(&"a".repeat(64 * 1024));
    let spaced = Text::new(&("a ".repeat(32 * 1024) + "a"));
    for (what, glob, text) in [
        ("*a*a*a… × 10,000", "*a".repeat(10_000) + "*b", &text),
        ("? × 10,000", "?".repeat(10_000), &spaced),
        ("*a?*a?… × 10,000", "*a?".repeat(10_000) + "*b", &text),
        ("a?a?a?… × 10,000, then b (gives up)", "*".to_owned() + &"a?".repeat(10_000) + "b", &text),
    ] {
        let pattern = GlobPattern::new(&glob);
        let bytes = glob.len() + text.lowered().len();
        each(&format!("glob {what} on 64 KiB, per byte"), time(|| pattern.is_word_of(text)), bytes);
    }
}
