//! The title of a rule: the messages that it matches.

use std::borrow::Cow;

use belfry_core::rules::{Rule, RuleKind, builtin};

use super::{Layout, format_name};
use crate::language::Argument;

pub(super) fn rule_title(kind: RuleKind, rule: &Rule, layout: &Layout<'_>) -> String {
    let id = &rule.rule_id;
    if rule.is_builtin() {
        return builtin_title(id, layout).into_owned();
    }
    let text_with = |key: &str, name: &str, value: &str| {
        layout.language.text_with(key, name, Argument::Trusted(&format_name(value)))
    };
    match kind {
        RuleKind::Content => {
            text_with("rules-about-word", "word", rule.pattern.as_deref().unwrap_or_default())
        }
        RuleKind::Room => text_with("rules-about-room", "room", id),
        RuleKind::Sender => text_with("rules-about-sender", "sender", id),
        RuleKind::Override | RuleKind::Underride => {
            let is_quiet_hours = rule.quiet_hours().is_some();
            let key = if is_quiet_hours { "rules-about-quiet-hours" } else { "rules-about-other" };
            layout.text(key).into_owned()
        }
    }
}

fn builtin_title(id: &str, layout: &Layout<'_>) -> Cow<'static, str> {
    if id == builtin::MASTER {
        return layout.text("notifications-pause");
    }
    let name = id.trim_start_matches(".m.rule.").replace(['.', '_'], "-");
    layout.text(&format!("rules-about-{name}"))
}
