//! Samples of the notifications page in every state.

use askama::Template;
use belfry_core::form;
use belfry_core::percent;
use belfry_core::rules::preferences::{PreferenceError, Preferences, QuietPeriod};
use belfry_core::rules::{RuleDocument, RuleError, RuleKind};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::{
    AccountSection, Form, Layout, Notice, NotificationsPage, NotificationsView, RejectedForm,
    RejectionReason,
};
use super::rules::parse_document;
use super::{Sample, nav};

/// Time at which the page is shown.
const NOW_SECONDS: i64 = 1_800_000_000;

/// A state of the page.
struct PageState<'a> {
    query: &'a str,
    ruleset: Value,
    rejected_form: Option<(&'a str, RejectionReason)>,
    profile_count: usize,
}

impl Default for PageState<'_> {
    fn default() -> Self {
        let ruleset = json!({"rules": {}, "changes": {}});
        Self { query: "", ruleset, rejected_form: None, profile_count: 0 }
    }
}

/// Renders the page in every state, with this word as a keyword.
pub(super) fn render_pages(layout: Layout<'_>, word: &str) -> Result<Vec<Sample>, askama::Error> {
    let paused_ruleset = |until: Value| {
        let mut master = json!({"enabled": true});
        if !until.is_null() {
            master["until"] = until;
        }
        json!({"rules": {}, "changes": {".m.rule.master": master}})
    };
    let mut pages = vec![
        ("notifications-bare", render_page(layout, &PageState::default())?),
        (
            "notifications",
            render_page(
                layout,
                &PageState {
                    ruleset: sample_ruleset(word),
                    profile_count: 2,
                    ..PageState::default()
                },
            )?,
        ),
        (
            "notifications-paused",
            render_page(
                layout,
                &PageState { ruleset: paused_ruleset(Value::Null), ..PageState::default() },
            )?,
        ),
        (
            "notifications-paused-until",
            render_page(
                layout,
                &PageState {
                    ruleset: paused_ruleset(json!((NOW_SECONDS + 3600) * 1000)),
                    ..PageState::default()
                },
            )?,
        ),
        (
            "notifications-device",
            render_page(
                layout,
                &PageState { query: "profile=phone", profile_count: 40, ..PageState::default() },
            )?,
        ),
    ];
    // It is Friday, 08:00 UTC.
    let [now, later, always] = [json!(["08:00", "23:59"]), json!(["22:00", "23:59"]), Value::Null];
    for (kind, times, enabled) in [
        ("override", &always, true),
        ("underride", &later, true),
        ("underride", &later, false),
        ("underride", &now, true),
        ("override", &now, true),
    ] {
        let ruleset = quiet_ruleset(kind, times, enabled);
        let state = PageState { ruleset, ..PageState::default() };
        pages.push(("notifications-quiet", render_page(layout, &state)?));
    }
    let mut ruleset = quiet_ruleset("override", &always, true);
    ruleset["rules"]["override"][0]["rule_id"] = json!("rule of an app");
    let state = PageState { ruleset, ..PageState::default() };
    pages.push(("notifications-quiet", render_page(layout, &state)?));
    for part in
        ["quiet-hours", "keywords", "muted-words", "subjects", "switch-call", "switch-reactions"]
    {
        let query = format!("part={part}");
        let state =
            PageState { query: &query, ruleset: sample_ruleset("cake"), ..PageState::default() };
        pages.push(("notifications-saved", render_page(layout, &state)?));
    }
    for (fields, reason) in rejected_forms() {
        let rejected_form = Some((fields, reason));
        pages.push((
            "notifications-rejected",
            render_page(
                layout,
                &PageState {
                    rejected_form,
                    ruleset: sample_ruleset("cake"),
                    ..PageState::default()
                },
            )?,
        ));
    }
    Ok(pages)
}

/// Returns the fields of forms that are rejected, each with the reason.
fn rejected_forms() -> Vec<(&'static str, RejectionReason)> {
    let field_error = |error| RejectionReason::Field(error);
    let kind = RuleKind::Content;
    let id = "cake";
    vec![
        ("change=keyword", field_error(PreferenceError::WordBlank)),
        ("change=keyword&word=long", field_error(PreferenceError::WordTooLong)),
        ("change=keyword&word=tea&sound=on", RejectionReason::Rules(RuleError::TooManyRules(1000))),
        ("change=keyword&word=tea", RejectionReason::Rules(RuleError::TooManyBytes(1))),
        ("change=keyword&word=tea", RejectionReason::Rules(RuleError::RepeatedNeighbour)),
        ("change=mute-word", field_error(PreferenceError::WordBlank)),
        ("change=switch&switch=call-off", RejectionReason::Rules(RuleError::TooManyBytes(1))),
        (
            "change=keyword&rule=cake",
            RejectionReason::Rules(RuleError::ChangedMeanwhile { kind, id: id.to_owned() }),
        ),
        (
            "change=subject&rule=%40bob%3Ax",
            RejectionReason::Rules(RuleError::NoSuchRule { kind, id: id.to_owned() }),
        ),
        ("change=quiet-hours&from=22:00", field_error(PreferenceError::QuietDaysMissing)),
        ("change=quiet-hours&monday=on&from=late", field_error(PreferenceError::QuietTimeInvalid)),
        (
            "change=quiet-hours&monday=on&timezone=Moon&level=total",
            field_error(PreferenceError::QuietZoneUnknown),
        ),
        (
            "change=quiet-hours",
            RejectionReason::Rules(RuleError::ChangedMeanwhile { kind, id: id.to_owned() }),
        ),
        ("change=subject", field_error(PreferenceError::IdBlank)),
        ("change=subject&id=long", field_error(PreferenceError::IdTooLong)),
        ("change=subject&id=%23tea:x&choice=mute-day", field_error(PreferenceError::RoomAlias)),
        ("change=subject&id=@bob", field_error(PreferenceError::PersonWithoutServer)),
        ("change=subject&id=bob", field_error(PreferenceError::IdInvalid)),
    ]
}

fn render_page(layout: Layout<'_>, state: &PageState<'_>) -> Result<String, askama::Error> {
    let parse_form = |text: &str| form::parse(text.as_bytes()).map_err(|_| askama::Error::Fmt);
    let view = NotificationsView::from_query(&parse_form(state.query)?, None);
    let document: RuleDocument = parse_document(&view.scope().to_string(), &state.ruleset)?;
    let rejected_form = match &state.rejected_form {
        Some((fields, reason)) => RejectedForm::new(&parse_form(fields)?, reason, layout.language),
        None => None,
    };
    let profile_tags: Vec<String> = ["phone", "tablet"]
        .into_iter()
        .map(str::to_owned)
        .chain((0..).map(|number| format!("tv {number}")))
        .take(state.profile_count)
        .collect();
    let profiles: Vec<&str> = profile_tags.iter().map(String::as_str).collect();
    let notice = view.part.map(|_| Notice::Saved);
    let now = Timestamp::from_second(NOW_SECONDS).unwrap_or(Timestamp::UNIX_EPOCH);
    let page = NotificationsPage {
        layout,
        nav: nav(AccountSection::Notifications, None),
        notice,
        form: Form { action: &view.path(), csrf: "c", request: None },
        preferences: &Preferences::from_document(&document),
        quiet_period: QuietPeriod::from_document(&document, now),
        view: &view,
        profiles: &profiles,
        now,
        rejected_form,
    };
    page.render()
}

/// Returns quiet hours at `times`, an array of two times, or always if it is null.
fn quiet_ruleset(kind: &str, times: &Value, enabled: bool) -> Value {
    let intervals =
        if times.is_null() { json!([{}, {}, {}]) } else { json!([{ "time_of_day": times }]) };
    let condition =
        json!({"kind": "time_and_day", "timezone": "Europe/Berlin", "intervals": intervals});
    let rule = json!({
        "rule_id": "quiet-hours", "enabled": enabled, "actions": [], "conditions": [condition],
    });
    json!({"rules": {kind: [rule]}, "changes": {}})
}

/// Returns preferences of every kind, switches in every state, and a rule that the page cannot
/// show.
fn sample_ruleset(word: &str) -> Value {
    let rule =
        |id: &str, actions: Value| json!({"rule_id": id, "enabled": true, "actions": actions});
    let with_field = |mut rule: Value, key: &str, value: Value| {
        rule[key] = value;
        rule
    };
    let loud_actions = || json!(["notify", {"set_tweak": "sound"}, {"set_tweak": "highlight"}]);
    let room_conditions =
        json!([{"kind": "event_match", "key": "room_id", "pattern": "!quiet:social.example"}]);
    let disabled = |rule: Value| with_field(rule, "enabled", json!(false));
    let half_an_hour = json!((NOW_SECONDS + 1800) * 1000);
    let next_week = json!((NOW_SECONDS + 7 * 86_400) * 1000);
    json!({
        "rules": {
            "override": [
                with_field(rule("m", json!([])), "conditions", room_conditions),
                with_field(rule("own", json!([])), "conditions", json!([])),
            ],
            "content": [
                with_field(rule("cake", loud_actions()), "pattern", json!("cake")),
                with_field(rule(&percent::encode(word), json!([])), "pattern", json!(word)),
                disabled(with_field(rule("tea", loud_actions()), "pattern", json!("tea"))),
            ],
            "room": [
                rule("!bellringers:social.example", loud_actions()),
                with_field(rule("!garden:social.example", json!([])), "until", next_week.clone()),
            ],
            "sender": [
                rule("@bob:social.example", json!([])),
                with_field(rule("@eve:social.example", json!([])), "until", half_an_hour),
                disabled(rule("@mallory:social.example", json!(["notify"]))),
            ],
            "underride": [],
        },
        "changes": {
            ".m.rule.message": {"enabled": false},
            ".m.rule.call": {"enabled": false},
        },
    })
}
