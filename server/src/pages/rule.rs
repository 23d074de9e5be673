//! The page that shows one rule as JSON.

use std::borrow::Cow;

use askama::Template;
use belfry_core::rules::{Rule, RuleRef};

use super::rules::{group_title, rule_title, scope_title};
use super::{AccountNav, Form, Layout};

/// `templates/rule.html`. Posts `change` and `rule`, to delete the rule.
#[derive(Template)]
#[template(path = "rule.html")]
pub struct RulePage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    pub form: Form<'a>,
    pub rule_ref: &'a RuleRef,
    pub rule: &'a Rule,
    /// The path of the list of rules.
    pub rules_path: &'a str,
}

impl RulePage<'_> {
    fn title(&self) -> String {
        rule_title(self.rule_ref.kind, self.rule, &self.layout)
    }

    fn group_title(&self) -> Cow<'static, str> {
        group_title(self.rule_ref, &self.layout)
    }

    fn scope_title(&self) -> String {
        scope_title(&self.rule_ref.scope, &self.layout)
    }

    fn is_builtin(&self) -> bool {
        self.rule.is_builtin()
    }
}
