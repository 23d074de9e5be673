//! Test data: users with push rules, and a message. The data is the same in each run.
#![expect(clippy::unwrap_used, reason = "a measurement may panic")]

use belfry_core::rules::{NewRule, NewRuleLimits, RuleDocument, RuleKind, RulePosition, RuleScope};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The text of the message: 80 characters, with two keywords of some users.
const MESSAGE_BODY: &str =
    "Could somebody bring word17 to the meeting? We also need word4242 before Friday!";
pub(crate) const ROOM_ID: &str = "!room7:example.org";

pub(crate) fn message_event() -> Value {
    json!({
        "type": "m.room.message", "room_id": ROOM_ID, "sender": "@user19999:example.org",
        "event_id": "$143273582443PhrSn:example.org", "origin_server_ts": 1_432_735_824_653_u64,
        "content": {"msgtype": "m.text", "body": MESSAGE_BODY},
        "unsigned": {"age": 1234},
    })
}

/// The pool from which each user's rules are chosen.
pub(crate) struct RulePool {
    keywords: Vec<NewRule>,
    mute: NewRule,
    highlight: NewRule,
}

const KEYWORDS: u64 = 5000;
const ROOMS: u64 = 2000;
const SENDERS: u64 = 20_000;

impl RulePool {
    pub(crate) fn new() -> Self {
        let parse = |kind, body: Value| {
            NewRule::parse(
                kind,
                body.to_string().as_bytes(),
                NewRuleLimits::default(),
                Timestamp::UNIX_EPOCH,
            )
            .unwrap()
        };
        let actions = json!(["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]);
        let keyword = |n| {
            parse(RuleKind::Content, json!({"pattern": format!("word{n}"), "actions": actions}))
        };
        Self {
            keywords: (0..KEYWORDS).map(keyword).collect(),
            // A timed rule, which expires in 2096.
            mute: parse(RuleKind::Room, json!({"actions": [], "until": 4_000_000_000_000_i64})),
            highlight: parse(RuleKind::Sender, json!({"actions": actions})),
        }
    }

    /// Returns a user's rules: up to five keywords, three rooms and two senders.
    pub(crate) fn document(&self, user: usize) -> RuleDocument {
        let mut random = Random(user as u64);
        let mut document = RuleDocument::new(RuleScope::Global);
        let mut put = |kind, id: String, rule: &NewRule| {
            document.put(kind, id.parse().unwrap(), rule.clone(), RulePosition::default()).unwrap();
        };
        for _ in 0..5 {
            // About a fifth of the users have the keyword 0.
            let n = if random.next_below(20) == 0 { 0 } else { random.next_below(KEYWORDS) };
            put(RuleKind::Content, format!("word{n}"), &self.keywords[usize::try_from(n).unwrap()]);
        }
        for _ in 0..3 {
            put(
                RuleKind::Room,
                format!("!room{}:example.org", random.next_below(ROOMS)),
                &self.mute,
            );
        }
        for _ in 0..2 {
            put(
                RuleKind::Sender,
                format!("@user{}:example.org", random.next_below(SENDERS)),
                &self.highlight,
            );
        }
        document
    }
}

/// A pseudo-random number generator with a fixed sequence (like `SplitMix64`).
struct Random(u64);

impl Random {
    fn next_below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) % end
    }
}
