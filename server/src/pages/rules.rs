//! The page with all rules in the order of evaluation.

mod row;
mod view;

use std::borrow::Cow;

use askama::Template;
use belfry_core::rules::{RuleKind, RuleListing, RuleScope, ScopeListing};
use belfry_core::text::escape_invisible;

use self::row::RuleRow;
pub(crate) use self::view::anchor as rule_anchor;
use self::view::{OVERVIEW_ROWS, PAGE_ROWS};
pub use self::view::{RuleLinks, RulesView};
use super::{AccountNav, Form, Layout};

/// `templates/rules.html`. Posts `change` and the fields of a row.
#[derive(Template)]
#[template(path = "rules.html")]
pub struct RulesPage<'a> {
    /// Language and name of the server.
    pub layout: Layout<'a>,
    /// The navigation.
    pub nav: AccountNav,
    /// The form of each rule. It leads to the same part of the rules.
    pub form: Form<'a>,
    /// The rules.
    pub listing: &'a RuleListing<'a>,
    /// The part of the rules that is shown.
    pub view: &'a RulesView,
    /// The result of the form before.
    pub message: Option<RulesMessage>,
}

/// The result of a form, above the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct RulesMessage {
    /// A sentence, already localised.
    pub text: String,
    /// Whether the change was rejected.
    pub is_warning: bool,
    /// The fields of the form that restores a deleted rule.
    pub undo: Option<UndoFields>,
}

/// The fields that restore a deleted rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoFields {
    /// The path of the rule.
    pub rule: String,
    /// Its editable JSON, without line breaks.
    pub json: String,
    /// Whether it was enabled.
    pub enabled: bool,
    /// The percent-encoded id of the rule above it, or an empty text.
    pub above: String,
    /// The percent-encoded id of the rule below it, or an empty text.
    pub below: String,
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
    new_rule: String,
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
        is_shown.then(|| RuleRow::master(&self.listing.master, &self.layout, self.links()))
    }

    /// The kinds with links to a form for a new rule.
    fn new_rules(&self) -> Vec<(Cow<'static, str>, String)> {
        let link = |kind: RuleKind| {
            (self.kind_title(kind), self.links().new_rule(&RuleScope::Global, kind))
        };
        RuleKind::ALL.map(link).into()
    }

    fn sections(&self) -> Vec<Section> {
        let all = self.listing.scopes.iter().flat_map(|scope| scope.rules.iter());
        let user_rules = all.filter(|(_, listed)| !listed.rule.is_builtin()).count();
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
        let row = |listed| RuleRow::new(scope.scope, kind, listed, &self.layout, self.links());
        let has_user_rule = rules.iter().any(|listed| !listed.rule.is_builtin());
        let view = RulesView::of(scope.scope, kind);
        Group {
            title: self.kind_title(kind),
            count: rules.len(),
            is_open: is_alone || (may_open && has_user_rule) || self.view.opens(scope.scope, kind),
            rows: shown.map(row).collect(),
            new_rule: self.links().new_rule(scope.scope, kind),
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

    fn kind_title(&self, kind: RuleKind) -> Cow<'static, str> {
        self.layout.text(&format!("rules-{kind}"))
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
