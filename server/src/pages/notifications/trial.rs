//! The form that tries the rules with a message.

use std::borrow::Cow;

use belfry_core::rules::Effect;
use belfry_core::rules::preferences::PreferenceError;
use belfry_core::rules::trial::{TrialReason, TrialResult};

use super::NotificationsPage;
use super::rejected::describe_preference_error;
use crate::language::Argument;
use crate::pages::format_name;

/// The fields of the form as entered, and the outcome.
#[derive(Default)]
pub struct Trial {
    pub text: String,
    pub sender: String,
    pub is_direct: bool,
    /// `None` if the form has not been submitted.
    pub outcome: Option<Result<TrialResult, PreferenceError>>,
}

impl NotificationsPage<'_> {
    /// Returns the error of the text or of the sender.
    pub(super) fn trial_error(&self, field: &str) -> Option<Cow<'static, str>> {
        let error = self.trial.outcome.as_ref()?.as_ref().err()?;
        let invalid_field = if *error == PreferenceError::TextBlank { "text" } else { "sender" };
        (field == invalid_field).then(|| describe_preference_error(*error, self.layout.language))
    }

    /// Returns whether and why the message would notify the user.
    pub(super) fn trial_sentence(&self) -> Option<String> {
        let TrialResult { effect, reason, .. } = self.trial.outcome.as_ref()?.as_ref().ok()?;
        let language = self.layout.language;
        let is_silent = *effect == Effect::Silent;
        let (key, name) = match reason {
            TrialReason::OwnMessage => ("own", String::new()),
            TrialReason::NoRule => ("no-rule", String::new()),
            TrialReason::Paused => ("paused", String::new()),
            TrialReason::QuietHours => ("quiet", String::new()),
            TrialReason::Switch(switch) => {
                let sentence = self.layout.text(&format!("notifications-switch-{switch}"));
                (if is_silent { "switched-off" } else { "switched-on" }, sentence.into_owned())
            }
            TrialReason::Word(word) => {
                (if is_silent { "muted-word" } else { "keyword" }, format_name(word))
            }
            TrialReason::Sender(id) => {
                (if is_silent { "muted-sender" } else { "sender" }, format_name(id))
            }
            TrialReason::Rule(id) => ("rule", format_name(id)),
        };
        let name = Argument::Trusted(&name);
        let reason = language.text_with(&format!("try-because-{key}"), "name", name);
        let outcome = match effect {
            Effect::Silent => "try-silent",
            Effect::Notify { sound: false, .. } => "try-notify",
            Effect::Notify { sound: true, .. } => "try-sound",
        };
        Some(language.text_with(outcome, "reason", Argument::Trusted(&reason)))
    }
}
