//! A rejected form of the notifications page, which is shown again with the entered values.

use std::borrow::Cow;

use belfry_core::form::{Pairs, last_value};
use belfry_core::percent;
use belfry_core::rules::RuleError;
use belfry_core::rules::preferences::PreferenceError;

use super::NotificationsPart;
use super::quiet_hours::QuietHoursFields;
use crate::language::{Argument, Language};
use crate::pages::format_name;

pub struct RejectedForm {
    pub(super) part: NotificationsPart,
    /// True if the form adds an entry, false if it changes one.
    pub(super) is_new: bool,
    /// Description of the problem, with advice.
    pub(super) text: String,
    pub(super) fields: EnteredFields,
}

/// The entered fields of a form that adds an entry.
pub(super) struct EnteredFields {
    pub(super) word: String,
    pub(super) id: String,
    pub(super) choice: String,
    pub(super) has_sound: bool,
    pub(super) has_highlight: bool,
    pub(super) quiet_hours: Option<QuietHoursFields>,
}

/// The fields of a form that has not been sent.
pub(super) static BLANK_FIELDS: EnteredFields = EnteredFields {
    word: String::new(),
    id: String::new(),
    choice: String::new(),
    has_sound: true,
    has_highlight: true,
    quiet_hours: None,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RejectionReason {
    Field(PreferenceError),
    /// The rules do not allow the change.
    Rules(RuleError),
}

impl RejectedForm {
    /// Returns the form with the submitted fields; `None` if the page has no form with their
    /// `change`.
    pub fn new(pairs: &Pairs, reason: &RejectionReason, language: Language) -> Option<Self> {
        let value = |name: &str| last_value(pairs, name).to_owned();
        let rule = value("rule");
        // The forms of other rules also contain the kind.
        let rule_path = percent::decode_segment(&rule).unwrap_or_default();
        let id = rule_path.rsplit('/').next().unwrap_or_default();
        let is_checked = |name: &str| !last_value(pairs, name).is_empty();
        let part = NotificationsPart::from_form(pairs)?;
        let is_quiet_hours = part == NotificationsPart::QuietHours;
        Some(Self {
            part,
            is_new: rule.is_empty(),
            text: if is_quiet_hours && reason.is_conflict() {
                language.text("notifications-error-quiet-changed").into_owned()
            } else {
                reason.text(id, language)
            },
            fields: EnteredFields {
                word: value("word"),
                id: value("id"),
                choice: value("choice"),
                has_sound: is_checked("sound"),
                has_highlight: is_checked("highlight"),
                // After a conflict the form shows the current setting.
                quiet_hours: (is_quiet_hours && !reason.is_conflict())
                    .then(|| QuietHoursFields::from_form(pairs)),
            },
        })
    }
}

/// Returns the message about an invalid field.
pub(super) fn describe_preference_error(
    error: PreferenceError,
    language: Language,
) -> Cow<'static, str> {
    language.text(&format!("notifications-error-{}", <&str>::from(error)))
}

impl RejectionReason {
    /// Returns whether the rules have changed since the page with the form was loaded.
    pub fn is_conflict(&self) -> bool {
        matches!(
            self,
            Self::Rules(RuleError::ChangedMeanwhile { .. } | RuleError::NoSuchRule { .. })
        )
    }

    /// Returns a description of the problem, with advice. Some messages name the rule with this id.
    pub fn text(&self, id: &str, language: Language) -> String {
        let formatted_id = format_name(id);
        let name = Argument::Trusted(&formatted_id);
        match self {
            Self::Field(error) => describe_preference_error(*error, language).into_owned(),
            Self::Rules(RuleError::TooManyRules(max)) => {
                let max = max.to_string();
                let count = Argument::Trusted(&max);
                language.text_with("notifications-error-too-many", "count", count)
            }
            Self::Rules(RuleError::TooManyBytes(_) | RuleError::RuleTooLarge(_)) => {
                language.text("notifications-error-too-large").into_owned()
            }
            Self::Rules(RuleError::ChangedMeanwhile { .. }) => {
                language.text_with("notifications-error-changed", "name", name)
            }
            Self::Rules(RuleError::NoSuchRule { .. }) => {
                language.text_with("notifications-error-removed", "name", name)
            }
            Self::Rules(_) => language.text("notifications-error-other").into_owned(),
        }
    }
}
