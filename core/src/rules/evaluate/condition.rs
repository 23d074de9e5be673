//! A condition, compiled: what is asked of an event, its room and the user.

use serde_json::Value;

use super::{Member, Room};
use crate::rules::event::{BODY, Event, Property};
use crate::rules::member_count::MemberCount;
use crate::rules::pattern::{GlobPattern, lower};
use crate::rules::property_path::PropertyPath;
use crate::rules::{Condition, ConditionKind, Rule, RuleKind, Scalar, User, builtin};

/// What a check can ask about.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) event: &'a Event,
    pub(crate) room: &'a Room,
    pub(crate) user: &'a Names,
    pub(crate) member: Member<'a>,
}

/// The names of a user that stand in built-in rules.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) id: Box<str>,
    id_pattern: GlobPattern,
    localpart: GlobPattern,
}

impl Names {
    pub(crate) fn new(user: User<'_>) -> Self {
        Self {
            id: user.id.into(),
            id_pattern: GlobPattern::new(user.id),
            localpart: GlobPattern::new(user.localpart),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Check {
    /// A string of the event matches as a whole.
    Whole { key: PropertyPath, pattern: Glob },
    /// The text of the message matches in a word.
    Word(Glob),
    /// The text of the message has the user's display name in it.
    DisplayName,
    /// The room has so many members.
    Members(MemberCount),
    /// The sender has the power to notify.
    Permission(Box<str>),
    /// A property is this.
    Is { key: PropertyPath, value: Scalar },
    /// A list has this in it.
    Contains { key: PropertyPath, value: Scalar },
    /// A list has the user's id in it.
    ContainsUser { key: PropertyPath },
    /// What is not known never holds.
    Never,
}

/// What a string is matched with. Built-in rules are shared by all users, and say only which of a
/// user's names they mean.
#[derive(Debug, Clone)]
pub(crate) enum Glob {
    This(GlobPattern),
    UserId,
    Localpart,
}

impl Glob {
    fn of<'a>(&'a self, user: &'a Names) -> &'a GlobPattern {
        match self {
            Self::This(pattern) => pattern,
            Self::UserId => &user.id_pattern,
            Self::Localpart => &user.localpart,
        }
    }
}

/// The conditions of a rule, those included that its kind implies. What a room, sender or content
/// rule has in `conditions` does not count.
pub(crate) fn conditions(kind: RuleKind, rule: &Rule) -> Vec<Condition> {
    let matches = |key: &str, pattern: &str| {
        vec![ConditionKind::EventMatch { key: key.to_owned(), pattern: pattern.to_owned() }.into()]
    };
    match kind {
        RuleKind::Override | RuleKind::Underride => rule.conditions.clone().unwrap_or_default(),
        RuleKind::Room => matches("room_id", &rule.rule_id),
        RuleKind::Sender => matches("sender", &rule.rule_id),
        RuleKind::Content => match &rule.pattern {
            Some(pattern) => matches("content.body", pattern),
            // No content rule is without one; if it were it should be silent.
            None => vec![ConditionKind::Unknown { kind: "content".to_owned() }.into()],
        },
    }
}

impl Check {
    /// Compiles a condition of a user's rule.
    pub(crate) fn new(test: &ConditionKind) -> Self {
        match test {
            ConditionKind::EventMatch { key, pattern } => {
                Self::matching(PropertyPath::new(key), Glob::This(GlobPattern::new(pattern)))
            }
            ConditionKind::ContainsDisplayName => Self::DisplayName,
            ConditionKind::RoomMemberCount { is } => is.parse().map_or(Self::Never, Self::Members),
            ConditionKind::SenderNotificationPermission { key } => {
                Self::Permission(key.as_str().into())
            }
            ConditionKind::EventPropertyIs { key, value } => {
                Self::Is { key: PropertyPath::new(key), value: value.clone() }
            }
            ConditionKind::EventPropertyContains { key, value } => {
                Self::Contains { key: PropertyPath::new(key), value: value.clone() }
            }
            ConditionKind::Unknown { .. } => Self::Never,
        }
    }

    /// Compiles a condition of a built-in rule, in which a placeholder may stand for the user.
    pub(crate) fn shared(test: &ConditionKind) -> Self {
        match test {
            ConditionKind::EventMatch { key, pattern } if pattern == builtin::USER_ID => {
                Self::matching(PropertyPath::new(key), Glob::UserId)
            }
            ConditionKind::EventMatch { key, pattern } if pattern == builtin::LOCALPART => {
                Self::matching(PropertyPath::new(key), Glob::Localpart)
            }
            ConditionKind::EventPropertyContains { key, value: Scalar::String(value) }
                if value == builtin::USER_ID =>
            {
                Self::ContainsUser { key: PropertyPath::new(key) }
            }
            _ => Self::new(test),
        }
    }

    /// The text of a message is searched for words, everything else is matched as a whole.
    fn matching(key: PropertyPath, pattern: Glob) -> Self {
        if key == *BODY { Self::Word(pattern) } else { Self::Whole { key, pattern } }
    }

    pub(crate) fn holds(&self, facts: &Facts<'_>) -> bool {
        let Facts { event, room, user, member } = facts;
        match self {
            Self::Whole { key, pattern } => event
                .get(key)
                .and_then(Property::lowered)
                .is_some_and(|text| pattern.of(user).is_whole(text)),
            Self::Word(pattern) => {
                event.body().is_some_and(|body| pattern.of(user).is_word_of(body))
            }
            Self::DisplayName => match (member.display_name, event.body()) {
                (Some(name), Some(body)) => !name.is_empty() && body.has(&lower(name)),
                _ => false,
            },
            Self::Members(count) => room.member_count.is_some_and(|members| count.holds(members)),
            Self::Permission(key) => {
                event.sender().is_some_and(|sender| room.may_notify(sender, key))
            }
            Self::Is { key, value } => event.get(key).is_some_and(|property| property.is(value)),
            Self::Contains { key, value } => event.list(key).contains(value),
            Self::ContainsUser { key } => event
                .list(key)
                .iter()
                .any(|item| matches!(item, Scalar::String(item) if **item == *user.id)),
            Self::Never => false,
        }
    }

    /// Whether it depends on who is asked.
    pub(crate) fn is_personal(&self) -> bool {
        match self {
            Self::Whole { pattern, .. } | Self::Word(pattern) => !matches!(pattern, Glob::This(_)),
            Self::DisplayName | Self::ContainsUser { .. } => true,
            Self::Members(_)
            | Self::Permission(_)
            | Self::Is { .. }
            | Self::Contains { .. }
            | Self::Never => false,
        }
    }

    /// What the check looks at, if it is there.
    pub(crate) fn found(&self, facts: &Facts<'_>) -> Option<Value> {
        let Facts { event, room, member, .. } = facts;
        let key = match self {
            Self::Whole { key, .. }
            | Self::Is { key, .. }
            | Self::Contains { key, .. }
            | Self::ContainsUser { key } => key,
            Self::Word(_) => &BODY,
            Self::DisplayName => return member.display_name.map(Value::from),
            Self::Members(_) => return room.member_count.map(Value::from),
            Self::Permission(_) => {
                let levels = room.power_levels.as_ref()?;
                return Some(levels.of(event.sender()?).0.into());
            }
            Self::Never => return None,
        };
        event.get(key).map(Property::to_json)
    }
}
