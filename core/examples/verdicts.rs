//! What verdicts cost, beside ruma's evaluator on the same rules and the same event.
//!
//! `cargo run --release -p belfry-core --example verdicts [USERS]` prints a line for each figure.
#![expect(clippy::unwrap_used, reason = "a measurement may stop where it cannot go on")]

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use belfry_core::rules::audience::Audience;
use belfry_core::rules::event::Event;
use belfry_core::rules::matching::{Compiled, Member, Room};
use belfry_core::rules::pattern::{Pattern, Text};
use belfry_core::rules::{Document, Kind, NewRule, Place, Scope, User};
use ruma_common::push::{PushConditionRoomCtx, Ruleset};
use ruma_common::serde::Raw;
use serde_json::{Value, json};

/// The message has 80 characters, of which two words are in the vocabulary of keywords.
const BODY: &str =
    "Could somebody bring word17 to the meeting? We also need word4242 before Friday!";
const ROOM: &str = "!room7:example.org";

/// The rules that users pick from.
struct World {
    keywords: Vec<NewRule>,
    mute: NewRule,
    loud: NewRule,
}

const KEYWORDS: u64 = 5000;
const ROOMS: u64 = 2000;
const SENDERS: u64 = 20_000;

impl World {
    fn new() -> Self {
        let read = |kind, body: Value| NewRule::read(kind, body.to_string().as_bytes()).unwrap();
        let actions = json!(["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]);
        let keyword =
            |n| read(Kind::Content, json!({"pattern": format!("word{n}"), "actions": actions}));
        Self {
            keywords: (0..KEYWORDS).map(keyword).collect(),
            mute: read(Kind::Room, json!({"actions": []})),
            loud: read(Kind::Sender, json!({"actions": actions})),
        }
    }

    /// A user with five keywords, three rooms and two senders.
    fn document(&self, user: usize) -> Document {
        let mut dice = Dice(user as u64);
        let mut document = Document::new(Scope::Global);
        let mut put = |kind, id: String, rule: &NewRule| {
            document.put(kind, id.parse().unwrap(), rule.clone(), Place::default()).unwrap();
        };
        for _ in 0..5 {
            // One user in four has the same word among theirs.
            let n = if dice.roll(20) == 0 { 0 } else { dice.roll(KEYWORDS) };
            put(Kind::Content, format!("word{n}"), &self.keywords[usize::try_from(n).unwrap()]);
        }
        for _ in 0..3 {
            put(Kind::Room, format!("!room{}:example.org", dice.roll(ROOMS)), &self.mute);
        }
        for _ in 0..2 {
            put(Kind::Sender, format!("@user{}:example.org", dice.roll(SENDERS)), &self.loud);
        }
        document
    }
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) % sides
    }
}

fn id(user: usize) -> String {
    format!("@user{user}:example.org")
}

fn name(user: usize) -> String {
    format!("User Number{user}")
}

fn message() -> Value {
    json!({
        "type": "m.room.message", "room_id": ROOM, "sender": "@user19999:example.org",
        "event_id": "$143273582443PhrSn:example.org", "origin_server_ts": 1_432_735_824_653_u64,
        "content": {"msgtype": "m.text", "body": BODY},
        "unsigned": {"age": 1234},
    })
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

fn row(what: &str, time: Duration, per: usize) {
    let nanos = time.as_secs_f64() * 1e9 / f64::from(u32::try_from(per).unwrap());
    println!("{what:<58} {nanos:>12.1} ns");
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// What a future gives that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

fn main() {
    let many = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let world = World::new();
    assert_eq!(BODY.len(), 80);
    let json = message().to_string();

    one_user(&world, &json);
    for users in [10_000, many] {
        audience(&world, users, &json);
    }
    globs();
}

/// One user, before both evaluators.
struct Alone {
    name: String,
    ours: Compiled,
    theirs: Ruleset,
    context: PushConditionRoomCtx,
}

impl Alone {
    fn new(world: &World, user: usize) -> Self {
        let (id, name, document) = (id(user), name(user), world.document(user));
        let room = ROOM.try_into().unwrap();
        let me = id.as_str().try_into().unwrap();
        Self {
            ours: Compiled::new(&id, [&document]),
            theirs: serde_json::from_value(json!(document.ruleset(User::new(&id)))).unwrap(),
            context: PushConditionRoomCtx::new(room, 10_000_u32.into(), me, name.clone()),
            name,
        }
    }

    fn member(&self) -> Member<'_> {
        Member { display_name: Some(&self.name), profile_tag: None }
    }
}

fn one_user(world: &World, json: &str) {
    let room = Room { member_count: Some(10_000), ..Room::default() };
    let raw: Raw<Value> = Raw::from_json_string(json.to_owned()).unwrap();
    let users: Vec<Alone> = (0..16).map(|user| Alone::new(world, user)).collect();
    let event = Event::from_slice(json.as_bytes()).unwrap();
    let mut turn = users.iter().cycle();
    let ruma = time(|| turn.next().map(|user| now(user.theirs.get_actions(&raw, &user.context))));
    row("ruma, get_actions, per user", ruma, 1);
    let mut turn = users.iter().cycle();
    let alone = time(|| {
        let event = Event::from_slice(json.as_bytes()).unwrap();
        turn.next().map(|user| user.ours.verdict(&event, &room, user.member()).notify())
    });
    row("ours, one user alone from the raw event, per user", alone, 1);
    let mut turn = users.iter().cycle();
    let flat =
        time(|| turn.next().map(|user| user.ours.verdict(&event, &room, user.member()).notify()));
    row("ours, one user alone from the flattened event, per user", flat, 1);
    row("ours, flattening the raw event", time(|| Event::from_slice(json.as_bytes()).unwrap()), 1);
    for user in &users {
        let ours = user.ours.verdict(&event, &room, user.member());
        let ours = json!(ours.actions().collect::<Vec<_>>());
        assert_eq!(ours, json!(now(user.theirs.get_actions(&raw, &user.context))));
    }
}

fn audience(world: &World, users: usize, json: &str) {
    let room = Room { member_count: Some(users as u64), ..Room::default() };
    let ids: Vec<String> = (0..users).map(id).collect();
    let names: Vec<String> = (0..users).map(name).collect();
    let before = resident();
    let mut audience = Audience::new();
    let start = Instant::now();
    for (user, id) in ids.iter().enumerate() {
        audience.put(id, [&world.document(user)]);
    }
    row(
        &format!("audience of {users}: making it, with documents, per user"),
        start.elapsed(),
        users,
    );
    println!(
        "{:<58} {:>12} bytes",
        "  memory, per user",
        resident().saturating_sub(before) / users
    );

    let list = || {
        ids.iter().zip(&names).map(|(id, name)| {
            (id.as_str(), Member { display_name: Some(name.as_str()), profile_tag: None })
        })
    };
    row("  finding the members of a room, per member", time(|| audience.members(list())), users);
    let members = audience.members(list());
    let event = Event::from_slice(json.as_bytes()).unwrap();
    let groups = members.verdicts(&event, &room).groups();
    let heard = time(|| members.verdicts(&Event::from_slice(json.as_bytes()).unwrap(), &room));
    row("  verdicts of all from the raw event, per user", heard, users);
    let common = Event::from_slice(json.replace("word17", "word0").as_bytes()).unwrap();
    let heard = time(|| members.verdicts(&common, &room));
    row("  the same when a fifth of them have a word of it, per user", heard, users);
    let told = time(|| members.verdicts(&event, &room).groups());
    row("  the same with all users listed by verdict, per user", told, users);
    let few = audience.members(list().take(100));
    row("  verdicts of 100 members, per member", time(|| few.verdicts(&event, &room)), few.len());
    println!(
        "  of {users} users: {:?}",
        groups.iter().map(|group| group.members.len()).collect::<Vec<_>>()
    );
    drop((members, few));

    let mut dice = Dice(1);
    let documents: Vec<Document> = (0..1000).map(|user| world.document(user + users)).collect();
    let change = time(|| {
        let user = usize::try_from(dice.roll(users as u64)).unwrap();
        audience.put(&ids[user], [&documents[user % documents.len()]]);
    });
    row("  changing the rules of one user", change, 1);
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
        let pattern = Pattern::new(&glob);
        let bytes = glob.len() + text.lowered().len();
        row(&format!("glob {what} on 64 KiB, per byte"), time(|| pattern.is_word_of(text)), bytes);
    }
}
