//! The page that edits a rule as JSON.

use std::borrow::Cow;

use askama::Template;
use belfry_core::rules::{RuleKind, RuleRef};

use super::rules::scope_title;
use super::{AccountNav, Form, Layout};

/// `templates/rule_edit.html`. Posts `json`, the digest `shown`, and either `rule`, the path of an
/// existing rule, or `kind`, `profile` and `rule_id`.
#[derive(Template)]
#[template(path = "rule_edit.html")]
pub struct RuleEditPage<'a> {
    /// Language and name of the server.
    pub layout: Layout<'a>,
    /// The navigation.
    pub nav: AccountNav,
    /// The form.
    pub form: Form<'a>,
    /// The rule.
    pub target: &'a EditTarget,
    /// The JSON in the form.
    pub json: &'a str,
    /// The digest of the rule that the text replaces; empty if there is none.
    pub shown: &'a str,
    /// Why the text was not saved.
    pub problem: Option<EditProblem>,
    /// The rule as it is now, if it was changed since it was shown.
    pub current: Option<&'a str>,
    /// The link to the list of rules.
    pub back: &'a str,
    /// The link to the sign-in page, if the user is signed out.
    pub sign_in: Option<&'a str>,
}

/// The rule that is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditTarget {
    /// A rule that existed when the page was opened.
    Existing(RuleRef),
    /// A new rule.
    New {
        /// Its kind.
        kind: RuleKind,
        /// The profile tag as entered; empty for all devices.
        profile: String,
        /// The id as entered.
        id: String,
    },
}

/// Why a rule was not saved, with a localised sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditProblem {
    /// The JSON is invalid.
    Json {
        /// The reason in English, as in the API.
        reason: String,
    },
    /// The JSON is rejected for a reason that has a text in every language.
    Rejected(String),
    /// The id is invalid or in use.
    Id(String),
    /// The profile tag is invalid.
    Profile(String),
    /// The rule was changed, deleted, or the user has signed out or in since it was shown.
    Stale(String),
}

impl RuleEditPage<'_> {
    fn title(&self) -> Cow<'static, str> {
        match self.target {
            EditTarget::Existing(_) => self.layout.text("rule-edit-title"),
            EditTarget::New { .. } => self.layout.text("rule-new-title"),
        }
    }

    fn kind_title(&self) -> Cow<'static, str> {
        let (EditTarget::Existing(RuleRef { kind, .. }) | EditTarget::New { kind, .. }) =
            self.target;
        self.layout.text(&format!("rules-{kind}"))
    }

    fn scope_title(&self, rule: &RuleRef) -> String {
        scope_title(&rule.scope, &self.layout)
    }

    fn id_label(&self, kind: RuleKind) -> Cow<'static, str> {
        self.layout.text(match kind {
            RuleKind::Room => "rule-edit-room",
            RuleKind::Sender => "rule-edit-sender",
            RuleKind::Override | RuleKind::Content | RuleKind::Underride => "rule-edit-name",
        })
    }

    fn hint(&self) -> Cow<'static, str> {
        match self.target {
            EditTarget::Existing(rule) if rule.id.starts_with('.') => {
                self.layout.text("rule-edit-builtin")
            }
            _ => self.layout.text("rule-edit-hint"),
        }
    }

    /// The problem of a field.
    fn id_problem(&self) -> Option<&str> {
        match &self.problem {
            Some(EditProblem::Id(text)) => Some(text),
            _ => None,
        }
    }

    fn profile_problem(&self) -> Option<&str> {
        match &self.problem {
            Some(EditProblem::Profile(text)) => Some(text),
            _ => None,
        }
    }

    fn json_problem(&self) -> Option<(String, Option<&str>)> {
        match &self.problem {
            Some(EditProblem::Json { reason }) => {
                Some((self.layout.text("rule-edit-invalid").into_owned(), Some(reason)))
            }
            Some(EditProblem::Rejected(text)) => Some((text.clone(), None)),
            _ => None,
        }
    }

    fn stale(&self) -> Option<&str> {
        match &self.problem {
            Some(EditProblem::Stale(text)) => Some(text),
            _ => None,
        }
    }
}
