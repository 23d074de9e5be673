//! The pages for all rules, in every state with sample data.

use askama::Template;
use belfry_core::rules::explain::{EffectiveRules, FailureReason, Step, StepOutcome};
use belfry_core::rules::preferences::{PreferenceError, Switch};
use belfry_core::rules::trial::{TrialMessage, TrialReason, TrialResult};
use belfry_core::rules::{
    Document, Effect, Rule, RuleError, RuleExpiry, RuleKind, RuleListing, RuleRef, RuleScope, User,
};
use serde_json::{Value, json};

use super::super::RejectionReason;
use super::{
    AccountNav, AccountSection, Form, Layout, NewRuleFields, Notice, PageNumber, RulePage,
    RulesPage, RulesView, Sample, Trial, TryErrors, TryFields, TryPage,
};

/// Returns every page, for a rule with this id.
pub(super) fn all(layout: Layout<'_>, id: &str) -> Result<Vec<Sample>, askama::Error> {
    let (few, many) = (documents(id)?, [many_rules()?]);
    let (kind, none) = (RuleKind::Override, NewRuleFields::default());
    let gone = RejectionReason::Rules(RuleError::NoSuchRule { kind, id: id.to_owned() });
    let gone = Some(gone.text(id, layout.language));
    let all = RulesView::default();
    let room = "global/room/%21bellringers%3Asocial.example";
    let changed = RulesView { changed: RuleRef::from_path(room).ok(), ..all.clone() };
    let second = RulesView { page: PageNumber::containing(50), changed: None };
    let mut pages = vec![
        ("rules", rules(layout, &few, &all, None, none.clone())?),
        ("rules-changed", rules(layout, &few, &changed, None, none.clone())?),
        ("rules-gone", rules(layout, &few, &all, gone, none.clone())?),
        ("many-rules", rules(layout, &many, &second, None, none)?),
    ];
    for (subject, error) in [
        ("word", PreferenceError::WordTooLong),
        ("word", PreferenceError::WordIsId),
        ("room", PreferenceError::RoomAlias),
    ] {
        let pairs = [("effect", "highlight"), ("subject", subject), ("value", "#cake")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let text = RejectionReason::Field(error).text("", layout.language);
        let rejected = NewRuleFields::from_rejected(&pairs, text);
        pages.push(("rules-new", rules(layout, &few, &all, None, rejected)?));
    }
    let own = RuleRef { scope: few[1].scope().clone(), kind, id: id.to_owned() };
    let builtin = RuleRef { id: ".m.rule.call".to_owned(), ..own.clone() };
    for (page_name, name) in [("rule", &own), ("builtin-rule", &builtin)] {
        let page = RulePage {
            layout,
            nav: nav(AccountSection::Rules),
            form: Form { action: "/oauth/account/rules", csrf: "c", request: None },
            name,
            rule: &Rule { rule_id: name.id.clone(), ..Rule::default() },
            back: "/oauth/account/rules",
        };
        pages.push((page_name, page.render()?));
    }
    pages.extend(trials(layout, id, &few)?);
    Ok(pages)
}

fn nav(section: AccountSection) -> AccountNav {
    AccountNav { section, lang: None, notice: None, removed_app: None, deletion: None }
}

fn rules(
    layout: Layout<'_>,
    documents: &[Document],
    view: &RulesView,
    rejected: Option<String>,
    new_rule: NewRuleFields,
) -> Result<String, askama::Error> {
    let page = RulesPage {
        layout,
        nav: nav(AccountSection::Rules),
        form: Form { action: "/oauth/account/rules", csrf: "c", request: None },
        listing: &RuleListing::new(documents, User::new("@alice:social.example")),
        view,
        notice: view.changed.as_ref().map(|_| Notice::Saved),
        rejected,
        new_rule,
    };
    page.render()
}

/// Returns the page before and after a trial, with every result.
fn trials(
    layout: Layout<'_>,
    id: &str,
    documents: &[Document],
) -> Result<Vec<Sample>, askama::Error> {
    let profiles = ["phone"];
    let render = |profiles: &[&str], trial: &Trial| {
        let fields = TryFields { text: "Cake?".to_owned(), ..TryFields::default() };
        let page = TryPage {
            layout,
            nav: nav(AccountSection::Try),
            form: Form { action: "/oauth/account/try", csrf: "c", request: None },
            entered: &fields,
            profiles,
            trial,
        };
        page.render()
    };
    let invalid = TryErrors {
        is_text_blank: true,
        sender: Some(PreferenceError::PersonWithoutServer),
        room: Some(PreferenceError::RoomAlias),
        is_count_invalid: true,
    };
    let mut pages = vec![
        ("try", render(&[], &Trial::NotRun)?),
        ("try", render(&profiles, &Trial::Invalid(invalid))?),
        ("try", render(&profiles, &Trial::Busy)?),
    ];
    let rules = EffectiveRules::new("@alice:social.example", documents);
    let known = TrialMessage {
        text: "Hello @room".to_owned(),
        sender: "@bob:social.example".to_owned(),
        may_notify_room: false,
        room: "!r:social.example".to_owned(),
        member_count: Some(3),
        display_name: "Alice".to_owned(),
        profile_tag: None,
    };
    let other = TrialMessage { sender: "@carol:social.example".to_owned(), ..known.clone() };
    for message in [TrialMessage::default(), known, other] {
        let trial = Trial::Result(rules.try_message(&message));
        pages.push(("try-result", render(&[], &trial)?));
    }
    let effects = [(false, false), (true, false), (false, true), (true, true)];
    let effects = effects.map(|(sound, highlight)| Effect::Notify { sound, highlight });
    let effects = effects.into_iter().chain([Effect::Silent]).cycle();
    let by_id = [
        TrialReason::Keyword(id.to_owned()),
        TrialReason::MutedWord(id.to_owned()),
        TrialReason::MutedSender(id.to_owned()),
        TrialReason::Sender(id.to_owned()),
        TrialReason::Rule(id.to_owned()),
    ];
    let others = [
        TrialReason::OwnMessage,
        TrialReason::NoRule,
        TrialReason::SwitchedOff(Switch::Group),
        TrialReason::Paused,
        TrialReason::Paused,
        TrialReason::MutedRoom,
        TrialReason::Room,
        TrialReason::DisplayName,
        TrialReason::UserName,
        TrialReason::OneToOne,
        TrialReason::AnyMessage,
        TrialReason::Builtin(".m.rule.call".to_owned()),
    ];
    let by_id = by_id.into_iter().map(|reason| ("try-result", reason));
    let reasons = by_id.chain(others.into_iter().map(|reason| ("trial", reason)));
    for (((name, reason), effect), timed) in
        reasons.zip(effects).zip([true, false].into_iter().cycle())
    {
        let until = RuleExpiry::try_from(1_800_000_000_000).ok().filter(|_| timed);
        // More rules than the page shows.
        let reasons = [None, Some(FailureReason::WorkLimit)].into_iter().cycle();
        let trace = reasons.take(102).map(failed_step).collect();
        let result = TrialResult { effect, reason, until, trace };
        pages.push((name, render(&[], &Trial::Result(result))?));
    }
    Ok(pages)
}

/// Returns a step for a rule that did not match, or whose evaluation takes too much work.
fn failed_step(reason: Option<FailureReason>) -> Step<RuleRef> {
    let (scope, kind) = (RuleScope::Global, RuleKind::Override);
    Step {
        rule: RuleRef { scope, kind, id: ".m.rule.roomnotif".to_owned() },
        outcome: StepOutcome::Failed,
        condition: None,
        reason,
        found: None,
    }
}

/// Returns rules of every kind and effect, and a changed built-in rule.
fn documents(id: &str) -> Result<Vec<Document>, askama::Error> {
    let rule = |id: &str, enabled: bool, actions: Value| json!({ "rule_id": id, "enabled": enabled, "actions": actions });
    let content = |id: &str, pattern: &str| {
        let actions = json!(["notify", { "set_tweak": "sound" }, { "set_tweak": "highlight" }]);
        let mut rule = rule(id, true, actions);
        rule["pattern"] = pattern.into();
        rule
    };
    let none = || json!([]);
    let mut timed = rule("!bellringers:social.example", true, none());
    timed["until"] = 1_800_000_000_000_i64.into();
    let mut unknown = rule("rest", true, none());
    unknown["conditions"] = json!([{ "kind": "org.example.moon" }]);
    let mut typed = rule("polls", true, none());
    typed["conditions"] = json!([{ "kind": "event_match", "key": "type", "pattern": "m.poll" }]);
    let mut nested = rule("votes", true, none());
    nested["conditions"] =
        json!([{ "kind": "event_property_is", "key": "content.vote", "value": true }]);
    let global = json!({
        "rules": {
            "override": [rule(id, false, none()), typed, nested],
            "content": [content("cake", "cake"), content("sweet", id)],
            "room": [timed],
            "sender": [rule("@bob:social.example", true, json!(["notify"]))],
            "underride": [unknown],
        },
        "changes": { ".m.rule.message": { "enabled": false } },
    });
    let device = json!({
        "rules": {
            "override": [], "content": [], "sender": [], "underride": [],
            "room": [rule("!family:social.example", true, json!(["notify", { "set_tweak": "sound" }]))],
        },
        "changes": {},
    });
    Ok(vec![document("global", &global)?, document("device/phone", &device)?])
}

/// Returns more rules than a page shows.
fn many_rules() -> Result<Document, askama::Error> {
    let rule = |number: u32| json!({ "rule_id": format!("!{number}:social.example"), "enabled": true, "actions": [] });
    let rooms: Value = (0..100).map(rule).collect();
    document("global", &json!({ "rules": { "room": rooms }, "changes": {} }))
}

/// Parses a stored document.
pub(super) fn document(scope: &str, stored: &Value) -> Result<Document, askama::Error> {
    let scope = scope.parse().map_err(|_| askama::Error::Fmt)?;
    Document::from_text(scope, &stored.to_string()).map_err(|_| askama::Error::Fmt)
}
