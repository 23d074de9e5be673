//! Built-in push rules, which every user has and none can delete.
//!
//! They are shared by all users. Three of them contain placeholders for the name of the user, which
//! are replaced when the rules are read.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::{Action, Condition, ConditionKind, Extra, Rule, RuleKind, Ruleset, Scalar};

/// The rule that disables all notifications. It precedes all other rules.
pub const MASTER: &str = ".m.rule.master";

/// The rules that search the message text for mentions. They are not evaluated for events with
/// `m.mentions`, which replaced them.
pub const LEGACY_MENTIONS: [&str; 3] =
    [".m.rule.contains_display_name", ".m.rule.roomnotif", ".m.rule.contains_user_name"];

/// Placeholder for the user id. It is always a whole value.
pub const USER_ID: &str = "<user id>";

/// Placeholder for the localpart of the user id. It is always a whole value.
pub const LOCALPART: &str = "<localpart>";

/// The user whose rules are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User<'a> {
    /// The user id: `@alice:example.org`.
    pub id: &'a str,
    /// The localpart of the id: `alice`.
    pub localpart: &'a str,
}

impl<'a> User<'a> {
    /// Splits a user id `@localpart:server`.
    #[must_use]
    pub fn new(id: &'a str) -> Self {
        let name = id.strip_prefix('@').unwrap_or(id);
        Self { id, localpart: name.split_once(':').map_or(name, |(localpart, _)| localpart) }
    }

    /// Returns the value of a placeholder, or `None` if the text is not one.
    fn replace(self, text: &str) -> Option<&'a str> {
        match text {
            USER_ID => Some(self.id),
            LOCALPART => Some(self.localpart),
            _ => None,
        }
    }
}

/// The built-in rules in the order of evaluation, with placeholders that [`for_user`] replaces.
#[must_use]
pub fn all() -> &'static Ruleset {
    static ALL: LazyLock<Ruleset> = LazyLock::new(|| Ruleset::of(of_kind));
    &ALL
}

fn of_kind(kind: RuleKind) -> Vec<Rule> {
    use Action::Notify;
    let sound = || Action::tweak_to("sound", "default");
    let ring = || Action::tweak_to("sound", "ring");
    let highlight = || Action::tweak("highlight");

    match kind {
        RuleKind::Override => vec![
            Rule { enabled: false, ..rule(MASTER, [], []) },
            rule(".m.rule.suppress_notices", [matches("content.msgtype", "m.notice")], []),
            rule(
                ".m.rule.invite_for_me",
                [
                    matches("type", "m.room.member"),
                    matches("content.membership", "invite"),
                    matches("state_key", USER_ID),
                ],
                [Notify, sound()],
            ),
            rule(".m.rule.member_event", [matches("type", "m.room.member")], []),
            rule(
                ".m.rule.is_user_mention",
                [contains(r"content.m\.mentions.user_ids", USER_ID)],
                [Notify, sound(), highlight()],
            ),
            rule(
                ".m.rule.contains_display_name",
                [ConditionKind::ContainsDisplayName],
                [Notify, sound(), highlight()],
            ),
            rule(
                ".m.rule.is_room_mention",
                [is(r"content.m\.mentions.room", Scalar::Boolean(true)), may_notify_room()],
                [Notify, highlight()],
            ),
            rule(
                ".m.rule.roomnotif",
                [matches("content.body", "@room"), may_notify_room()],
                [Notify, highlight()],
            ),
            rule(
                ".m.rule.tombstone",
                [matches("type", "m.room.tombstone"), matches("state_key", "")],
                [Notify, highlight()],
            ),
            rule(".m.rule.reaction", [matches("type", "m.reaction")], []),
            rule(
                ".m.rule.room.server_acl",
                [matches("type", "m.room.server_acl"), matches("state_key", "")],
                [],
            ),
            rule(
                ".m.rule.suppress_edits",
                [is(r"content.m\.relates_to.rel_type", Scalar::String("m.replace".into()))],
                [],
            ),
        ],
        RuleKind::Content => vec![Rule {
            conditions: None,
            pattern: Some(LOCALPART.into()),
            ..rule(".m.rule.contains_user_name", [], [Notify, sound(), highlight()])
        }],
        RuleKind::Room | RuleKind::Sender => vec![],
        RuleKind::Underride => vec![
            rule(".m.rule.call", [matches("type", "m.call.invite")], [Notify, ring()]),
            rule(
                ".m.rule.encrypted_room_one_to_one",
                [two_members(), matches("type", "m.room.encrypted")],
                [Notify, sound()],
            ),
            rule(
                ".m.rule.room_one_to_one",
                [two_members(), matches("type", "m.room.message")],
                [Notify, sound()],
            ),
            rule(".m.rule.message", [matches("type", "m.room.message")], [Notify]),
            rule(".m.rule.encrypted", [matches("type", "m.room.encrypted")], [Notify]),
        ],
    }
}

/// Replaces the placeholders of a built-in rule. A rule without placeholders is borrowed.
#[must_use]
pub fn for_user<'r>(rule: &'r Rule, user: User<'_>) -> Cow<'r, Rule> {
    let mut personal = Cow::Borrowed(rule);
    if let Some(text) = rule.pattern.as_deref().and_then(|text| user.replace(text)) {
        personal.to_mut().pattern = Some(text.to_owned());
    }
    for (index, condition) in rule.conditions.iter().flatten().enumerate() {
        let kind = match &condition.kind {
            ConditionKind::EventMatch { key, pattern } => {
                user.replace(pattern).map(|text| matches(key, text))
            }
            ConditionKind::EventPropertyContains { key, value: Scalar::String(value) } => {
                user.replace(value).map(|text| contains(key, text))
            }
            _ => None,
        };
        if let Some(kind) = kind
            && let Some(conditions) = &mut personal.to_mut().conditions
        {
            conditions[index] = kind.into();
        }
    }
    personal
}

fn rule<const C: usize, const A: usize>(
    id: &str,
    conditions: [ConditionKind; C],
    actions: [Action; A],
) -> Rule {
    Rule {
        rule_id: id.to_owned(),
        enabled: true,
        actions: actions.into(),
        conditions: Some(conditions.map(Condition::from).into()),
        pattern: None,
        extra: Extra::new(),
    }
}

fn matches(key: &str, pattern: &str) -> ConditionKind {
    ConditionKind::EventMatch { key: key.to_owned(), pattern: pattern.to_owned() }
}

fn is(key: &str, value: Scalar) -> ConditionKind {
    ConditionKind::EventPropertyIs { key: key.to_owned(), value }
}

fn contains(key: &str, value: &str) -> ConditionKind {
    ConditionKind::EventPropertyContains {
        key: key.to_owned(),
        value: Scalar::String(value.to_owned()),
    }
}

fn may_notify_room() -> ConditionKind {
    ConditionKind::SenderNotificationPermission { key: "room".to_owned() }
}

fn two_members() -> ConditionKind {
    ConditionKind::RoomMemberCount { is: "2".to_owned() }
}

#[cfg(test)]
mod tests;
