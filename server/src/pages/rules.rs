//! The list of a user's push rules in evaluation order, split into pages.

mod links;
mod row;
mod title;

use std::borrow::Cow;
use std::ops::Range;

use askama::Template;
use belfry_core::form::{Pairs, last_value};
use belfry_core::rules::{Rule, RuleKind, RuleListing, RuleRef, RuleScope, ScopeListing};
use belfry_core::text::escape_invisible;

pub use self::links::RulesView;
pub(crate) use self::links::rule_anchor;
use self::row::RuleRow;
pub(super) use self::title::{builtin_title, group_title, rule_title};
use super::pager::{PageNumber, Pager, select_entries};
use super::{AccountNav, Form, Layout, Notice};
use crate::paths::{ACCOUNT_NOTIFICATIONS, with_language};

/// `templates/rules.html`. Its forms post `change` with either `rule` (the rule to change) or the
/// fields of the new-rule form.
#[derive(Template)]
#[template(path = "rules.html")]
pub struct RulesPage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    pub form: Form<'a>,
    pub listing: &'a RuleListing<'a>,
    pub view: &'a RulesView,
    /// The notice about the rule that was changed.
    pub notice: Option<Notice>,
    /// The reason why a rule was not changed.
    pub rejection: Option<String>,
    pub new_rule: NewRuleForm,
}

/// The state of the form for a new rule: the entered values and the error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewRuleForm {
    /// `mute` or `highlight`.
    effect: String,
    /// `word`, `person` or `room`.
    subject: String,
    /// The word, or the id of the person or room.
    value: String,
    /// The reason why the form was rejected.
    error: Option<String>,
}

impl NewRuleForm {
    /// Creates a rejected form, which is shown again with the reason.
    pub fn from_rejected(pairs: &Pairs, error: String) -> Self {
        let value = |name: &str| last_value(pairs, name).to_owned();
        let [effect, subject, value] = ["effect", "subject", "value"].map(value);
        Self { effect, subject, value, error: Some(error) }
    }
}

/// The rules of one scope.
struct RuleSection {
    title: String,
    groups: Vec<RuleGroup>,
}

/// The rules of one kind.
struct RuleGroup {
    title: Cow<'static, str>,
    /// Number of rules in the group, including those on other pages.
    count: usize,
    /// True if the group is expanded when the page loads.
    is_open: bool,
    rows: Vec<RuleRow>,
}

impl RulesPage<'_> {
    /// Returns the row of the master rule, which is above the list because it is evaluated first.
    fn master_row(&self) -> RuleRow {
        self.rule_row(&RuleScope::Global, RuleKind::Override, &self.listing.master)
    }

    /// Returns the indices of the rules on the page that contains the changed rule or, without one,
    /// on the requested page. The master rule is not counted.
    fn entry_range(&self) -> Range<usize> {
        let changed_rule = self.view.changed_rule.as_ref();
        let index = changed_rule.and_then(|rule| self.listing.index_of(rule));
        let page = index.map_or(self.view.page, PageNumber::containing);
        page.entry_range(self.listing.rule_count())
    }

    fn pager(&self) -> Option<Pager> {
        let link = |page| RulesView { page, changed_rule: None }.path(self.nav.lang);
        Pager::new(&self.entry_range(), self.listing.rule_count(), &self.layout, link)
    }

    fn sections(&self) -> Vec<RuleSection> {
        let entries = self.entry_range();
        let mut first_index = 0;
        let mut sections = Vec::new();
        for scope in &self.listing.scopes {
            let mut groups = Vec::new();
            for kind in RuleKind::ALL {
                let shown_rules = select_entries(&scope.rules[kind], first_index, &entries);
                first_index += scope.rules[kind].len();
                if !shown_rules.is_empty() {
                    groups.push(self.rule_group(scope, kind, shown_rules));
                }
            }
            if !groups.is_empty() {
                sections
                    .push(RuleSection { title: scope_title(scope.scope, &self.layout), groups });
            }
        }
        sections
    }

    fn rule_group(
        &self,
        scope: &ScopeListing<'_>,
        kind: RuleKind,
        shown_rules: &[Cow<'_, Rule>],
    ) -> RuleGroup {
        let has_user_rule = shown_rules.iter().any(|rule| !rule.is_builtin());
        let changed_rule = self.view.changed_rule.as_ref();
        let is_changed =
            changed_rule.is_some_and(|rule| (&rule.scope, rule.kind) == (scope.scope, kind));
        RuleGroup {
            title: self.layout.text(&format!("rules-{kind}")),
            count: scope.rules[kind].len(),
            is_open: has_user_rule || is_changed,
            rows: shown_rules.iter().map(|rule| self.rule_row(scope.scope, kind, rule)).collect(),
        }
    }

    fn rule_row(&self, scope: &RuleScope, kind: RuleKind, rule: &Rule) -> RuleRow {
        let rule_ref = RuleRef { scope: scope.clone(), kind, id: rule.rule_id.clone() };
        let notice = self.notice.filter(|_| self.view.changed_rule.as_ref() == Some(&rule_ref));
        RuleRow::new(&rule_ref, rule, notice, &self.layout, self.nav.lang)
    }

    fn notifications_path(&self) -> String {
        with_language(ACCOUNT_NOTIFICATIONS, self.nav.lang)
    }
}

/// Returns the heading of a scope: everywhere, or the name of the device.
pub(super) fn scope_title(scope: &RuleScope, layout: &Layout<'_>) -> String {
    match scope {
        RuleScope::Global => layout.text("rules-everywhere").into_owned(),
        RuleScope::Device(tag) => {
            let tag = escape_invisible(tag.as_str());
            layout.language.text_with("rules-device", "tag", &*tag)
        }
    }
}
