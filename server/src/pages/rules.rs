//! The page with all rules in the order of evaluation.

mod row;
mod view;

use std::borrow::Cow;

use askama::Template;
use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::rules::{Rule, RuleKind, RuleListing, RuleScope, ScopeListing};
use belfry_core::text::escape_invisible;

use self::row::RuleRow;
pub(crate) use self::view::anchor as rule_anchor;
use self::view::{OVERVIEW_ROWS, PAGE_ROWS};
pub use self::view::{RuleLinks, RulesView};
use super::{AccountNav, Form, Layout};
use crate::paths::{ACCOUNT_NOTIFICATIONS, with_language};

/// `templates/rules.html`. Posts `change`, and `rule` or the fields of the form for a new rule.
#[derive(Template)]
#[template(path = "rules.html")]
pub struct RulesPage<'a> {
    /// Language and name of the server.
    pub layout: Layout<'a>,
    /// The navigation.
    pub nav: AccountNav,
    /// The forms, which lead to the same part of the rules.
    pub form: Form<'a>,
    /// The rules.
    pub listing: &'a RuleListing<'a>,
    /// The part of the rules that is shown.
    pub view: &'a RulesView,
    /// Why a rule was not changed.
    pub rejected: Option<String>,
    /// The form for a new rule.
    pub new_rule: NewRuleFields,
}

/// The form for a new rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewRuleFields {
    /// `mute` or `highlight`.
    effect: String,
    /// `word`, `person` or `room`.
    subject: String,
    /// The word, or the id of the person or room.
    value: String,
    /// Why it was rejected.
    error: Option<String>,
}

impl NewRuleFields {
    /// A rejected form, which is shown again with the reason.
    pub fn rejected(pairs: &Pairs, error: String) -> Self {
        let value = |name: &str| last_value(pairs, name).to_owned();
        let [effect, subject, value] = ["effect", "subject", "value"].map(value);
        Self { effect, subject, value, error: Some(error) }
    }
}

/// The rules of one scope.
struct Section {
    title: String,
    groups: Vec<Group>,
}

/// The rules of one kind, of which one page is shown.
struct Group {
    title: Cow<'static, str>,
    count: usize,
    is_open: bool,
    rows: Vec<RuleRow>,
    /// The link to the group, if the page shows only some of its rules.
    all: Option<String>,
    pager: Option<Pager>,
}

/// The links between the pages of a group.
struct Pager {
    position: String,
    previous: Option<String>,
    next: Option<String>,
}

/// The number of a user's rules up to which all groups with one are open.
const MAX_OPEN: usize = 50;

impl RulesPage<'_> {
    fn links(&self) -> RuleLinks {
        RuleLinks { lang: self.nav.lang }
    }

    /// The rule before all others, unless one group is shown.
    fn master(&self) -> Option<RuleRow> {
        let is_shown = self.view.group.is_none();
        is_shown.then(|| {
            let (scope, kind) = (RuleScope::Global, RuleKind::Override);
            RuleRow::new(&scope, kind, &self.listing.master, &self.layout, self.links())
        })
    }

    fn sections(&self) -> Vec<Section> {
        let all = self.listing.scopes.iter().flat_map(|scope| scope.rules.iter());
        let user_rules = all.filter(|(_, rule)| !rule.is_builtin()).count();
        let scopes = self.listing.scopes.iter().filter(|scope| self.view.shows_scope(scope.scope));
        let sections = scopes.map(|scope| Section {
            title: scope_title(scope.scope, &self.layout),
            groups: RuleKind::ALL
                .into_iter()
                .filter(|kind| self.view.shows(scope.scope, *kind))
                .filter(|kind| !scope.rules[*kind].is_empty())
                .map(|kind| self.group(scope, kind, user_rules <= MAX_OPEN))
                .collect(),
        });
        sections.filter(|section| !section.groups.is_empty()).collect()
    }

    fn group(&self, scope: &ScopeListing<'_>, kind: RuleKind, may_open: bool) -> Group {
        let rules = &scope.rules[kind];
        let is_alone = self.view.group.is_some();
        let (first, rows) = if is_alone {
            (self.view.page_within(rules.len()) * PAGE_ROWS, PAGE_ROWS)
        } else {
            (0, OVERVIEW_ROWS)
        };
        let shown = rules.iter().skip(first).take(rows);
        let row = |rule: &Cow<'_, Rule>| {
            RuleRow::new(scope.scope, kind, rule, &self.layout, self.links())
        };
        let has_user_rule = rules.iter().any(|rule| !rule.is_builtin());
        let view = RulesView::of(scope.scope, kind);
        Group {
            title: self.layout.text(&format!("rules-{kind}")),
            count: rules.len(),
            is_open: is_alone || (may_open && has_user_rule) || self.view.opens(scope.scope, kind),
            rows: shown.map(row).collect(),
            all: (!is_alone && rules.len() > rows).then(|| self.links().rules(&view)),
            pager: is_alone.then(|| self.pager(&view, rules.len())).flatten(),
        }
    }

    fn pager(&self, view: &RulesView, count: usize) -> Option<Pager> {
        let pages = count.div_ceil(PAGE_ROWS);
        let page = self.view.page_within(count);
        let link = |page: usize| self.links().rules(&RulesView { page, ..view.clone() });
        let arguments = [("page", (page + 1).into()), ("pages", pages.into())];
        (pages > 1).then(|| Pager {
            position: self.layout.language.text_with_all("rules-page", arguments),
            previous: page.checked_sub(1).map(link),
            next: (page + 1 < pages).then(|| link(page + 1)),
        })
    }

    fn notifications_path(&self) -> String {
        with_language(ACCOUNT_NOTIFICATIONS, self.nav.lang)
    }

    /// The page of all groups.
    fn all_rules(&self) -> Option<String> {
        self.view.group.is_some().then(|| self.links().rules(&RulesView::default()))
    }
}

/// The title of the rules of a scope.
pub(super) fn scope_title(scope: &RuleScope, layout: &Layout<'_>) -> String {
    match scope {
        RuleScope::Global => layout.text("rules-everywhere").into_owned(),
        RuleScope::Device(tag) => {
            let tag = escape_invisible(tag.as_str());
            layout.language.text_with("rules-device", "tag", &*tag)
        }
    }
}
