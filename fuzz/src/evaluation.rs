//! Rules, an event, a room and who is asked: no input makes a verdict panic, and whichever way it
//! is come by, it is the same.
//!
//! An input is text, so that it can be read and written by people:
//!
//! ```text
//! the user's id
//! the event, or any text, which is then the body of a message
//! what is known of the room, or nothing
//! the profile tag of the device, or nothing
//! global/override/a {"actions":["notify"]}
//! global/override/a/enabled false
//! anything else is the pattern of a content rule
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;

use belfry_core::json;
use belfry_core::rules::body::{read_actions, read_enabled};
use belfry_core::rules::evaluate::{CompiledRules, Member, Outcome, PushEvaluation};
use belfry_core::rules::evaluation_request::{EvaluateRequest, ExplainRequest};
use belfry_core::rules::evaluation_response::EvaluationResponse;
use belfry_core::rules::event::Event;
use belfry_core::rules::index::RuleIndex;
use belfry_core::rules::{Document, NewRule, Position, RuleError, RuleKind, RulePath, RuleScope};
use serde_json::{Value, json};

/// The documents of a user.
type Documents = BTreeMap<RuleScope, Document>;

/// So many users are in the crowd that a few of them are asked one by one, not by their rules.
const CROWD: usize = 3000;

thread_local! {
    /// An audience of many. Who is put into it is taken out again, so that no input depends on
    /// those before it.
    static MANY: RefCell<RuleIndex> = RefCell::new(crowd());
}

/// Checks one input.
pub fn check(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let mut lines = input.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let (me, event, room, tag) = (next(), next(), next(), next());
    let rules: Vec<&str> = lines.collect();
    // Others must have other ids, and may have the same rules.
    let (neighbour, stranger) = (format!("{me}r"), format!("{me}s"));
    let all = [(me, documents(&rules)), (&neighbour, documents(rules.iter().step_by(2)))];

    let event = event_of(event);
    let (asked, facts, tag) = asked(&event, room, tag);
    let name = asked.member().display_name;
    let members = [
        (me, json!({"user_id": me, "display_name": name, "profile_tag": tag})),
        (&neighbour, json!({"user_id": neighbour, "display_name": name})),
        (me, json!({"user_id": me})),
        (&stranger, json!({"user_id": stranger, "display_name": me, "profile_tag": tag})),
    ];
    let list: Vec<&Value> = members.iter().map(|(_, member)| member).collect();
    let body = json!({"event": event, "room": facts, "members": without_null(&list), "all": true});
    let many = EvaluateRequest::read(body.to_string().as_bytes()).expect("explain has read it");

    let compiled: Vec<CompiledRules> = members.iter().map(|(id, _)| compiled(id, &all)).collect();
    let alone: Vec<PushEvaluation<'_>> = compiled
        .iter()
        .zip(&many.members)
        .map(|(rules, member)| explained(rules, &asked, &event, member.member()))
        .collect();
    let people: Vec<(&str, Member<'_>)> =
        many.members.iter().map(|member| (&*member.user_id, member.member())).collect();
    assert_eq!(people[0].1, asked.member());

    let mut audience = RuleIndex::new();
    gather(&mut audience, &all);
    agree(&audience, &many, &people, &alone);
    answers(&audience, &many, &people);
    MANY.with_borrow_mut(|audience| {
        gather(audience, &all);
        for (people, alone) in people.chunks(2).zip(alone.chunks(2)) {
            agree(audience, &many, people, alone);
        }
        for (id, _) in &all {
            audience.remove(id);
        }
        assert_eq!(audience.len(), CROWD);
    });
}

fn crowd() -> RuleIndex {
    let mut audience = RuleIndex::new();
    for number in 0..CROWD {
        // No user of an input is called so: its id would have to hold a line break.
        audience.put(&format!("\n{number}"), []);
    }
    audience
}

/// An event as it was written, or a message with that text.
fn event_of(text: &str) -> Value {
    let event = json::read(text.as_bytes()).ok().filter(Value::is_object);
    if let Some(event) = &event {
        Event::from_slice(text.as_bytes()).expect("the strict reader has read it");
        Event::from_value(event.clone()).expect("it is an object");
    }
    event.unwrap_or_else(|| {
        json!({
            "type": "m.room.message", "sender": "@bob:x", "room_id": "!r:x",
            "content": {"msgtype": "m.text", "body": text},
        })
    })
}

/// The question, with as much of what is said about the room and the device as can be believed.
fn asked(event: &Value, room: &str, tag: &str) -> (ExplainRequest, Value, Option<String>) {
    let room = json::read(room.as_bytes()).ok().filter(Value::is_object);
    let tag = Some(tag).filter(|tag| !tag.is_empty());
    let attempts = [(room.as_ref(), tag), (room.as_ref(), None), (None, tag), (None, None)];
    attempts
        .into_iter()
        .find_map(|(room, tag)| {
            let facts = room.cloned().unwrap_or_else(|| json!({}));
            let mut body = json!({"event": event, "room": facts});
            if let Some(tag) = tag {
                body["profile_tag"] = json!(tag);
            }
            let asked = ExplainRequest::read(body.to_string().as_bytes()).ok()?;
            Some((asked, facts, tag.map(str::to_owned)))
        })
        .expect("an event alone is a question")
}

/// What is not known is left out, as in a request.
fn without_null(members: &[&Value]) -> Value {
    let mut members = json!(members);
    for member in members.as_array_mut().into_iter().flatten() {
        member.as_object_mut().expect("a member is an object").retain(|_, value| !value.is_null());
    }
    members
}

fn documents<'a>(lines: impl IntoIterator<Item = &'a &'a str>) -> Documents {
    let mut documents = Documents::new();
    for (number, line) in lines.into_iter().enumerate() {
        let (path, body) = line.split_once(' ').unwrap_or((line, ""));
        // As the server does it: what is refused has no effect.
        if put(&mut documents, path, body.as_bytes()).is_none() {
            let body = json!({"pattern": line, "actions": ["notify"]}).to_string();
            let path = format!("global/content/{number}");
            put(&mut documents, &path, body.as_bytes());
        }
    }
    documents
}

/// Carries out what a `PUT` says, refused or not; none if the path names no rule.
fn put(documents: &mut Documents, path: &str, body: &[u8]) -> Option<Result<(), RuleError>> {
    let path = RulePath::read(path).ok()?;
    let (RulePath::Rule(name) | RulePath::Enabled(name) | RulePath::Actions(name)) = &path else {
        return None;
    };
    let document =
        documents.entry(name.scope.clone()).or_insert_with(|| Document::new(name.scope.clone()));
    let (kind, id) = (name.kind, name.id.as_str());
    Some(match path {
        RulePath::Enabled(_) => {
            read_enabled(body).and_then(|enabled| document.set_enabled(kind, id, enabled))
        }
        RulePath::Actions(_) => {
            read_actions(body).and_then(|actions| document.set_actions(kind, id, actions))
        }
        _ => new_rule(document, kind, id, body),
    })
}

fn new_rule(
    document: &mut Document,
    kind: RuleKind,
    id: &str,
    body: &[u8],
) -> Result<(), RuleError> {
    let rule = NewRule::read(kind, body)?;
    document.put(kind, id.parse()?, rule, Position::default())
}

fn compiled(user: &str, all: &[(&str, Documents)]) -> CompiledRules {
    let known = all.iter().find(|(id, _)| *id == user);
    CompiledRules::new(user, known.iter().flat_map(|(_, documents)| documents.values()))
}

/// The verdict of one user, having looked at how it is explained.
fn explained<'a>(
    rules: &'a CompiledRules,
    asked: &ExplainRequest,
    event: &Value,
    member: Member<'_>,
) -> PushEvaluation<'a> {
    let verdict = rules.verdict(&asked.event, &asked.room, member);
    let explanation = rules.explain(&asked.event, &asked.room, member);
    assert_eq!(explanation.verdict, verdict, "of {event}");
    let won = explanation.walk.last().filter(|step| step.outcome == Outcome::Won);
    assert_eq!(won.map(|step| step.rule), verdict.rule, "of {event}");
    let _ = json::write(&explanation);
    verdict
}

/// Puts the users in, one of them for the second time and with other rules before.
fn gather(audience: &mut RuleIndex, all: &[(&str, Documents)]) {
    let [(me, mine), (neighbour, _)] = [&all[0], &all[1]];
    audience.put(neighbour, mine.values());
    audience.put(me, mine.values());
    for (id, documents) in all {
        audience.put(id, documents.values());
    }
}

/// Checks that the audience finds the verdicts that each has alone.
fn agree(
    audience: &RuleIndex,
    asked: &EvaluateRequest,
    people: &[(&str, Member<'_>)],
    alone: &[PushEvaluation<'_>],
) {
    let members = audience.members(people.iter().copied());
    let verdicts = members.verdicts(&asked.event, &asked.room);
    for (position, alone) in alone.iter().enumerate() {
        assert_eq!(verdicts.of(position).as_ref(), Some(alone), "of {:?}", people[position]);
    }
    let groups = verdicts.groups();
    assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), people.len());
}

/// Checks that the answer is JSON, in which everybody is.
fn answers(audience: &RuleIndex, asked: &EvaluateRequest, people: &[(&str, Member<'_>)]) {
    let members = audience.members(people.iter().copied());
    let ids: Vec<&str> = people.iter().map(|(id, _)| *id).collect();
    let mut evaluation = EvaluationResponse::new(asked.all);
    evaluation.add(&members.verdicts(&asked.event, &asked.room), &ids);
    let answer = json::read(&evaluation.answer()).expect("an answer is JSON");
    let groups = answer["groups"].as_array().expect("it has groups");
    let told = groups.iter().filter_map(|group| group["users"].as_array()).map(Vec::len);
    assert_eq!(told.sum::<usize>(), people.len());
}
