mod conditions;
pub(crate) mod generate;
mod ruma;

use serde_json::{Value, json};

use super::*;

const ALICE: &str = "@alice:example.org";

fn document(scope: &str, stored: &Value) -> Document {
    Document::from_text(scope.parse().unwrap(), &stored.to_string()).unwrap()
}

/// Rules of the global scope: `[(kind, rule)]`, in order within a kind; nothing is said twice.
fn global(rules: &[(&str, Value)]) -> Document {
    scoped("global", rules, &json!({}))
}

fn scoped(scope: &str, rules: &[(&str, Value)], changes: &Value) -> Document {
    let mut kinds = json!({});
    for kind in Kind::ALL {
        kinds[kind.as_str()] = json!([]);
    }
    for (kind, rule) in rules {
        let mut whole = json!({"enabled": true, "actions": ["notify"]});
        whole.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
        kinds[kind].as_array_mut().unwrap().push(whole);
    }
    document(scope, &json!({"rules": kinds, "changes": changes}))
}

fn message(body: &str) -> Value {
    json!({
        "type": "m.room.message", "room_id": "!r:example.org", "sender": "@bob:example.org",
        "content": {"msgtype": "m.text", "body": body},
    })
}

struct Asking<'a> {
    documents: Vec<Document>,
    room: Room,
    member: Member<'a>,
}

impl<'a> Asking<'a> {
    fn of(documents: impl Into<Vec<Document>>) -> Self {
        let room = Room { member_count: Some(10), power_levels: None };
        Self { documents: documents.into(), room, member: Member::default() }
    }

    fn with_tag(mut self, tag: &'a str) -> Self {
        self.member.profile_tag = Some(tag);
        self
    }

    fn with_name(mut self, name: &'a str) -> Self {
        self.member.display_name = Some(name);
        self
    }

    fn with_room(mut self, room: &Value) -> Self {
        self.room = serde_json::from_value(room.clone()).unwrap();
        self
    }

    fn explain(&self, event: &Value) -> Value {
        let compiled = Compiled::new(ALICE, &self.documents);
        let event = Event::from_value(event.clone()).unwrap();
        let explanation = compiled.explain(&event, &self.room, self.member);
        assert_eq!(explanation.verdict, compiled.verdict(&event, &self.room, self.member));
        json!(explanation)
    }

    /// The id of the rule that wins.
    fn winner(&self, event: &Value) -> Option<String> {
        Some(self.explain(event)["rule"]["rule_id"].as_str()?.to_owned())
    }
}

fn winner(rules: &[(&str, Value)], event: &Value) -> Option<String> {
    Asking::of([global(rules)]).winner(event)
}

#[test]
fn a_user_without_rules_has_the_built_in_ones() {
    let members = |count: u64| json!({"member_count": count});
    let state = |kind: &str, key: &str, content: Value| json!({"type": kind, "state_key": key, "sender": "@bob:example.org", "content": content});
    let with =
        |content: Value| json!({"type": "m.room.message", "sender": "@b:x", "content": content});
    let all = json!({"member_count": 9, "power_levels": {"users": {"@b:x": 50}}});
    for (rule, room, event, actions) in [
        ("message", members(3), message("hi"), json!(["notify"])),
        (
            "room_one_to_one",
            members(2),
            message("hi"),
            json!(["notify", {"set_tweak": "sound", "value": "default"}]),
        ),
        ("encrypted", members(3), json!({"type": "m.room.encrypted"}), json!(["notify"])),
        (
            "encrypted_room_one_to_one",
            members(2),
            json!({"type": "m.room.encrypted"}),
            json!(["notify", {"set_tweak": "sound", "value": "default"}]),
        ),
        (
            "call",
            members(2),
            json!({"type": "m.call.invite"}),
            json!(["notify", {"set_tweak": "sound", "value": "ring"}]),
        ),
        ("reaction", members(2), json!({"type": "m.reaction"}), json!([])),
        (
            "suppress_notices",
            members(2),
            with(json!({"msgtype": "m.notice", "body": "alice"})),
            json!([]),
        ),
        (
            "suppress_edits",
            members(2),
            with(json!({"m.relates_to": {"rel_type": "m.replace"}})),
            json!([]),
        ),
        (
            "invite_for_me",
            members(2),
            state("m.room.member", ALICE, json!({"membership": "invite"})),
            json!(["notify", {"set_tweak": "sound", "value": "default"}]),
        ),
        (
            "member_event",
            members(2),
            state("m.room.member", "@c:x", json!({"membership": "invite"})),
            json!([]),
        ),
        (
            "member_event",
            members(2),
            state("m.room.member", ALICE, json!({"membership": "join"})),
            json!([]),
        ),
        (
            "tombstone",
            members(2),
            state("m.room.tombstone", "", json!({})),
            json!(["notify", {"set_tweak": "highlight"}]),
        ),
        ("room.server_acl", members(2), state("m.room.server_acl", "", json!({})), json!([])),
        (
            "is_user_mention",
            members(2),
            with(json!({"m.mentions": {"user_ids": ["@c:x", ALICE]}})),
            json!(["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]),
        ),
        (
            "is_room_mention",
            all.clone(),
            with(json!({"m.mentions": {"room": true}})),
            json!(["notify", {"set_tweak": "highlight"}]),
        ),
        (
            "roomnotif",
            all.clone(),
            with(json!({"body": "@room!"})),
            json!(["notify", {"set_tweak": "highlight"}]),
        ),
        ("message", members(9), with(json!({"m.mentions": {"room": true}})), json!(["notify"])),
        (
            "contains_user_name",
            members(9),
            message("hey ALICE!"),
            json!(["notify", {"set_tweak": "sound", "value": "default"}, {"set_tweak": "highlight"}]),
        ),
    ] {
        let told = Asking::of([]).with_room(&room).explain(&event);
        assert_eq!(told["rule"]["rule_id"], format!(".m.rule.{rule}"), "{event}");
        assert_eq!(told["actions"], actions, "{event}");
        assert_eq!(told["notify"], actions.as_array().unwrap().contains(&json!("notify")));
    }
    assert_eq!(winner(&[], &json!({"type": "m.room.topic", "sender": "@b:x"})), None);
}

#[test]
fn the_first_rule_that_matches_wins_over_all_kinds() {
    let rules = [
        ("override", json!({"rule_id": "over", "conditions": []})),
        ("content", json!({"rule_id": "text", "pattern": "hi"})),
        ("room", json!({"rule_id": "!r:example.org"})),
        ("sender", json!({"rule_id": "@bob:example.org"})),
        ("underride", json!({"rule_id": "under", "conditions": []})),
    ];
    let order = ["over", "text", "!r:example.org", "@bob:example.org", "under"];
    for (first, winner_id) in order.into_iter().enumerate() {
        assert_eq!(winner(&rules[first..], &message("hi")).as_deref(), Some(winner_id));
    }
    let two = ["b", "a"].map(|id| ("override", json!({"rule_id": id, "conditions": []})));
    assert_eq!(winner(&two, &message("hi")).as_deref(), Some("b"));
}

#[test]
fn a_users_own_rules_stand_above_the_built_in_ones_of_their_kind() {
    let under = [("underride", json!({"rule_id": "under", "conditions": []}))];
    assert_eq!(winner(&under, &message("hi")).as_deref(), Some("under"));
    assert_eq!(winner(&under, &message("alice")).as_deref(), Some(".m.rule.contains_user_name"));
    let text = [("content", json!({"rule_id": "text", "pattern": "alice"}))];
    assert_eq!(winner(&text, &message("alice")).as_deref(), Some("text"));
    let notice =
        json!({"type": "m.room.message", "content": {"msgtype": "m.notice", "body": "alice"}});
    assert_eq!(winner(&text, &notice).as_deref(), Some(".m.rule.suppress_notices"));
}

#[test]
fn the_master_rule_stands_above_everything() {
    let over = ("override", json!({"rule_id": "over", "conditions": []}));
    let master = json!({".m.rule.master": {"enabled": true}});
    let documents = [
        scoped("global", std::slice::from_ref(&over), &master),
        scoped("device/phone", &[over], &json!({})),
    ];
    let told = Asking::of(documents).with_tag("phone").explain(&message("hi"));
    assert_eq!(told["rule"]["rule_id"], ".m.rule.master");
    assert_eq!((&told["notify"], &told["actions"]), (&json!(false), &json!([])));
}

#[test]
fn the_rules_of_the_device_stand_above_all_global_ones() {
    let documents = || {
        [
            global(&[("override", json!({"rule_id": "g", "conditions": []}))]),
            scoped(
                "device/phone",
                &[("underride", json!({"rule_id": "p", "conditions": []}))],
                &json!({}),
            ),
            scoped(
                "device/desk",
                &[("content", json!({"rule_id": "d", "pattern": "moon"}))],
                &json!({}),
            ),
        ]
    };
    for (tag, winner) in [("phone", "p"), ("desk", "g"), ("unknown", "g"), ("", "g")] {
        let told = Asking::of(documents()).with_tag(tag).explain(&message("hi"));
        assert_eq!(told["rule"]["rule_id"], winner, "{tag}");
    }
    assert_eq!(Asking::of(documents()).winner(&message("hi")).as_deref(), Some("g"));
    let told = Asking::of(documents()).with_tag("phone").explain(&message("hi"));
    assert_eq!(told["rule"], json!({"scope": "device/phone", "kind": "underride", "rule_id": "p"}));
}

#[test]
fn a_disabled_rule_is_passed_over() {
    let rules = [
        ("override", json!({"rule_id": "off", "conditions": [], "enabled": false})),
        ("override", json!({"rule_id": "on", "conditions": []})),
    ];
    assert_eq!(winner(&rules, &message("hi")).as_deref(), Some("on"));
    let off = json!({".m.rule.message": {"enabled": false}});
    assert_eq!(Asking::of([scoped("global", &[], &off)]).winner(&message("hi")), None);
}

#[test]
fn the_actions_of_a_built_in_rule_are_those_that_the_user_gave_it() {
    let changes = json!({".m.rule.message": {"actions": [{"set_tweak": "sound"}, "coalesce"]}});
    let told = Asking::of([scoped("global", &[], &changes)]).explain(&message("hi"));
    assert_eq!(told["rule"]["rule_id"], ".m.rule.message");
    assert_eq!(told["notify"], false);
    assert_eq!(told["actions"], json!([{"set_tweak": "sound"}]));
    assert_eq!(told["tweaks"], json!({"sound": "default"}));
}

#[test]
fn what_the_user_sent_is_judged_by_no_rule() {
    let rules = [("override", json!({"rule_id": "over", "conditions": []}))];
    for sender in ["sender", "user_id"] {
        let event = json!({"type": "m.room.message", sender: ALICE, "content": {"body": "hi"}});
        let told = Asking::of([global(&rules)]).explain(&event);
        assert_eq!(
            told,
            json!({"notify": false, "rule": null, "actions": [], "tweaks": {}, "walk": []})
        );
    }
}

#[test]
fn tweaks_have_their_defaults_and_the_last_of_a_name_holds() {
    for (actions, notify, kept, tweaks) in [
        (json!([]), false, json!([]), json!({})),
        (json!(["dont_notify"]), false, json!([]), json!({})),
        (json!(["coalesce", "set_tweak"]), false, json!([]), json!({})),
        (json!(["notify", "dont_notify"]), true, json!(["notify"]), json!({})),
        (
            json!([{"set_tweak": "highlight"}]),
            false,
            json!([{"set_tweak": "highlight"}]),
            json!({"highlight": true}),
        ),
        (
            json!([{"set_tweak": "highlight", "value": false}]),
            false,
            json!([{"set_tweak": "highlight", "value": false}]),
            json!({"highlight": false}),
        ),
        (
            json!([{"set_tweak": "sound"}]),
            false,
            json!([{"set_tweak": "sound"}]),
            json!({"sound": "default"}),
        ),
        (
            json!([{"set_tweak": "org.x"}]),
            false,
            json!([{"set_tweak": "org.x"}]),
            json!({"org.x": true}),
        ),
        (
            json!(["notify", {"set_tweak": "sound", "value": "a"}, {"set_tweak": "sound", "value": "b"}]),
            true,
            json!(["notify", {"set_tweak": "sound", "value": "a"}, {"set_tweak": "sound", "value": "b"}]),
            json!({"sound": "b"}),
        ),
    ] {
        let rule = json!({"rule_id": "x", "conditions": [], "actions": actions});
        let told = Asking::of([global(&[("override", rule)])]).explain(&message("hi"));
        assert_eq!(told["notify"], notify, "{actions}");
        assert_eq!((&told["actions"], &told["tweaks"]), (&kept, &tweaks), "{actions}");
    }
}

#[test]
fn the_explanation_tells_each_rule_up_to_the_one_that_won() {
    let rules = [
        ("override", json!({"rule_id": "off", "conditions": [], "enabled": false})),
        ("content", json!({"rule_id": "cake", "pattern": "Cake"})),
    ];
    let told = Asking::of([global(&rules)]).explain(&message("Hi"));
    let walk = told["walk"].as_array().unwrap();
    assert_eq!(
        walk[0],
        json!({"scope": "global", "kind": "override", "rule_id": ".m.rule.master", "outcome": "disabled"})
    );
    assert_eq!(
        walk[1],
        json!({"scope": "global", "kind": "override", "rule_id": "off", "outcome": "disabled"})
    );
    let step = |id: &str| walk.iter().find(|step| step["rule_id"] == id).unwrap();
    assert_eq!(
        step("cake"),
        &json!({
            "scope": "global", "kind": "content", "rule_id": "cake", "outcome": "failed", "found": "Hi",
            "condition": {"kind": "event_match", "key": "content.body", "pattern": "Cake"},
        })
    );
    assert_eq!(
        step(".m.rule.is_user_mention")["condition"],
        json!({"kind": "event_property_contains", "key": r"content.m\.mentions.user_ids", "value": ALICE})
    );
    assert_eq!(step(".m.rule.is_user_mention").get("found"), None);
    assert_eq!(step(".m.rule.room_one_to_one")["found"], 10);
    assert_eq!(step(".m.rule.contains_user_name")["condition"]["pattern"], "alice");
    assert_eq!(walk.last().unwrap()["outcome"], "won");
    assert_eq!(walk.last().unwrap()["rule_id"], told["rule"]["rule_id"]);
    assert_eq!(walk.iter().filter(|step| step["outcome"] == "won").count(), 1);
}

#[test]
fn of_something_long_the_explanation_tells_the_beginning() {
    let list: Vec<u32> = (0..500).collect();
    let contains = json!({"kind": "event_property_contains", "key": "content.l", "value": 500});
    let rules = [
        ("override", json!({"rule_id": "list", "conditions": [contains]})),
        ("content", json!({"rule_id": "cake", "pattern": "cake"})),
    ];
    let mut event = message(&"é".repeat(500));
    event["content"]["l"] = json!(list);
    let told = Asking::of([global(&rules)]).explain(&event);
    let walk = told["walk"].as_array().unwrap();
    let found = |id: &str| &walk.iter().find(|step| step["rule_id"] == id).unwrap()["found"];
    assert_eq!(*found("cake"), format!("{}…", "é".repeat(100)));
    assert_eq!(*found("list"), json!(list[..100]));
}

#[test]
fn the_shared_built_in_rules_ask_what_the_users_own_copies_would() {
    let user = User::new(ALICE);
    let names = Names::new(user);
    let room: Room =
        serde_json::from_value(json!({"member_count": 2, "power_levels": {"users_default": 50}}))
            .unwrap();
    let member = Member { display_name: Some("Al"), profile_tag: None };
    let events = [
        message("alice"),
        message("<localpart> <user id>"),
        message("Al @room"),
        json!({"type": "m.room.member", "state_key": ALICE, "content": {"membership": "invite"}}),
        json!({"type": "m.room.member", "state_key": "<user id>", "content": {"membership": "invite"}}),
        json!({"content": {"m.mentions": {"user_ids": [ALICE], "room": true}}, "sender": "@b:x"}),
        json!({"content": {"m.mentions": {"user_ids": ["<user id>"]}}}),
    ]
    .map(|event| Event::from_value(event).unwrap());
    assert_eq!(*BUILTIN.rule(MASTER).ready.rule_id, *crate::rules::builtin::MASTER);
    let rules = crate::rules::builtin::all().iter().zip(BUILTIN.all());
    for ((kind, rule), (_, shared)) in rules {
        let own = Own::new(kind, &crate::rules::builtin::for_user(rule, user));
        for event in &events {
            let facts = Facts { event, room: &room, user: &names, member };
            assert_eq!(shared.ready.failure(&facts), own.ready.failure(&facts), "{}", rule.rule_id);
        }
    }
}
