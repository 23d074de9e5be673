//! The notifications page in every state with sample data.

use askama::Template;
use belfry_core::oauth::form;
use belfry_core::percent;
use belfry_core::rules::preferences::{PreferenceError, Preferences};
use belfry_core::rules::{Document, RuleError, RuleKind};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::{
    AccountSection, Form, Layout, Notice, NotificationsPage, NotificationsView, RejectedForm,
    RejectionReason,
};
use super::rules::document;
use super::{Sample, nav};

/// The time at which the page is shown.
const NOW: i64 = 1_800_000_000;

/// A state of the page.
struct State<'a> {
    query: &'a str,
    stored: Value,
    rejected: Option<(&'a str, RejectionReason)>,
    profiles: usize,
}

impl Default for State<'_> {
    fn default() -> Self {
        let stored = json!({"rules": {}, "changes": {}});
        Self { query: "", stored, rejected: None, profiles: 0 }
    }
}

/// Returns the page in every state, with this word as a keyword.
pub(super) fn all(layout: Layout<'_>, word: &str) -> Result<Vec<Sample>, askama::Error> {
    let paused = |until: Value| {
        let mut master = json!({"enabled": true});
        if !until.is_null() {
            master["until"] = until;
        }
        json!({"rules": {}, "changes": {".m.rule.master": master}})
    };
    let mut pages = vec![
        ("notifications-bare", render(layout, &State::default())?),
        (
            "notifications",
            render(layout, &State { stored: rules(word), profiles: 2, ..State::default() })?,
        ),
        (
            "notifications-paused",
            render(layout, &State { stored: paused(Value::Null), ..State::default() })?,
        ),
        (
            "notifications-paused-until",
            render(
                layout,
                &State { stored: paused(json!((NOW + 3600) * 1000)), ..State::default() },
            )?,
        ),
        (
            "notifications-device",
            render(layout, &State { query: "profile=phone", profiles: 40, ..State::default() })?,
        ),
    ];
    for part in ["keywords", "muted-words", "subjects", "switch-call", "switch-reactions"] {
        let query = format!("part={part}");
        let state = State { query: &query, stored: rules("cake"), ..State::default() };
        pages.push(("notifications-saved", render(layout, &state)?));
    }
    let field = |error| RejectionReason::Field(error);
    let (kind, id) = (RuleKind::Content, "cake");
    for (fields, reason) in [
        ("change=keyword", field(PreferenceError::WordBlank)),
        ("change=keyword&word=long", field(PreferenceError::WordTooLong)),
        ("change=keyword&word=tea&sound=on", RejectionReason::Rules(RuleError::TooManyRules(1000))),
        ("change=keyword&word=tea", RejectionReason::Rules(RuleError::TooManyBytes(1))),
        ("change=keyword&word=tea", RejectionReason::Rules(RuleError::RepeatedNeighbour)),
        ("change=mute-word", field(PreferenceError::WordBlank)),
        ("change=switch&switch=call-off", RejectionReason::Rules(RuleError::TooManyBytes(1))),
        (
            "change=keyword&rule=cake",
            RejectionReason::Rules(RuleError::ChangedMeanwhile { kind, id: id.to_owned() }),
        ),
        (
            "change=subject&rule=%40bob%3Ax",
            RejectionReason::Rules(RuleError::NoSuchRule { kind, id: id.to_owned() }),
        ),
        ("change=subject", field(PreferenceError::IdBlank)),
        ("change=subject&id=long", field(PreferenceError::IdTooLong)),
        ("change=subject&id=%23tea:x&choice=mute-day", field(PreferenceError::RoomAlias)),
        ("change=subject&id=@bob", field(PreferenceError::PersonWithoutServer)),
        ("change=subject&id=bob", field(PreferenceError::IdInvalid)),
    ] {
        let rejected = Some((fields, reason));
        pages.push((
            "notifications-rejected",
            render(layout, &State { rejected, stored: rules("cake"), ..State::default() })?,
        ));
    }
    Ok(pages)
}

fn render(layout: Layout<'_>, state: &State<'_>) -> Result<String, askama::Error> {
    let parse = |text: &str| form::parse(text.as_bytes()).map_err(|_| askama::Error::Fmt);
    let view = NotificationsView::from_query(&parse(state.query)?, None);
    let document: Document = document(&view.scope().to_string(), &state.stored)?;
    let rejected = match &state.rejected {
        Some((fields, reason)) => RejectedForm::new(&parse(fields)?, reason, layout.language),
        None => None,
    };
    let profiles: Vec<String> = ["phone", "tablet"]
        .into_iter()
        .map(str::to_owned)
        .chain((0..).map(|n| format!("tv {n}")))
        .take(state.profiles)
        .collect();
    let profiles: Vec<&str> = profiles.iter().map(String::as_str).collect();
    let notice = view.part.map(|_| Notice::Saved);
    let page = NotificationsPage {
        layout,
        nav: nav(AccountSection::Notifications, None),
        notice,
        form: Form { action: &view.path(), csrf: "c", request: None },
        preferences: &Preferences::read(&document),
        view: &view,
        profiles: &profiles,
        now: Timestamp::from_second(NOW).unwrap_or(Timestamp::UNIX_EPOCH),
        rejected,
    };
    page.render()
}

/// Returns preferences of every kind, switches in every state, and a rule that the page cannot show.
fn rules(word: &str) -> Value {
    let rule =
        |id: &str, actions: Value| json!({"rule_id": id, "enabled": true, "actions": actions});
    let with = |mut rule: Value, key: &str, value: Value| {
        rule[key] = value;
        rule
    };
    let loud = || json!(["notify", {"set_tweak": "sound"}, {"set_tweak": "highlight"}]);
    let room =
        json!([{"kind": "event_match", "key": "room_id", "pattern": "!quiet:social.example"}]);
    let week = json!((NOW + 7 * 86_400) * 1000);
    json!({
        "rules": {
            "override": [
                with(rule("m", json!([])), "conditions", room),
                with(rule("own", json!([])), "conditions", json!([])),
            ],
            "content": [
                with(rule("cake", loud()), "pattern", json!("cake")),
                with(rule(&percent::encode(word), json!([])), "pattern", json!(word)),
                with(with(rule("tea", loud()), "pattern", json!("tea")), "enabled", json!(false)),
            ],
            "room": [
                rule("!bellringers:social.example", loud()),
                with(rule("!garden:social.example", json!([])), "until", week.clone()),
            ],
            "sender": [
                rule("@bob:social.example", json!([])),
                with(rule("@eve:social.example", json!([])), "until", json!((NOW + 1800) * 1000)),
                with(rule("@mallory:social.example", json!(["notify"])), "enabled", json!(false)),
            ],
            "underride": [],
        },
        "changes": {
            ".m.rule.message": {"enabled": false},
            ".m.rule.call": {"enabled": false},
        },
    })
}
