//! The page with all rules in the order of evaluation.

mod links;
mod row;

use std::borrow::Cow;

use askama::Template;
use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::rules::{Rule, RuleKind, RuleListing, RuleScope, ScopeListing};
use belfry_core::text::escape_invisible;

pub(crate) use self::links::anchor as rule_anchor;
pub use self::links::{RuleGroup, open_group, rules_path};
use self::row::RuleRow;
use super::{AccountNav, Form, Layout};
use crate::paths::{ACCOUNT_NOTIFICATIONS, with_language};

/// `templates/rules.html`. Posts `change`, and `rule` or the fields of the form for a new rule.
#[derive(Template)]
#[template(path = "rules.html")]
pub struct RulesPage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    pub form: Form<'a>,
    pub listing: &'a RuleListing<'a>,
    /// The group that is unfolded, because one of its rules was changed.
    pub open: Option<RuleGroup>,
    /// Why a rule was not changed.
    pub rejected: Option<String>,
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

/// The rules of one kind.
struct Group {
    title: Cow<'static, str>,
    is_open: bool,
    rows: Vec<RuleRow>,
}

/// The number of a user's rules up to which all groups with one are open.
const MAX_OPEN: usize = 50;

impl RulesPage<'_> {
    /// The rule before all others.
    fn master(&self) -> RuleRow {
        self.row(&RuleScope::Global, RuleKind::Override, &self.listing.master)
    }

    fn sections(&self) -> Vec<Section> {
        let all = self.listing.scopes.iter().flat_map(|scope| scope.rules.iter());
        let may_open = all.filter(|(_, rule)| !rule.is_builtin()).count() <= MAX_OPEN;
        let section = |scope: &ScopeListing<'_>| Section {
            title: scope_title(scope.scope, &self.layout),
            groups: RuleKind::ALL
                .into_iter()
                .filter(|kind| !scope.rules[*kind].is_empty())
                .map(|kind| self.group(scope, kind, may_open))
                .collect(),
        };
        self.listing.scopes.iter().map(section).collect()
    }

    fn group(&self, scope: &ScopeListing<'_>, kind: RuleKind, may_open: bool) -> Group {
        let rules = &scope.rules[kind];
        let has_user_rule = rules.iter().any(|rule| !rule.is_builtin());
        let is_changed =
            self.open.as_ref().is_some_and(|open| (&open.0, open.1) == (scope.scope, kind));
        Group {
            title: self.layout.text(&format!("rules-{kind}")),
            is_open: (may_open && has_user_rule) || is_changed,
            rows: rules.iter().map(|rule| self.row(scope.scope, kind, rule)).collect(),
        }
    }

    fn row(&self, scope: &RuleScope, kind: RuleKind, rule: &Rule) -> RuleRow {
        RuleRow::new(scope, kind, rule, &self.layout, self.nav.lang)
    }

    fn notifications_path(&self) -> String {
        with_language(ACCOUNT_NOTIFICATIONS, self.nav.lang)
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
