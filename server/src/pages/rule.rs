//! The page that shows one rule as JSON.

use std::borrow::Cow;

use askama::Template;
use belfry_core::rules::{RuleId, RuleRef};

use super::rules::scope_title;
use super::{AccountNav, Form, Layout};

/// `templates/rule.html`. Posts `rule`, to delete it.
#[derive(Template)]
#[template(path = "rule.html")]
pub struct RulePage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    pub form: Form<'a>,
    pub rule: &'a RuleRef,
    /// Its JSON, without invisible characters.
    pub json: &'a str,
    pub back: &'a str,
}

impl RulePage<'_> {
    fn kind_title(&self) -> Cow<'static, str> {
        self.layout.text(&format!("rules-{}", self.rule.kind))
    }

    fn scope_title(&self) -> String {
        scope_title(&self.rule.scope, &self.layout)
    }

    fn is_builtin(&self) -> bool {
        RuleId::is_reserved(&self.rule.id)
    }
}
