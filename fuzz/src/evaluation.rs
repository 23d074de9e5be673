//! Rules, an event, a room and a user: no input causes a panic, and evaluation for one user, the
//! explanation and the rule index have the same result.
//!
//! An input is text, so that people can read and write it:
//!
//! ```text
//! the user's id
//! the JSON of an event, or any text, which becomes the body of a message
//! the JSON of the room, or nothing
//! the profile tag of a device, or nothing
//! global/override/a {"actions":["notify"]}
//! global/override/a/enabled false
//! any other line is the pattern of a content rule
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

/// The documents of a user, by scope.
type Documents = BTreeMap<RuleScope, Document>;

/// The number of other users in the large index: enough that a room of two is evaluated by member,
/// not by rule.
const OTHER_USERS: usize = 3000;

thread_local! {
    /// An index of many users. The users of an input are removed again, so that no input depends on
    /// earlier ones.
    static LARGE_INDEX: RefCell<RuleIndex> = RefCell::new(large_index());
}

/// Checks one input.
pub fn check(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let mut lines = input.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let (me, event, room, tag) = (next(), next(), next(), next());
    let rules: Vec<&str> = lines.collect();
    // Other users have other IDs, and may have the same rules.
    let (neighbour, stranger) = (format!("{me}r"), format!("{me}s"));
    let all = [(me, documents(&rules)), (&neighbour, documents(rules.iter().step_by(2)))];

    let event = parse_event(event);
    let (request, facts, tag) = explain_request(&event, room, tag);
    let name = request.member().display_name;
    let members = [
        (me, json!({"user_id": me, "display_name": name, "profile_tag": tag})),
        (&neighbour, json!({"user_id": neighbour, "display_name": name})),
        (me, json!({"user_id": me})),
        (&stranger, json!({"user_id": stranger, "display_name": me, "profile_tag": tag})),
    ];
    let list: Vec<&Value> = members.iter().map(|(_, member)| member).collect();
    let body = json!({"event": event, "room": facts, "members": without_null(&list), "all": true});
    let many = EvaluateRequest::read(body.to_string().as_bytes())
        .expect("it was accepted as an explain request");

    let compiled: Vec<CompiledRules> = members.iter().map(|(id, _)| compiled(id, &all)).collect();
    let alone: Vec<PushEvaluation<'_>> = compiled
        .iter()
        .zip(&many.members)
        .map(|(rules, member)| evaluate_alone(rules, &request, &event, member.member()))
        .collect();
    let people: Vec<(&str, Member<'_>)> =
        many.members.iter().map(|member| (&*member.user_id, member.member())).collect();
    assert_eq!(people[0].1, request.member());

    let mut index = RuleIndex::new();
    insert_all(&mut index, &all);
    check_index(&index, &many, &people, &alone);
    check_response(&index, &many, &people);
    LARGE_INDEX.with_borrow_mut(|index| {
        insert_all(index, &all);
        for (people, alone) in people.chunks(2).zip(alone.chunks(2)) {
            check_index(index, &many, people, alone);
        }
        for (id, _) in &all {
            index.remove(id);
        }
        assert_eq!(index.len(), OTHER_USERS);
    });
}

fn large_index() -> RuleIndex {
    let mut index = RuleIndex::new();
    for number in 0..OTHER_USERS {
        // No user of an input has such an ID: it would contain a line break.
        index.insert(&format!("\n{number}"), []);
    }
    index
}

/// Parses the JSON of an event, or makes a message with that text.
fn parse_event(text: &str) -> Value {
    let event = json::parse(text.as_bytes()).ok().filter(Value::is_object);
    if let Some(event) = &event {
        Event::from_value(event.clone()).expect("it is an object");
    }
    event.unwrap_or_else(|| {
        json!({
            "type": "m.room.message", "sender": "@bob:x", "room_id": "!r:x",
            "content": {"msgtype": "m.text", "body": text},
        })
    })
}

/// The request, with as much of the room and the profile tag as is valid.
fn explain_request(
    event: &Value,
    room: &str,
    tag: &str,
) -> (ExplainRequest, Value, Option<String>) {
    let room = json::parse(room.as_bytes()).ok().filter(Value::is_object);
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
            let request = ExplainRequest::read(body.to_string().as_bytes()).ok()?;
            Some((request, facts, tag.map(str::to_owned)))
        })
        .expect("an event alone is a valid request")
}

/// Omits unknown values, as a client would.
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
        // A rejected change has no effect, as on the server.
        if put(&mut documents, path, body.as_bytes()).is_none() {
            let body = json!({"pattern": line, "actions": ["notify"]}).to_string();
            let path = format!("global/content/{number}");
            put(&mut documents, &path, body.as_bytes());
        }
    }
    documents
}

/// Applies a `PUT`; `None` if the path is not that of a rule.
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

/// The evaluation for one user, compared with its explanation.
fn evaluate_alone<'a>(
    rules: &'a CompiledRules,
    request: &ExplainRequest,
    event: &Value,
    member: Member<'_>,
) -> PushEvaluation<'a> {
    let evaluation = rules.evaluate(&request.event, &request.room, member);
    let explanation = rules.explain(&request.event, &request.room, member);
    assert_eq!(explanation.evaluation, evaluation, "of {event}");
    let matched = explanation.walk.last().filter(|step| step.outcome == Outcome::Won);
    assert_eq!(matched.map(|step| step.rule), evaluation.rule, "of {event}");
    let _ = json::to_bytes(&explanation);
    evaluation
}

/// Inserts the users, one of them twice with different rules.
fn insert_all(index: &mut RuleIndex, all: &[(&str, Documents)]) {
    let [(me, mine), (neighbour, _)] = [&all[0], &all[1]];
    index.insert(neighbour, mine.values());
    index.insert(me, mine.values());
    for (id, documents) in all {
        index.insert(id, documents.values());
    }
}

/// Checks that the index has the same results as each user alone.
fn check_index(
    index: &RuleIndex,
    request: &EvaluateRequest,
    people: &[(&str, Member<'_>)],
    alone: &[PushEvaluation<'_>],
) {
    let members = index.members(people.iter().copied());
    let evaluation = members.evaluate(&request.event, &request.room);
    for (position, alone) in alone.iter().enumerate() {
        assert_eq!(evaluation.get(position).as_ref(), Some(alone), "of {:?}", people[position]);
    }
    let groups = evaluation.groups();
    assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), people.len());
}

/// Checks that the response is JSON that lists every user.
fn check_response(index: &RuleIndex, request: &EvaluateRequest, people: &[(&str, Member<'_>)]) {
    let members = index.members(people.iter().copied());
    let ids: Vec<&str> = people.iter().map(|(id, _)| *id).collect();
    let mut response = EvaluationResponse::new(request.all);
    response.add(&members.evaluate(&request.event, &request.room), &ids);
    let response = json::parse(&response.to_json()).expect("a response is JSON");
    let groups = response["groups"].as_array().expect("a response has groups");
    let users = groups.iter().filter_map(|group| group["users"].as_array()).map(Vec::len);
    assert_eq!(users.sum::<usize>(), people.len());
}
