//! An explanation for people: a line for each rule, and the verdict.

use std::fmt;

use belfry_core::rules::ConditionKind;
use belfry_core::rules::evaluate::{Explanation, MatchedRule, Outcome, Step};
use serde::Serialize;
use serde_json::{Value, json};

/// An explanation, to be printed.
pub(super) struct Page<'a> {
    pub(super) explanation: &'a Explanation<'a>,
    pub(super) colours: bool,
}

/// How something is to be seen.
#[derive(Clone, Copy)]
enum Look {
    Won,
    Failed,
    Faint,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explanation { verdict, walk } = self.explanation;
        let names: Vec<String> = walk.iter().map(|step| name(step.rule)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
        for (step, name) in walk.iter().zip(names) {
            let (mark, look) = match step.outcome {
                Outcome::Won => ("✓", Look::Won),
                Outcome::Failed => ("✗", Look::Failed),
                Outcome::Disabled => ("–", Look::Faint),
            };
            let name = format!("{name:width$}");
            let name = if let Look::Failed = look { name } else { self.seen(look, &name) };
            let why = self.seen(if let Look::Won = look { look } else { Look::Faint }, &why(step));
            writeln!(f, "{} {name}  {why}", self.seen(look, mark))?;
        }
        if walk.is_empty() {
            writeln!(f, "no rule is asked about what its own user sent")?;
        } else {
            writeln!(f)?;
        }
        let decided = match verdict.rule {
            Some(rule) => format!(", by {}", name(rule)),
            None => String::new(),
        };
        let (look, said) =
            if verdict.notify() { (Look::Won, "notify") } else { (Look::Failed, "do not notify") };
        writeln!(f, "{}{decided}", self.seen(look, said))?;
        let actions: Vec<_> = verdict.actions().collect();
        writeln!(f, "actions  {}", shown(&actions))?;
        writeln!(f, "tweaks   {}", shown(&verdict.tweaks()))
    }
}

impl Page<'_> {
    fn seen(&self, look: Look, text: &str) -> String {
        let colour = match look {
            Look::Won => "1;32",
            Look::Failed => "31",
            Look::Faint => "2",
        };
        if self.colours { format!("\u{1b}[{colour}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn name(rule: MatchedRule<'_>) -> String {
    plain(&format!("{}/{}/{}", rule.scope, rule.kind, rule.rule_id))
}

fn why(step: &Step<'_>) -> String {
    match (step.outcome, &step.condition) {
        (Outcome::Won, _) => "matches".to_owned(),
        (Outcome::Disabled, _) => "is disabled".to_owned(),
        (Outcome::Failed, None) => "gives way: the event says itself whom it mentions".to_owned(),
        (Outcome::Failed, Some(condition)) => plain(&failed(&condition.kind, step.found.as_ref())),
    }
}

/// What a condition wanted, and what it found.
fn failed(test: &ConditionKind, found: Option<&Value>) -> String {
    let is = |key: &str, wanted: String| match found {
        Some(found) => format!("{key} is {}, {wanted}", shown(found)),
        None => format!("there is no {key}, {wanted}"),
    };
    match test {
        ConditionKind::EventMatch { key, pattern } => is(key, format!("wanted {}", shown(pattern))),
        ConditionKind::EventPropertyIs { key, value } => {
            is(key, format!("wanted {}", shown(value)))
        }
        ConditionKind::EventPropertyContains { key, value } => {
            is(key, format!("wanted {} in it", shown(value)))
        }
        ConditionKind::ContainsDisplayName => match found {
            Some(name) => format!("the text does not have the name {} in it", shown(name)),
            None => "no display name is known; say --display-name".to_owned(),
        },
        ConditionKind::RoomMemberCount { is } => match found {
            Some(count) => format!("the room has {count} members, wanted {is}"),
            None => "the size of the room is not known; say --member-count".to_owned(),
        },
        ConditionKind::SenderNotificationPermission { key } => match found {
            Some(level) => format!("the sender's power level {level} is too low for {key:?}"),
            None => "power levels are not known; say --room".to_owned(),
        },
        ConditionKind::Unknown { kind } => format!("the condition {kind:?} is not known here"),
    }
}

fn shown(value: &impl Serialize) -> String {
    plain(&json!(value).to_string())
}

/// Ids and messages come from strangers, and a terminal obeys some characters.
fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_unicode().to_string() } else { c.into() };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests;
