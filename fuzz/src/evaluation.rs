//! Fuzz target for push rule evaluation: no input causes a panic, and the evaluation for one user,
//! the explanation and the rule index agree.
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

use std::collections::BTreeMap;

use belfry_core::json;
use belfry_core::rules::evaluate::{Member, PushEvaluation};
use belfry_core::rules::evaluation_request::{EvaluateRequest, ExplainRequest};
use belfry_core::rules::evaluation_response::EvaluationResponse;
use belfry_core::rules::event::Event;
use belfry_core::rules::explain::{EffectiveRules, StepOutcome};
use belfry_core::rules::index::{IndexedRules, Members};
use belfry_core::rules::work::WorkBudget;
use belfry_core::rules::{
    Document, NewRuleLimits, PutTarget, RuleChange, RuleError, RulePath, RuleScope,
};
use jiff::Timestamp;
use serde_json::{Value, json};

const LIMITS: NewRuleLimits = NewRuleLimits { conditions: usize::MAX, bytes: usize::MAX };

/// A user's documents, by scope.
type Documents = BTreeMap<RuleScope, Document>;

/// Checks one input.
pub fn check(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let mut lines = input.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let (me, event, room, tag) = (next(), next(), next(), next());
    let rules: Vec<&str> = lines.collect();
    // Other users have different ids, and may have the same rules.
    let (neighbour, other) = (format!("{me}r"), format!("{me}s"));
    let all = [(me, documents(&rules)), (&neighbour, documents(rules.iter().step_by(2)))];

    let event = parse_event(event);
    let (request, facts, tag) = explain_request(&event, room, tag);
    let name = request.member().display_name;
    let members = [
        (me, json!({"user_id": me, "display_name": name, "profile_tag": tag})),
        (&neighbour, json!({"user_id": neighbour, "display_name": name})),
        (me, json!({"user_id": me})),
        (&other, json!({"user_id": other, "display_name": me, "profile_tag": tag})),
    ];
    let list: Vec<&Value> = members.iter().map(|(_, member)| member).collect();
    let body = json!({"event": event, "room": facts, "members": without_null(&list), "all": true});
    let many = EvaluateRequest::read(body.to_string().as_bytes())
        .expect("it was accepted as an explain request");

    let of_user = |user: &str| all.iter().find(|(id, _)| *id == user).map(|(_, mine)| mine);
    let rules: Vec<EffectiveRules<'_>> = members
        .iter()
        .map(|(id, _)| EffectiveRules::new(id, of_user(id).into_iter().flat_map(BTreeMap::values)))
        .collect();
    let indexed: Vec<Option<IndexedRules>> = members
        .iter()
        .map(|(id, _)| of_user(id).map(|mine| IndexedRules::new(mine.values())))
        .collect();
    let alone: Vec<PushEvaluation<'_>> = rules
        .iter()
        .zip(&many.members)
        .map(|(rules, member)| evaluate_alone(rules, &request, &event, member.member()))
        .collect();
    let people: Vec<(&str, Member<'_>)> =
        many.members.iter().map(|member| (&*member.user_id, member.member())).collect();
    assert_eq!(people[0].1, request.member());

    check_index(&indexed, &many, &people, &alone);
    check_response(&indexed, &many, &people);
}

/// Parses the JSON of an event, or else creates a message with this text.
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

/// Returns an explain request with the room and the profile tag, as far as they are valid.
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

/// Applies a `PUT`; returns `None` if the path does not name a rule.
fn put(documents: &mut Documents, path: &str, body: &[u8]) -> Option<Result<(), RuleError>> {
    let path = RulePath::read(path).ok()?;
    let change = match path {
        RulePath::Enabled(rule) => RuleChange::set_enabled(rule, body, Timestamp::MIN),
        RulePath::Actions(rule) => RuleChange::set_actions(rule, body, LIMITS),
        RulePath::Rule(rule) => PutTarget::new(rule, Vec::new())
            .and_then(|target| RuleChange::put(target, body, LIMITS, Timestamp::MIN)),
        _ => return None,
    };
    Some(change.and_then(|change| {
        let scope = change.scope().clone();
        let document = documents.entry(scope.clone()).or_insert_with(|| Document::new(scope));
        change.apply(document)
    }))
}

/// Returns the evaluation for one user, after comparing it with the steps of the explanation.
fn evaluate_alone<'a>(
    rules: &'a EffectiveRules<'_>,
    request: &ExplainRequest,
    event: &Value,
    member: Member<'_>,
) -> PushEvaluation<'a> {
    let explanation = rules.explain(&request.event, &request.room, member);
    let evaluation = explanation.evaluation;
    let matched = explanation.walk.last().filter(|step| step.outcome == StepOutcome::Won);
    assert_eq!(matched.map(|step| step.rule), evaluation.rule, "of {event}");
    let _ = json::to_bytes(&explanation);
    evaluation
}

fn room_members<'a>(
    rules: &'a [Option<IndexedRules>],
    people: &[(&'a str, Member<'a>)],
) -> Members<'a> {
    let people = people.iter().zip(rules);
    Members::new(people.map(|((id, member), rules)| (*id, *member, rules.as_ref())))
}

/// Checks that the index has the same result for each user as the evaluation for that user alone.
fn check_index(
    rules: &[Option<IndexedRules>],
    request: &EvaluateRequest,
    people: &[(&str, Member<'_>)],
    alone: &[PushEvaluation<'_>],
) {
    let members = room_members(rules, people);
    let evaluation = members.evaluate(&request.event, &request.room, &mut WorkBudget::default());
    for (position, alone) in alone.iter().enumerate() {
        assert_eq!(evaluation.get(position).as_ref(), Some(alone), "of {:?}", people[position]);
    }
    let groups = evaluation.groups();
    assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), people.len());
}

/// Checks that the response is JSON that lists every user.
fn check_response(
    rules: &[Option<IndexedRules>],
    request: &EvaluateRequest,
    people: &[(&str, Member<'_>)],
) {
    let members = room_members(rules, people);
    let positions: Vec<usize> = (0..people.len()).collect();
    let mut response = EvaluationResponse::new(request.all);
    response.add(
        &members.evaluate(&request.event, &request.room, &mut WorkBudget::default()),
        &positions,
    );
    let response =
        json::parse(&response.to_json(|position| people[position].0)).expect("a response is JSON");
    let groups = response["groups"].as_array().expect("a response has groups");
    let users = groups.iter().filter_map(|group| group["users"].as_array()).map(Vec::len);
    assert_eq!(users.sum::<usize>(), people.len());
}
