//! The page for trying the rules with a message.

use std::borrow::Cow;

use askama::Template;
use belfry_core::rules::explain::{FailureReason, RuleStep, StepOutcome};
use belfry_core::rules::preferences::PreferenceError;
use belfry_core::rules::trial::{TrialReason, TrialResult};
use belfry_core::rules::{ConditionKind, Effect, RuleId, RuleRef};
use belfry_core::text::escape_invisible;
use serde::Serialize;
use serde_json::Value;

use super::notifications::{describe_preference_error, listed_profiles, more_profiles_note};
use super::rules::{builtin_title, group_title, scope_title};
use super::text::truncate;
use super::timed_text::{TimeFormat, TimedText};
use super::{AccountNav, Form, Layout};
use crate::language::Argument;

/// `templates/trial.html`. Posts `text`, `sender`, `may_notify_room`, `room`, `members`, `name` and
/// `profile`.
#[derive(Template)]
#[template(path = "trial.html")]
pub struct TrialPage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    pub form: Form<'a>,
    pub message: &'a TrialFields,
    /// The profile tags that have rules.
    pub profiles: &'a [&'a str],
    /// The outcome of the form.
    pub trial: &'a Trial,
}

/// The outcome for the message in the form.
#[derive(Debug)]
pub enum Trial {
    /// The form has not been sent.
    NotRun,
    /// The form has errors.
    Invalid(TrialErrors),
    /// Too many evaluations are running.
    Busy,
    /// The rules have been evaluated.
    Result(TrialResult),
}

/// The fields of the form, as entered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrialFields {
    pub text: String,
    pub sender: String,
    /// True if the sender may mention the whole room.
    pub may_notify_room: bool,
    pub room: String,
    pub member_count: String,
    /// The user's display name in the room.
    pub display_name: String,
    /// The profile tag of the device.
    pub profile_tag: String,
}

/// Errors in the fields of the form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrialErrors {
    pub is_text_blank: bool,
    /// The reason why the sender is not a user id.
    pub sender: Option<PreferenceError>,
    /// The reason why the room is not a room id.
    pub room: Option<PreferenceError>,
    /// True if the number of members is not a positive number.
    pub is_count_invalid: bool,
}

/// A rule of the trace as the template shows it.
struct TraceRow {
    name: String,
    /// The rule's group and scope.
    group_and_scope: String,
    /// The id of a built-in rule, whose name is its title.
    id: Option<String>,
    outcome: &'static str,
    sentence: String,
    /// The condition that is not met, for users who know push rules.
    detail: Option<String>,
}

/// Maximum number of checked rules on the page.
const MAX_TRACE_ROWS: usize = 100;

/// The event keys that have their own sentence in `describe_failure`.
const KEYS_WITH_SENTENCE: [&str; 3] = ["content.body", "room_id", "sender"];

/// The maximum number of characters shown of a value.
const MAX_VALUE_CHARS: usize = 100;

impl TrialPage<'_> {
    /// Returns the reason why the value of a field is invalid, if it is.
    fn field_error(&self, field: &str) -> Option<Cow<'static, str>> {
        let Trial::Invalid(errors) = self.trial else { return None };
        let describe_id_error = |error| describe_preference_error(error, self.layout.language);
        match field {
            "text" => errors.is_text_blank.then(|| self.layout.text("try-text-blank")),
            "sender" => errors.sender.map(describe_id_error),
            "room" => errors.room.map(describe_id_error),
            _ => errors.is_count_invalid.then(|| self.layout.text("try-members-invalid")),
        }
    }

    /// Returns whether a field has the focus: the first with an error.
    fn has_focus(&self, field: &str) -> bool {
        let mut fields = ["text", "sender", "room", "members"].into_iter();
        fields.find(|field| self.field_error(field).is_some()) == Some(field)
    }

    /// Returns the profiles to choose from.
    fn listed_profiles(&self) -> Vec<&str> {
        let chosen_profile =
            self.profiles.iter().copied().find(|tag| *tag == self.message.profile_tag);
        listed_profiles(self.profiles, chosen_profile)
    }

    fn more_profiles_note(&self) -> Option<String> {
        more_profiles_note(self.profiles, &self.listed_profiles(), &self.layout)
    }

    /// Returns, in one word, whether the user would be notified.
    fn state_text(&self, result: &TrialResult) -> Cow<'static, str> {
        self.layout.text(match result.effect {
            Effect::Silent => "rules-silent",
            Effect::Notify { .. } => "try-notified",
        })
    }

    /// Returns whether and why the user would be notified.
    fn sentence(&self, result: &TrialResult) -> TimedText {
        let language = self.layout.language;
        let outcome = language.text(match result.effect {
            Effect::Silent => "try-silent",
            Effect::Notify { sound: false, highlight: false } => "try-notify",
            Effect::Notify { sound: true, highlight: false } => "try-sound",
            Effect::Notify { sound: false, highlight: true } => "try-highlight",
            Effect::Notify { sound: true, highlight: true } => "try-sound-highlight",
        });
        let sentence = |reason: &str| {
            let arguments =
                [("outcome", Argument::Trusted(&outcome)), ("reason", Argument::Trusted(reason))];
            language.text_with_all("try-sentence", arguments)
        };
        match (&result.reason, result.until) {
            (TrialReason::Paused, Some(until)) => {
                let reason =
                    language.text_with("try-because-paused-until", "time", TimedText::TIME);
                TimedText::from_text(&sentence(&reason), until.to_timestamp(), TimeFormat::Full)
            }
            (TrialReason::QuietHours, _) if result.matches_until.is_some() => {
                let reason = language.text_with("try-because-quiet-until", "time", TimedText::TIME);
                let until = result.matches_until.unwrap_or_default();
                TimedText::from_text(&sentence(&reason), until, TimeFormat::Full)
            }
            (reason, _) => TimedText::plain(sentence(&self.reason_text(reason))),
        }
    }

    /// Returns the text about the end of the deciding rule, unless the sentence contains it.
    fn expiry_text(&self, result: &TrialResult) -> Option<TimedText> {
        if let Some(until) = result.until.filter(|_| result.reason != TrialReason::Paused) {
            let until = until.to_timestamp();
            return Some(TimedText::new(&self.layout, "try-ends", until, TimeFormat::Full));
        }
        let until = result.matches_until.filter(|_| result.reason != TrialReason::QuietHours)?;
        Some(TimedText::new(&self.layout, "try-applies", until, TimeFormat::Full))
    }

    fn reason_text(&self, reason: &TrialReason) -> String {
        let language = self.layout.language;
        let text_with = |key: &str, name: &str, value: &str| {
            language.text_with(key, name, &*format_text(value))
        };
        let key = match reason {
            TrialReason::Keyword(word) => return text_with("try-because-keyword", "word", word),
            TrialReason::MutedWord(word) => {
                return text_with("try-because-muted-word", "word", word);
            }
            TrialReason::SwitchedOff(switch) => {
                let sentence = self.layout.text(&format!("notifications-switch-{switch}"));
                let sentence = Argument::Trusted(&sentence);
                return language.text_with("try-because-switched-off", "switch", sentence);
            }
            TrialReason::MutedSender(id) => {
                return text_with("try-because-muted-sender", "sender", id);
            }
            TrialReason::Sender(id) => return text_with("try-because-sender", "sender", id),
            TrialReason::Rule(id) => return text_with("try-because-rule", "rule", id),
            TrialReason::Builtin(id) => {
                let title = builtin_title(id, &self.layout);
                return language.text_with(
                    "try-because-builtin",
                    "rule",
                    Argument::Trusted(&title),
                );
            }
            TrialReason::OwnMessage => "try-because-own",
            TrialReason::NoRule => "try-because-no-rule",
            TrialReason::Paused => "try-because-paused",
            TrialReason::QuietHours => "try-because-quiet",
            TrialReason::MutedRoom => "try-because-muted-room",
            TrialReason::Room => "try-because-room",
            TrialReason::DisplayName => "try-because-display-name",
            TrialReason::UserName => "try-because-user-name",
            TrialReason::OneToOne => "try-because-one-to-one",
            TrialReason::AnyMessage => "try-because-any-message",
        };
        language.text(key).into_owned()
    }

    /// Returns the last rules that were checked. If one decided, it is the last of them.
    fn trace_rows(&self, result: &TrialResult) -> Vec<TraceRow> {
        let steps = result.trace.iter().skip(count_earlier_rules(result));
        steps.map(|step| self.trace_row(step)).collect()
    }

    /// Returns a sentence about the rules that are not shown.
    fn earlier_rules_note(&self, result: &TrialResult) -> Option<String> {
        let count = count_earlier_rules(result);
        (count > 0).then(|| self.layout.language.text_with("try-trace-earlier", "count", count))
    }

    fn trace_row(&self, step: &RuleStep<RuleRef>) -> TraceRow {
        let RuleRef { scope, id, .. } = &step.rule;
        let group = group_title(&step.rule, &self.layout);
        let is_builtin = RuleId::is_reserved(id);
        TraceRow {
            name: if is_builtin {
                builtin_title(id, &self.layout).into_owned()
            } else {
                format_text(id).into_owned()
            },
            group_and_scope: format!("{group} · {}", scope_title(scope, &self.layout)),
            id: is_builtin.then(|| id.clone()),
            outcome: match step.outcome {
                StepOutcome::Disabled => "off",
                StepOutcome::Failed => "failed",
                StepOutcome::Won => "matched",
            },
            sentence: self.describe_step(step),
            detail: self.describe_condition(step),
        }
    }

    fn describe_step(&self, step: &RuleStep<RuleRef>) -> String {
        let key = match (step.outcome, &step.condition, step.reason) {
            (StepOutcome::Won, ..) => "try-trace-matched",
            (StepOutcome::Disabled, ..) => "try-trace-off",
            (StepOutcome::Failed, Some(condition), _) => {
                return self.describe_failure(&step.rule, &condition.kind, step.found.as_ref());
            }
            (StepOutcome::Failed, None, Some(FailureReason::WorkBudget)) => "try-trace-work",
            (StepOutcome::Failed, None, None) => "try-trace-skipped",
        };
        self.layout.text(key).into_owned()
    }

    /// Describes in everyday terms why a rule's condition is not met.
    fn describe_failure(
        &self,
        rule: &RuleRef,
        condition: &ConditionKind,
        actual: Option<&Value>,
    ) -> String {
        match (condition, &actual.map(format_value)) {
            (ConditionKind::EventMatch { key, pattern }, _) if key == "content.body" => {
                self.text_with("try-trace-text", &[("word", &*format_text(pattern))])
            }
            (ConditionKind::EventMatch { key, .. }, _) if key == "room_id" => {
                self.text_with("try-trace-room", &[])
            }
            (ConditionKind::EventMatch { key, .. }, _) if key == "sender" => {
                self.text_with("try-trace-sender", &[])
            }
            (
                ConditionKind::EventMatch { .. }
                | ConditionKind::EventPropertyIs { .. }
                | ConditionKind::EventPropertyContains { .. },
                _,
            ) => {
                let is_builtin = RuleId::is_reserved(&rule.id);
                self.text_with(
                    if is_builtin { "try-trace-kind" } else { "try-trace-condition" },
                    &[],
                )
            }
            (ConditionKind::ContainsDisplayName, Some(name)) => {
                self.text_with("try-trace-name", &[("name", name)])
            }
            (ConditionKind::ContainsDisplayName, None) => self.text_with("try-trace-no-name", &[]),
            (ConditionKind::RoomMemberCount { is }, Some(count)) => {
                self.text_with("try-trace-members", &[("count", count), ("expected", is)])
            }
            (ConditionKind::RoomMemberCount { .. }, None) => {
                self.text_with("try-trace-no-members", &[])
            }
            (ConditionKind::SenderNotificationPermission { .. }, _) => {
                self.text_with("try-trace-permission", &[])
            }
            (ConditionKind::TimeAndDay(condition), _) => {
                let time = actual.and_then(|local_time| local_time["time_of_day"].as_str());
                let time = time.unwrap_or_default();
                let zone = format_text(condition.time_zone());
                self.text_with("try-trace-time", &[("time", time), ("zone", &zone)])
            }
            (ConditionKind::Unknown { kind }, _) => {
                self.text_with("try-trace-unknown", &[("kind", &*format_text(kind))])
            }
        }
    }

    /// Returns the key and the expected and actual values of a user rule's condition, if it is
    /// about an event property without its own sentence.
    fn describe_condition(&self, step: &RuleStep<RuleRef>) -> Option<String> {
        let (key, expected) = match &step.condition.as_ref()?.kind {
            _ if RuleId::is_reserved(&step.rule.id) => return None,
            ConditionKind::EventMatch { key, pattern } if !KEYS_WITH_SENTENCE.contains(&&**key) => {
                (key, format_value(pattern))
            }
            ConditionKind::EventPropertyIs { key, value }
            | ConditionKind::EventPropertyContains { key, value } => (key, format_value(value)),
            _ => return None,
        };
        let key = format_text(key);
        Some(match step.found.as_ref().map(format_value) {
            Some(actual) => {
                let values = [("key", &*key), ("found", &actual), ("expected", &expected)];
                self.text_with("try-trace-value", &values)
            }
            None => self.text_with("try-trace-absent", &[("key", &*key), ("expected", &expected)]),
        })
    }

    /// Returns the message for this key with user-supplied values.
    fn text_with(&self, key: &str, arguments: &[(&'static str, &str)]) -> String {
        let arguments = arguments.iter().map(|(name, value)| (*name, Argument::from(*value)));
        self.layout.language.text_with_all(key, arguments)
    }
}

/// Returns the number of checked rules that are not shown.
fn count_earlier_rules(result: &TrialResult) -> usize {
    result.trace.len().saturating_sub(MAX_TRACE_ROWS)
}

/// Returns a value as JSON, truncated.
fn format_value(value: &(impl Serialize + ?Sized)) -> String {
    format_text(&serde_json::to_string(value).unwrap_or_default()).into_owned()
}

/// Returns text as the page shows it: truncated, and with invisible characters escaped.
fn format_text(text: &str) -> Cow<'_, str> {
    match truncate(text, MAX_VALUE_CHARS) {
        Cow::Borrowed(text) => escape_invisible(text),
        Cow::Owned(text) => Cow::Owned(escape_invisible(&text).into_owned()),
    }
}
