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
use belfry_core::rules::work::RequestWorkBudget;
use belfry_core::rules::{
    NewRuleLimits, PutTarget, RuleChange, RuleDocument, RuleError, RulePath, RuleScope,
};
use jiff::Timestamp;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

const LIMITS: NewRuleLimits = NewRuleLimits { conditions: usize::MAX, bytes: usize::MAX };

/// A user's documents, by scope.
type Documents = BTreeMap<RuleScope, RuleDocument>;

pub fn check_input(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let mut lines = input.split('\n');
    let mut next_line = || lines.next().unwrap_or_default();
    let user_id = next_line();
    let event = next_line();
    let room = next_line();
    let profile_tag = next_line();
    let rule_lines: Vec<&str> = lines.collect();
    // Other users have different ids, and may have the same rules.
    let second_user_id = format!("{user_id}r");
    let third_user_id = format!("{user_id}s");
    let documents_by_user = [
        (user_id, parse_documents(&rule_lines)),
        (&second_user_id, parse_documents(rule_lines.iter().step_by(2))),
    ];

    let event = parse_event(event);
    let (request, room, profile_tag) = valid_explain_request(&event, room, profile_tag);
    let display_name = request.member().display_name;
    let members = [
        (
            user_id,
            json!({"user_id": user_id, "display_name": display_name, "profile_tag": profile_tag}),
        ),
        (&second_user_id, json!({"user_id": second_user_id, "display_name": display_name})),
        (user_id, json!({"user_id": user_id})),
        (
            &third_user_id,
            json!({"user_id": third_user_id, "display_name": user_id, "profile_tag": profile_tag}),
        ),
    ];
    let member_list = without_null(members.iter().map(|(_, member)| member));
    let body = json!({"event": event, "room": room, "members": member_list, "all": true});
    let evaluate_request = EvaluateRequest::parse(body.to_string().as_bytes())
        .expect("it was accepted as an explain request");

    let find_documents = |user: &str| {
        documents_by_user.iter().find(|(id, _)| *id == user).map(|(_, documents)| documents)
    };
    let rules: Vec<EffectiveRules<'_>> = members
        .iter()
        .map(|(id, _)| {
            EffectiveRules::new(id, find_documents(id).into_iter().flat_map(BTreeMap::values))
        })
        .collect();
    let indexed_rules: Vec<Option<IndexedRules>> = members
        .iter()
        .map(|(id, _)| find_documents(id).map(|documents| IndexedRules::new(documents.values())))
        .collect();
    let single_evaluations: Vec<PushEvaluation<'_>> = rules
        .iter()
        .zip(&evaluate_request.members)
        .map(|(rules, member)| evaluate_single(rules, &request, &event, member.member()))
        .collect();
    let room_members: Vec<(&str, Member<'_>)> =
        evaluate_request.members.iter().map(|member| (&*member.id, member.member())).collect();
    assert_eq!(room_members[0].1, request.member());

    check_index(&indexed_rules, &evaluate_request, &room_members, &single_evaluations);
    check_response(&indexed_rules, &evaluate_request, &room_members);
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

/// Returns an explain request with the room and the profile tag, each omitted if it is invalid.
fn valid_explain_request(
    event: &Value,
    room: &str,
    profile_tag: &str,
) -> (ExplainRequest, Value, Option<String>) {
    let room = json::parse(room.as_bytes()).ok().filter(Value::is_object);
    let tag = Some(profile_tag).filter(|tag| !tag.is_empty());
    let attempts = [(room.as_ref(), tag), (room.as_ref(), None), (None, tag), (None, None)];
    attempts
        .into_iter()
        .find_map(|(room, tag)| {
            let room = room.cloned().unwrap_or_else(|| json!({}));
            let mut body = json!({"event": event, "room": room});
            if let Some(tag) = tag {
                body["profile_tag"] = json!(tag);
            }
            let request = ExplainRequest::parse(body.to_string().as_bytes()).ok()?;
            Some((request, room, tag.map(str::to_owned)))
        })
        .expect("an event alone is a valid request")
}

/// Removes fields that are null, because a client would omit them.
fn without_null<'a>(members: impl Iterator<Item = &'a Value>) -> Value {
    let mut members: Value = members.cloned().collect();
    for member in members.as_array_mut().into_iter().flatten() {
        member.as_object_mut().expect("a member is an object").retain(|_, value| !value.is_null());
    }
    members
}

fn parse_documents<'a>(lines: impl IntoIterator<Item = &'a &'a str>) -> Documents {
    let mut documents = Documents::new();
    for (number, line) in lines.into_iter().enumerate() {
        let (path, body) = line.split_once(' ').unwrap_or((line, ""));
        // A rejected change has no effect, as on the server.
        if apply_put(&mut documents, path, body.as_bytes()).is_none() {
            let body = json!({"pattern": line, "actions": ["notify"]}).to_string();
            let path = format!("global/content/{number}");
            apply_put(&mut documents, &path, body.as_bytes());
        }
    }
    documents
}

/// Applies a `PUT`; returns `None` if the path does not name a rule.
fn apply_put(documents: &mut Documents, path: &str, body: &[u8]) -> Option<Result<(), RuleError>> {
    let path = RulePath::parse(path).ok()?;
    let change = match path {
        RulePath::Enabled(rule) => RuleChange::set_enabled(rule, body, Timestamp::MIN),
        RulePath::Actions(rule) => RuleChange::set_actions(rule, body, LIMITS),
        RulePath::Rule(rule) => PutTarget::new(rule, Vec::new())
            .and_then(|target| RuleChange::put(target, body, LIMITS, Timestamp::MIN)),
        _ => return None,
    };
    Some(change.and_then(|change| {
        let scope = change.scope().clone();
        let document = documents.entry(scope.clone()).or_insert_with(|| RuleDocument::new(scope));
        change.apply(document)
    }))
}

/// Returns the evaluation for one user, after comparing it with the steps of the explanation.
fn evaluate_single<'a>(
    rules: &'a EffectiveRules<'_>,
    request: &ExplainRequest,
    event: &Value,
    member: Member<'_>,
) -> PushEvaluation<'a> {
    let explanation = rules.explain(&request.event, &request.room, member, NOW);
    let evaluation = explanation.evaluation;
    let winning_step = explanation.walk.last().filter(|step| step.outcome == StepOutcome::Won);
    assert_eq!(winning_step.map(|step| step.rule), evaluation.rule, "of {event}");
    let _ = json::to_bytes(&explanation);
    evaluation
}

fn to_members<'a>(
    rules: &'a [Option<IndexedRules>],
    room_members: &[(&'a str, Member<'a>)],
) -> Members<'a> {
    let members_with_rules = room_members.iter().zip(rules);
    Members::new(members_with_rules.map(|((id, member), rules)| (*id, *member, rules.as_ref())))
}

/// Checks that the index has the same result for each user as the evaluation for that user alone.
fn check_index(
    rules: &[Option<IndexedRules>],
    request: &EvaluateRequest,
    room_members: &[(&str, Member<'_>)],
    single_evaluations: &[PushEvaluation<'_>],
) {
    let members = to_members(rules, room_members);
    let evaluation =
        members.evaluate(&request.event, &request.room, NOW, &mut RequestWorkBudget::default());
    for (position, expected) in single_evaluations.iter().enumerate() {
        assert_eq!(
            evaluation.get(position).as_ref(),
            Some(expected),
            "of {:?}",
            room_members[position]
        );
    }
    let groups = evaluation.groups();
    assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), room_members.len());
}

/// Checks that the response is JSON that lists every user.
fn check_response(
    rules: &[Option<IndexedRules>],
    request: &EvaluateRequest,
    room_members: &[(&str, Member<'_>)],
) {
    let members = to_members(rules, room_members);
    let positions: Vec<usize> = (0..room_members.len()).collect();
    let mut response = EvaluationResponse::new(request.all);
    response.add_batch(
        &members.evaluate(&request.event, &request.room, NOW, &mut RequestWorkBudget::default()),
        &positions,
    );
    let response = json::parse(&response.to_json(|position| room_members[position].0))
        .expect("a response is JSON");
    let groups = response["groups"].as_array().expect("a response has groups");
    let user_counts = groups.iter().filter_map(|group| group["users"].as_array()).map(Vec::len);
    assert_eq!(user_counts.sum::<usize>(), room_members.len());
}
