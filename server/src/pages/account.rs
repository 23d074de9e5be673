//! The page that says who is signed in, which apps they have let in, and which rules they have.

use std::borrow::Cow;

use askama::Template;
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::uri::web_host;
use belfry_core::rules::{Document, Effect, Rule, RuleKind, RuleScope};
use jiff::Timestamp;

use super::{FirstPartyApp, Form, Layout};
use crate::language::isolated;

/// `templates/account.html`: you are this one, these are your apps and your rules.
///
/// Posts `app`, the number of the app to be removed.
#[derive(Template)]
#[template(path = "account.html")]
pub struct AccountPage<'a> {
    /// Language and server.
    pub layout: Layout<'a>,
    /// The name of the account that is signed in.
    pub account: &'a str,
    /// Where the wish to sign out goes.
    pub sign_out: Form<'a>,
    /// Where the wish to remove an app goes.
    pub remove: Form<'a>,
    /// The apps that have access.
    pub apps: &'a [ListedApp],
    /// The rules of each scope.
    pub rules: &'a [&'a Document],
}

/// An app that has access.
#[derive(Debug, Clone)]
pub struct ListedApp {
    /// Its number.
    pub id: i64,
    /// Which of our own it is, if it never registered.
    pub own: Option<FirstPartyApp>,
    /// Its name.
    pub name: String,
    /// Its home page.
    pub website: Option<String>,
    /// What it may do, all of its tokens together.
    pub scopes: Scopes,
    /// Since when it has access.
    pub since: Timestamp,
}

impl ListedApp {
    fn name(&self, layout: &Layout<'_>) -> String {
        match self.own {
            Some(FirstPartyApp::Matrix) => layout.text("apps-matrix").into_owned(),
            Some(FirstPartyApp::CommandLine) | None => isolated(&self.name),
        }
    }

    /// Where it comes from: the host of its website, or what we know of our own.
    fn origin(&self, layout: &Layout<'_>) -> Option<String> {
        match self.own {
            Some(FirstPartyApp::Matrix) => Some(layout.text("apps-matrix-note").into_owned()),
            Some(FirstPartyApp::CommandLine) => Some(layout.text("apps-issued-note").into_owned()),
            None => web_host(self.website.as_deref()?).map(|host| isolated(&host)),
        }
    }

    fn since(&self, layout: &Layout<'_>) -> String {
        let date = self.since.strftime("%Y-%m-%d").to_string();
        layout.language.text_with("apps-since", "date", date.as_str())
    }
}

/// The rules of one scope.
struct Place {
    title: String,
    groups: Vec<Group>,
}

/// Rules that stand under one heading.
struct Group {
    title: Cow<'static, str>,
    rules: Vec<Line>,
}

/// One rule.
struct Line {
    id: String,
    /// The word that it looks for, where its id does not say so.
    pattern: Option<String>,
    enabled: bool,
    /// What it does.
    effects: Vec<Cow<'static, str>>,
}

impl AccountPage<'_> {
    /// What the user has said of rules, by scope and by kind.
    fn places(&self) -> Vec<Place> {
        let places = self.rules.iter().map(|document| self.place(document));
        places.filter(|place| !place.groups.is_empty()).collect()
    }

    fn place(&self, document: &Document) -> Place {
        let title = match document.scope() {
            RuleScope::Global => self.layout.text("rules-everywhere").into_owned(),
            RuleScope::Device(tag) => {
                self.layout.language.text_with("rules-device", "tag", tag.as_str())
            }
        };
        let own = RuleKind::ALL.map(|kind| {
            let rules = document.user_rules()[kind].iter().map(|rule| self.line(rule)).collect();
            Group { title: self.layout.text(heading(kind)), rules }
        });
        let changed = RuleKind::ALL.into_iter().flat_map(|kind| document.patched_builtins(kind));
        let changed = Group {
            title: self.layout.text("rules-builtin"),
            rules: changed.map(|rule| self.line(&Rule { pattern: None, ..rule })).collect(),
        };
        let groups = own.into_iter().chain([changed]);
        Place { title, groups: groups.filter(|group| !group.rules.is_empty()).collect() }
    }

    fn line(&self, rule: &Rule) -> Line {
        let keys = match Effect::of(&rule.actions) {
            Effect::Silent => vec!["rules-silent"],
            Effect::Notify { sound, highlight } => {
                let more = [(sound, "rules-sound"), (highlight, "rules-highlight")];
                let more = more.into_iter().filter_map(|(is_set, key)| is_set.then_some(key));
                ["rules-notify"].into_iter().chain(more).collect()
            }
        };
        let pattern = rule.pattern.as_deref().filter(|pattern| *pattern != rule.rule_id);
        let looks_for = |text| self.layout.language.text_with("rules-pattern", "pattern", text);
        Line {
            id: isolated(&rule.rule_id),
            pattern: pattern.map(looks_for),
            enabled: rule.enabled,
            effects: keys.into_iter().map(|key| self.layout.text(key)).collect(),
        }
    }
}

/// The key of the heading over the rules of a kind.
const fn heading(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Override => "rules-override",
        RuleKind::Content => "rules-content",
        RuleKind::Room => "rules-room",
        RuleKind::Sender => "rules-sender",
        RuleKind::Underride => "rules-underride",
    }
}
