//! The page that edits a rule as JSON.

use std::borrow::Cow;

use askama::Template;
use belfry_core::rules::{RuleId, RuleKind, RuleRef};

use super::rules::scope_title;
use super::{AccountNav, Form, Layout, StaleForm};

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
    pub error: Option<EditError>,
    /// The rule as it is now, if it was changed since it was shown.
    pub current: Option<&'a str>,
    /// The link to the list of rules.
    pub back: &'a str,
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
pub enum EditError {
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
    Stale(StaleForm),
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
            EditTarget::Existing(rule) if RuleId::is_reserved(&rule.id) => {
                self.layout.text("rule-edit-builtin")
            }
            _ => self.layout.text("rule-edit-hint"),
        }
    }

    fn id_error(&self) -> Option<&str> {
        match &self.error {
            Some(EditError::Id(text)) => Some(text),
            _ => None,
        }
    }

    fn profile_error(&self) -> Option<&str> {
        match &self.error {
            Some(EditError::Profile(text)) => Some(text),
            _ => None,
        }
    }

    fn json_error(&self) -> Option<(String, Option<&str>)> {
        match &self.error {
            Some(EditError::Json { reason }) => {
                Some((self.layout.text("rule-edit-invalid").into_owned(), Some(reason)))
            }
            Some(EditError::Rejected(text)) => Some((text.clone(), None)),
            _ => None,
        }
    }

    fn stale(&self) -> Option<&StaleForm> {
        match &self.error {
            Some(EditError::Stale(stale)) => Some(stale),
            _ => None,
        }
    }
}
