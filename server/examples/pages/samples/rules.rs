//! Samples of the rules and trial pages in every state.

use askama::Template;
use belfry_core::rules::explain::{EffectiveRules, FailureReason, RuleStep, StepOutcome};
use belfry_core::rules::preferences::{PreferenceError, Switch};
use belfry_core::rules::trial::{TrialMessage, TrialReason, TrialResult};
use belfry_core::rules::{
    Effect, Rule, RuleDocument, RuleError, RuleExpiry, RuleKind, RuleListing, RuleRef, RuleScope,
    User,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::RejectionReason;
use super::{
    AccountNav, AccountSection, Form, Layout, NewRuleForm, Notice, PageNumber, RulePage, RulesPage,
    RulesView, Sample, Trial, TrialErrors, TrialFields, TrialPage,
};

/// Renders every page; `id` is a user rule's id.
pub(super) fn render_pages(layout: Layout<'_>, id: &str) -> Result<Vec<Sample>, askama::Error> {
    let few_rules = sample_documents(id)?;
    let many_rules = [document_with_many_rules()?];
    let kind = RuleKind::Override;
    let blank_form = NewRuleForm::default();
    let reason = RejectionReason::Rules(RuleError::NoSuchRule { kind, id: id.to_owned() });
    let rejection = Some(reason.text(id, layout.language));
    let default_view = RulesView::default();
    let rule_path = "global/room/%21bellringers%3Asocial.example";
    let view_after_change =
        RulesView { changed_rule: RuleRef::from_path(rule_path).ok(), ..default_view.clone() };
    let second_page = RulesView { page: PageNumber::containing(50), changed_rule: None };
    let mut pages = vec![
        ("rules", render_rules(layout, &few_rules, &default_view, None, blank_form.clone())?),
        (
            "rules-changed",
            render_rules(layout, &few_rules, &view_after_change, None, blank_form.clone())?,
        ),
        (
            "rules-rule-not-found",
            render_rules(layout, &few_rules, &default_view, rejection, blank_form.clone())?,
        ),
        ("many-rules", render_rules(layout, &many_rules, &second_page, None, blank_form)?),
    ];
    for (subject, error) in [
        ("word", PreferenceError::WordTooLong),
        ("word", PreferenceError::WordIsId),
        ("room", PreferenceError::RoomAlias),
    ] {
        let pairs = [("effect", "highlight"), ("subject", subject), ("value", "#cake")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let text = RejectionReason::Field(error).text("", layout.language);
        let rejected_form = NewRuleForm::from_rejected(&pairs, text);
        pages.push((
            "rules-new",
            render_rules(layout, &few_rules, &default_view, None, rejected_form)?,
        ));
    }
    let user_rule = RuleRef { scope: few_rules[1].scope().clone(), kind, id: id.to_owned() };
    let builtin_rule = RuleRef { id: ".m.rule.call".to_owned(), ..user_rule.clone() };
    for (page_name, rule_ref) in [("rule", &user_rule), ("builtin-rule", &builtin_rule)] {
        let page = RulePage {
            layout,
            nav: nav(AccountSection::Rules),
            form: Form { action: "/oauth/account/rules", csrf: "c", request: None },
            rule_ref,
            rule: &Rule { rule_id: rule_ref.id.clone(), ..Rule::default() },
            rules_path: "/oauth/account/rules",
        };
        pages.push((page_name, page.render()?));
    }
    pages.extend(render_trials(layout, id, &few_rules)?);
    Ok(pages)
}

fn nav(section: AccountSection) -> AccountNav {
    AccountNav {
        section,
        lang: None,
        notice: None,
        removed_app: None,
        deletion: None,
        links_devices: true,
    }
}

fn render_rules(
    layout: Layout<'_>,
    documents: &[RuleDocument],
    view: &RulesView,
    rejection: Option<String>,
    new_rule: NewRuleForm,
) -> Result<String, askama::Error> {
    let page = RulesPage {
        layout,
        nav: nav(AccountSection::Rules),
        form: Form { action: "/oauth/account/rules", csrf: "c", request: None },
        listing: &RuleListing::new(documents, User::new("@alice:social.example")),
        view,
        notice: view.changed_rule.as_ref().map(|_| Notice::Saved),
        rejection,
        new_rule,
    };
    page.render()
}

/// Renders the trial page before and after a trial, with every result.
fn render_trials(
    layout: Layout<'_>,
    id: &str,
    documents: &[RuleDocument],
) -> Result<Vec<Sample>, askama::Error> {
    let profiles = ["phone"];
    let render = |profiles: &[&str], trial: &Trial| {
        let fields = TrialFields { text: "Cake?".to_owned(), ..TrialFields::default() };
        let page = TrialPage {
            layout,
            nav: nav(AccountSection::Trial),
            form: Form { action: "/oauth/account/try", csrf: "c", request: None },
            message: &fields,
            profiles,
            trial,
        };
        page.render()
    };
    let errors = TrialErrors {
        is_text_blank: true,
        sender: Some(PreferenceError::PersonWithoutServer),
        room: Some(PreferenceError::RoomAlias),
        is_count_invalid: true,
    };
    let mut pages = vec![
        ("try", render(&[], &Trial::NotRun)?),
        ("try", render(&profiles, &Trial::Invalid(errors))?),
        ("try", render(&profiles, &Trial::Busy)?),
    ];
    let rules = EffectiveRules::new("@alice:social.example", documents);
    let message_from_bob = TrialMessage {
        text: "Hello @room".to_owned(),
        sender: "@bob:social.example".to_owned(),
        may_notify_room: false,
        room: "!r:social.example".to_owned(),
        member_count: Some(3),
        display_name: "Alice".to_owned(),
        profile_tag: None,
    };
    let message_from_carol =
        TrialMessage { sender: "@carol:social.example".to_owned(), ..message_from_bob.clone() };
    for message in [TrialMessage::default(), message_from_bob, message_from_carol] {
        let trial = Trial::Result(rules.run_trial(&message, Timestamp::UNIX_EPOCH));
        pages.push(("try-result", render(&[], &trial)?));
    }
    let effects = [(false, false), (true, false), (false, true), (true, true)]
        .map(|(sound, highlight)| Effect::Notify { sound, highlight })
        .into_iter()
        .chain([Effect::Silent])
        .cycle();
    let reasons_with_id = [
        TrialReason::Keyword(id.to_owned()),
        TrialReason::MutedWord(id.to_owned()),
        TrialReason::MutedSender(id.to_owned()),
        TrialReason::Sender(id.to_owned()),
        TrialReason::Rule(id.to_owned()),
    ]
    .map(|reason| ("try-result", reason));
    let other_reasons = [
        TrialReason::OwnMessage,
        TrialReason::NoRule,
        TrialReason::SwitchedOff(Switch::Group),
        // Twice: with and without an expiry.
        TrialReason::Paused,
        TrialReason::Paused,
        TrialReason::QuietHours,
        TrialReason::QuietHours,
        TrialReason::MutedRoom,
        TrialReason::Room,
        TrialReason::DisplayName,
        TrialReason::UserName,
        TrialReason::OneToOne,
        TrialReason::AnyMessage,
        TrialReason::Builtin(".m.rule.call".to_owned()),
    ]
    .map(|reason| ("trial", reason));
    let reasons = reasons_with_id.into_iter().chain(other_reasons);
    for (((name, reason), effect), has_expiry) in
        reasons.zip(effects).zip([true, false].into_iter().cycle())
    {
        let until = RuleExpiry::try_from(1_800_000_000_000).ok().filter(|_| has_expiry);
        // More rules than the page shows.
        let failure_reasons = [None, Some(FailureReason::WorkBudget)].into_iter().cycle();
        let trace = failure_reasons.take(102).map(failed_step).collect();
        let matches_until = Timestamp::from_second(1_800_000_000).ok().filter(|_| !has_expiry);
        let result = TrialResult { effect, reason, until, matches_until, trace };
        pages.push((name, render(&[], &Trial::Result(result))?));
    }
    Ok(pages)
}

/// Returns a step for a rule that did not match, or whose evaluation takes too much work.
fn failed_step(reason: Option<FailureReason>) -> RuleStep<RuleRef> {
    let scope = RuleScope::Global;
    let kind = RuleKind::Override;
    RuleStep {
        rule: RuleRef { scope, kind, id: ".m.rule.roomnotif".to_owned() },
        outcome: StepOutcome::Failed,
        condition: None,
        reason,
        found: None,
        until: None,
    }
}

/// Returns rules of every kind and effect, and an override of a built-in rule.
fn sample_documents(id: &str) -> Result<Vec<RuleDocument>, askama::Error> {
    let rule = |id: &str, enabled: bool, actions: Value| json!({ "rule_id": id, "enabled": enabled, "actions": actions });
    let content_rule = |id: &str, pattern: &str| {
        let actions = json!(["notify", { "set_tweak": "sound" }, { "set_tweak": "highlight" }]);
        let mut rule = rule(id, true, actions);
        rule["pattern"] = pattern.into();
        rule
    };
    let no_actions = || json!([]);
    let mut expiring_rule = rule("!bellringers:social.example", true, no_actions());
    expiring_rule["until"] = 1_800_000_000_000_i64.into();
    let mut rule_with_unknown_condition = rule("rest", true, no_actions());
    rule_with_unknown_condition["conditions"] = json!([{ "kind": "org.example.moon" }]);
    let mut poll_rule = rule("polls", true, no_actions());
    poll_rule["conditions"] =
        json!([{ "kind": "event_match", "key": "type", "pattern": "m.poll" }]);
    let mut quiet_rule = rule("quiet", true, no_actions());
    let evening = json!({ "time_of_day": ["20:00", "23:59"] });
    quiet_rule["conditions"] = json!([{ "kind": "time_and_day", "intervals": [evening] }]);
    let mut vote_rule = rule("votes", true, no_actions());
    vote_rule["conditions"] =
        json!([{ "kind": "event_property_is", "key": "content.vote", "value": true }]);
    let global_ruleset = json!({
        "rules": {
            "override": [rule(id, false, no_actions()), poll_rule, vote_rule, quiet_rule],
            "content": [content_rule("cake", "cake"), content_rule("sweet", id)],
            "room": [expiring_rule],
            "sender": [rule("@bob:social.example", true, json!(["notify"]))],
            "underride": [rule_with_unknown_condition],
        },
        "changes": { ".m.rule.message": { "enabled": false } },
    });
    let device_ruleset = json!({
        "rules": {
            "override": [], "content": [], "sender": [], "underride": [],
            "room": [rule("!family:social.example", true, json!(["notify", { "set_tweak": "sound" }]))],
        },
        "changes": {},
    });
    Ok(vec![
        parse_document("global", &global_ruleset)?,
        parse_document("device/phone", &device_ruleset)?,
    ])
}

/// Returns more rules than a page shows.
fn document_with_many_rules() -> Result<RuleDocument, askama::Error> {
    let rule = |number: u32| json!({ "rule_id": format!("!{number}:social.example"), "enabled": true, "actions": [] });
    let rooms: Value = (0..100).map(rule).collect();
    parse_document("global", &json!({ "rules": { "room": rooms }, "changes": {} }))
}

/// Parses a ruleset in its stored form.
pub(super) fn parse_document(scope: &str, ruleset: &Value) -> Result<RuleDocument, askama::Error> {
    let scope = scope.parse().map_err(|_| askama::Error::Fmt)?;
    RuleDocument::from_text(scope, &ruleset.to_string()).map_err(|_| askama::Error::Fmt)
}
