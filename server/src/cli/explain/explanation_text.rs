//! An explanation as text for a terminal: a line for each rule, then the result.

use std::fmt;

use belfry_core::rules::evaluate::RuleName;
use belfry_core::rules::explain::{Explanation, RuleStep, StepOutcome};
use belfry_core::rules::{ConditionKind, PropertyMatch, RelatedEventMatch};
use belfry_store::EnabledState;
use serde::Serialize;
use serde_json::{Value, json};

use crate::escape::escape;

pub(super) struct ExplanationText<'a> {
    pub(super) explanation: &'a Explanation<'a>,
    /// The state of the account; a disabled one is never notified.
    pub(super) state: EnabledState,
}

impl fmt::Display for ExplanationText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explanation { evaluation, walk } = self.explanation;
        let names: Vec<String> = walk.iter().map(|step| format_rule(step.rule)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
        for (step, name) in walk.iter().zip(names) {
            let mark = match step.outcome {
                StepOutcome::Won => "✓",
                StepOutcome::Failed => "✗",
                StepOutcome::Disabled => "–",
            };
            writeln!(f, "{mark} {name:width$}  {}", describe_step(step))?;
        }
        if walk.is_empty() {
            writeln!(f, "no rule is evaluated for the user's own event")?;
        } else {
            writeln!(f)?;
        }
        let decided_by = match evaluation.rule {
            Some(rule) => format!(", by {}", format_rule(rule)),
            None => String::new(),
        };
        if self.state == EnabledState::Disabled {
            write!(f, "do not notify: the account is disabled. If it were enabled: ")?;
        }
        let result = if evaluation.notifies() { "notify" } else { "do not notify" };
        writeln!(f, "{result}{decided_by}")?;
        let actions: Vec<_> = evaluation.actions().collect();
        writeln!(f, "actions  {}", to_json(&actions))?;
        writeln!(f, "tweaks   {}", to_json(&evaluation.tweaks()))
    }
}

fn format_rule(rule: RuleName<'_>) -> String {
    escape(&format!("{}/{}/{}", rule.scope, rule.kind, rule.rule_id)).into_owned()
}

fn describe_step(step: &RuleStep<'_>) -> String {
    match (step.outcome, &step.condition) {
        (StepOutcome::Won, _) => match &step.until {
            Some(until) => {
                let zone = until.time_zone().iana_name().unwrap_or("UTC");
                format!("matches until {} in {zone}", until.strftime("%A, %Y-%m-%d, %H:%M"))
            }
            None => "matches".to_owned(),
        },
        (StepOutcome::Disabled, _) => "is disabled".to_owned(),
        (StepOutcome::Failed, None) if step.reason.is_some() => {
            "is not fully evaluated: the rules take too much work for this event".to_owned()
        }
        (StepOutcome::Failed, None) => "is skipped: the event has m.mentions".to_owned(),
        (StepOutcome::Failed, Some(condition)) => {
            escape(&describe_failure(&condition.kind, step.found.as_ref())).into_owned()
        }
    }
}

/// Describes why a condition failed, with the expected value and the one that was found.
fn describe_failure(condition: &ConditionKind, actual_value: Option<&Value>) -> String {
    let describe_mismatch = |key: &str, expected: String| match actual_value {
        Some(value) => format!("{key} is {}, expected {expected}", to_json(value)),
        None => format!("there is no {key}, expected {expected}"),
    };
    match condition {
        ConditionKind::EventMatch { key, pattern } => describe_mismatch(key, to_json(pattern)),
        ConditionKind::EventPropertyIs { key, value } => describe_mismatch(key, to_json(value)),
        ConditionKind::EventPropertyContains { key, value } => {
            describe_mismatch(key, format!("{} in it", to_json(value)))
        }
        ConditionKind::ContainsDisplayName => match actual_value {
            Some(name) => format!("the text does not contain the name {}", to_json(name)),
            None => "the display name is unknown; use --display-name".to_owned(),
        },
        ConditionKind::RoomMemberCount { is } => match actual_value {
            Some(count) => format!("the room has {count} members, expected {is}"),
            None => "the number of members is unknown; use --member-count".to_owned(),
        },
        ConditionKind::SenderNotificationPermission { key } => match actual_value {
            Some(level) => format!("the sender's power level {level} is too low for {key:?}"),
            None => "the power levels are unknown; use --room".to_owned(),
        },
        ConditionKind::TimeAndDay(condition) => {
            let zone = condition.time_zone();
            let intervals = to_json(&condition.intervals());
            let time = actual_value.map(to_json).unwrap_or_default();
            format!("the time in {zone} is {time}, expected {intervals}")
        }
        ConditionKind::RelatedEventMatch(condition) => {
            let RelatedEventMatch { rel_type, property, .. } = &**condition;
            match (property, actual_value) {
                (Some(PropertyMatch { key, pattern }), Some(_)) => {
                    describe_mismatch(&format!("{key} of the {rel_type} event"), to_json(pattern))
                }
                (Some(PropertyMatch { key, .. }), None) => format!(
                    "no {rel_type} event with {key} is known, or it is a fallback; use \
                     --related-events"
                ),
                (None, _) => format!("the event has no {rel_type} relation, or only a fallback"),
            }
        }
        ConditionKind::Unknown { kind } => format!("the condition kind {kind:?} is unknown"),
    }
}

fn to_json(value: &impl Serialize) -> String {
    escape(&json!(value).to_string()).into_owned()
}

#[cfg(test)]
mod tests;
