//! The account page: the signed-in account, its authorised apps and its push rules.

use std::borrow::Cow;

use askama::Template;
use belfry_core::oauth::uri::web_host;
use belfry_core::rules::{Document, Effect, Rule, RuleKind, RuleScope};

use super::{AccountNav, AuthorizedApp, Form, Layout};
use crate::language::isolate;
use crate::tokens::FirstPartyApp;

/// `templates/account.html`. Posts `app`, the id of the app to be removed.
#[derive(Template)]
#[template(path = "account.html")]
pub struct AccountPage<'a> {
    /// Language and name of the server.
    pub layout: Layout<'a>,
    /// The navigation.
    pub nav: AccountNav,
    /// The name of the signed-in account.
    pub account: &'a str,
    /// The form that signs out.
    pub sign_out: Form<'a>,
    /// The form that removes an app.
    pub remove: Form<'a>,
    /// The authorised apps.
    pub apps: &'a [AuthorizedApp],
    /// The rules of each scope.
    pub rules: &'a [&'a Document],
}

impl AuthorizedApp {
    fn first_party(&self) -> Option<FirstPartyApp<'_>> {
        FirstPartyApp::from_client_id(&self.client_id)
    }

    fn title(&self, layout: &Layout<'_>) -> String {
        match self.first_party() {
            Some(FirstPartyApp::Matrix) => layout.text("apps-matrix").into_owned(),
            Some(FirstPartyApp::CommandLine(_)) | None => isolate(&self.name),
        }
    }

    /// The host of its website, or a note about a first-party app.
    fn origin(&self, layout: &Layout<'_>) -> Option<String> {
        match self.first_party() {
            Some(FirstPartyApp::Matrix) => Some(layout.text("apps-matrix-note").into_owned()),
            Some(FirstPartyApp::CommandLine(_)) => {
                Some(layout.text("apps-issued-note").into_owned())
            }
            None => web_host(self.website.as_deref()?).map(|host| isolate(&host)),
        }
    }

    fn since_date(&self, layout: &Layout<'_>) -> String {
        let date = self.since.strftime("%Y-%m-%d").to_string();
        layout.language.text_with("apps-since", "date", date.as_str())
    }
}

/// The rules of one scope.
struct ScopeRules {
    title: String,
    groups: Vec<Group>,
}

/// Rules under one heading.
struct Group {
    title: Cow<'static, str>,
    rules: Vec<RuleRow>,
}

struct RuleRow {
    id: String,
    /// Its pattern, unless it equals the id.
    pattern: Option<String>,
    enabled: bool,
    effects: Vec<Cow<'static, str>>,
}

/// The maximum number of user-defined rules on the page, and of characters of a pattern. An account
/// may have megabytes of rules.
const MAX_RULES: usize = 200;
const MAX_PATTERN: usize = 200;

impl AccountPage<'_> {
    /// The user-defined rules and changed built-in rules, by scope and kind.
    fn scopes(&self) -> Vec<ScopeRules> {
        let mut remaining = MAX_RULES;
        let scopes = self.rules.iter().map(|document| self.scope_rules(document, &mut remaining));
        scopes.filter(|scope| !scope.groups.is_empty()).collect()
    }

    /// A sentence about the rules that are not shown.
    fn more_rules(&self) -> Option<String> {
        let all: usize = self.rules.iter().map(|document| document.len()).sum();
        let more = all.checked_sub(MAX_RULES).filter(|more| *more > 0)?;
        Some(self.layout.language.text_with("rules-more", "count", more.to_string().as_str()))
    }

    fn scope_rules(&self, document: &Document, remaining: &mut usize) -> ScopeRules {
        let title = match document.scope() {
            RuleScope::Global => self.layout.text("rules-everywhere").into_owned(),
            RuleScope::Device(tag) => {
                self.layout.language.text_with("rules-device", "tag", tag.as_str())
            }
        };
        let user_rules = RuleKind::ALL.map(|kind| {
            let rules = document.user_rules()[kind].iter().take(*remaining);
            let rules: Vec<RuleRow> = rules.map(|rule| self.rule_row(rule)).collect();
            *remaining -= rules.len();
            Group { title: self.layout.text(&format!("rules-{kind}")), rules }
        });
        let changed = RuleKind::ALL.into_iter().flat_map(|kind| document.patched_builtins(kind));
        let changed = Group {
            title: self.layout.text("rules-builtin"),
            rules: changed.map(|rule| self.rule_row(&Rule { pattern: None, ..rule })).collect(),
        };
        let groups = user_rules.into_iter().chain([changed]);
        ScopeRules { title, groups: groups.filter(|group| !group.rules.is_empty()).collect() }
    }

    fn rule_row(&self, rule: &Rule) -> RuleRow {
        let keys = match Effect::of(&rule.actions) {
            Effect::Silent => vec!["rules-silent"],
            Effect::Notify { sound, highlight } => {
                let more = [(sound, "rules-sound"), (highlight, "rules-highlight")];
                let more = more.into_iter().filter_map(|(is_set, key)| is_set.then_some(key));
                ["rules-notify"].into_iter().chain(more).collect()
            }
        };
        let pattern = rule.pattern.as_deref().filter(|pattern| *pattern != rule.rule_id);
        let describe = |text: &str| {
            let text = match text.char_indices().nth(MAX_PATTERN) {
                Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
                None => Cow::Borrowed(text),
            };
            self.layout.language.text_with("rules-pattern", "pattern", &*text)
        };
        RuleRow {
            id: isolate(&rule.rule_id),
            pattern: pattern.map(describe),
            enabled: rule.enabled,
            effects: keys.into_iter().map(|key| self.layout.text(key)).collect(),
        }
    }
}
