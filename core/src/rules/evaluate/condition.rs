//! Compiled conditions.

use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Member, Room};
use crate::rules::condition::MemberCountRange;
use crate::rules::event::{BODY_PATH, Event, PropertyPath, excerpt};
use crate::rules::pattern::{GlobPattern, lower};
use crate::rules::time_and_day::Schedule;
use crate::rules::work::UserWorkBudget;
use crate::rules::{Condition, ConditionKind, Rule, RuleKind, Scalar, User, builtin};

/// The inputs for testing a condition, and the work budget.
#[derive(Clone, Copy)]
pub(crate) struct ConditionContext<'a> {
    pub(crate) event: &'a Event,
    pub(crate) room: &'a Room,
    pub(crate) user: &'a UserNames,
    pub(crate) member: Member<'a>,
    pub(crate) now: Timestamp,
    pub(crate) work: &'a UserWorkBudget,
}

/// Number of work steps for converting a time to a time zone.
const LOCAL_TIME_STEPS: usize = 16;

/// A user's id and localpart, which built-in rules look for.
#[derive(Debug, Clone)]
pub(crate) struct UserNames {
    pub(crate) id: Box<str>,
    id_pattern: GlobPattern,
    localpart_pattern: GlobPattern,
}

/// Placeholder in a context whose conditions do not test the user's id or localpart.
pub(crate) static NO_USER: LazyLock<UserNames> = LazyLock::new(|| UserNames::new(User::new("")));

impl UserNames {
    pub(crate) fn new(user: User<'_>) -> Self {
        Self {
            id: user.id.into(),
            id_pattern: GlobPattern::new(user.id),
            localpart_pattern: GlobPattern::new(user.localpart),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum CompiledCondition {
    /// A string property of the event matches a pattern as a whole.
    WholeValue {
        path: PropertyPath,
        pattern: TextPattern,
    },
    /// The message text matches a pattern at word boundaries.
    BodyWord(TextPattern),
    DisplayName,
    MemberCount(MemberCountRange),
    /// The sender's power level is high enough for this notification key.
    SenderPermission(Box<str>),
    PropertyIs {
        path: PropertyPath,
        value: Scalar,
    },
    PropertyContains {
        path: PropertyPath,
        value: Scalar,
    },
    PropertyContainsUserId {
        path: PropertyPath,
    },
    /// The local time is in one of the schedule's intervals.
    Time(Schedule),
    /// The event has a relation of this type, and the related event meets the condition, if any.
    Related {
        rel_type: Box<str>,
        include_fallbacks: bool,
        condition: Option<Box<Self>>,
    },
    /// A condition that is never met, such as one of an unknown kind.
    Never,
}

/// The pattern of an `event_match` condition. Built-in rules are compiled once for all users, so
/// their patterns can refer to the user's id or localpart.
#[derive(Debug, Clone)]
pub(crate) enum TextPattern {
    Fixed(GlobPattern),
    UserId,
    Localpart,
}

impl TextPattern {
    fn resolve<'a>(&'a self, user: &'a UserNames) -> &'a GlobPattern {
        match self {
            Self::Fixed(pattern) => pattern,
            Self::UserId => &user.id_pattern,
            Self::Localpart => &user.localpart_pattern,
        }
    }
}

/// Returns the conditions that are evaluated for a rule. Room, sender and content rules have one
/// condition, which their kind implies; their `conditions` are ignored.
pub(crate) fn effective_conditions(kind: RuleKind, rule: &Rule) -> Vec<Condition> {
    let event_match = |key: &str, pattern: &str| {
        vec![ConditionKind::EventMatch { key: key.to_owned(), pattern: pattern.to_owned() }.into()]
    };
    match kind {
        RuleKind::Override | RuleKind::Underride => rule.conditions.clone().unwrap_or_default(),
        RuleKind::Room => event_match("room_id", &rule.rule_id),
        RuleKind::Sender => event_match("sender", &rule.rule_id),
        RuleKind::Content => match &rule.pattern {
            Some(pattern) => event_match("content.body", pattern),
            // The API does not accept a content rule without a pattern. A stored one never matches.
            None => vec![ConditionKind::Unknown { kind: "content".to_owned() }.into()],
        },
    }
}

impl CompiledCondition {
    pub(crate) fn new(condition: &ConditionKind) -> Self {
        match condition {
            ConditionKind::EventMatch { key, pattern } => {
                Self::event_match(key, TextPattern::Fixed(GlobPattern::new(pattern)))
            }
            ConditionKind::ContainsDisplayName => Self::DisplayName,
            ConditionKind::RoomMemberCount { is } => {
                MemberCountRange::parse(is).map_or(Self::Never, Self::MemberCount)
            }
            ConditionKind::SenderNotificationPermission { key } => {
                Self::SenderPermission(key.as_str().into())
            }
            ConditionKind::EventPropertyIs { key, value } => {
                Self::PropertyIs { path: PropertyPath::parse(key), value: value.clone() }
            }
            ConditionKind::EventPropertyContains { key, value } => {
                Self::PropertyContains { path: PropertyPath::parse(key), value: value.clone() }
            }
            ConditionKind::TimeAndDay(condition) => {
                Schedule::new(condition).map_or(Self::Never, Self::Time)
            }
            ConditionKind::RelatedEventMatch(condition) => {
                let property = condition.property.as_ref().map(|property| {
                    let pattern = TextPattern::Fixed(GlobPattern::new(&property.pattern));
                    Box::new(Self::event_match(&property.key, pattern))
                });
                Self::Related {
                    rel_type: condition.rel_type.as_str().into(),
                    include_fallbacks: condition.include_fallbacks.unwrap_or_default(),
                    condition: property,
                }
            }
            ConditionKind::Unknown { .. } => Self::Never,
        }
    }

    /// Compiles a condition of a built-in rule, which may contain a placeholder for the user.
    pub(crate) fn for_builtin(condition: &ConditionKind) -> Self {
        match condition {
            ConditionKind::EventMatch { key, pattern }
                if pattern == builtin::USER_ID_PLACEHOLDER =>
            {
                Self::event_match(key, TextPattern::UserId)
            }
            ConditionKind::EventMatch { key, pattern }
                if pattern == builtin::LOCALPART_PLACEHOLDER =>
            {
                Self::event_match(key, TextPattern::Localpart)
            }
            ConditionKind::EventPropertyContains { key, value: Scalar::String(value) }
                if value == builtin::USER_ID_PLACEHOLDER =>
            {
                Self::PropertyContainsUserId { path: PropertyPath::parse(key) }
            }
            _ => Self::new(condition),
        }
    }

    /// Compiles an `event_match` condition. In the message text the pattern matches words, in any
    /// other property the whole value.
    fn event_match(key: &str, pattern: TextPattern) -> Self {
        let path = PropertyPath::parse(key);
        if path == *BODY_PATH {
            Self::BodyWord(pattern)
        } else {
            Self::WholeValue { path, pattern }
        }
    }

    /// Returns whether the condition is met; false if too little of the work budget is left to test
    /// it.
    pub(crate) fn is_met(&self, context: &ConditionContext<'_>) -> bool {
        let ConditionContext { event, room, user, member, now, work } = context;
        if work.spend(self.base_steps(event)).is_none() {
            return false;
        }
        match self {
            Self::WholeValue { path, pattern } => event
                .get(path)
                .and_then(Value::as_str)
                .is_some_and(|text| pattern.resolve(user).matches_whole(&lower(text), work)),
            Self::BodyWord(pattern) => {
                event.body().is_some_and(|body| pattern.resolve(user).matches_word(body, work))
            }
            Self::DisplayName => match (member.display_name, event.body()) {
                (Some(name), Some(body)) => {
                    !name.is_empty() && body.contains_word(&lower(name), work)
                }
                _ => false,
            },
            Self::MemberCount(range) => {
                room.member_count.is_some_and(|members| range.includes(members))
            }
            Self::SenderPermission(key) => {
                event.sender().is_some_and(|sender| room.allows_notification(sender, key))
            }
            Self::PropertyIs { path, value } => {
                event.get(path).is_some_and(|actual| value == actual)
            }
            Self::PropertyContains { path, value } => {
                event.items(path).iter().any(|item| value == item)
            }
            Self::PropertyContainsUserId { path } => {
                event.items(path).iter().any(|item| item.as_str() == Some(&user.id))
            }
            Self::Time(schedule) => schedule.includes(*now),
            Self::Related { rel_type, include_fallbacks, condition } => {
                event.has_relation(rel_type, *include_fallbacks)
                    && condition.as_ref().is_none_or(|condition| {
                        event.related_event(rel_type).is_some_and(|event| {
                            condition.is_met(&ConditionContext { event, ..*context })
                        })
                    })
            }
            Self::Never => false,
        }
    }

    /// Returns the number of steps that testing the condition takes, without matching its pattern.
    fn base_steps(&self, event: &Event) -> usize {
        1 + match self {
            // The value is converted to lower case.
            Self::WholeValue { path, .. } => match event.get(path).and_then(Value::as_str) {
                Some(text) if text.is_ascii() => text.len() / 16,
                text => text.map_or(0, str::len),
            },
            Self::PropertyContains { path, .. } => event.items(path).len(),
            Self::Time(schedule) => LOCAL_TIME_STEPS + schedule.len(),
            _ => 0,
        }
    }

    /// Returns the allocated size in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let pattern_bytes = |pattern: &TextPattern| match pattern {
            TextPattern::Fixed(pattern) => pattern.heap_bytes(),
            TextPattern::UserId | TextPattern::Localpart => 0,
        };
        match self {
            Self::WholeValue { path, pattern } => path.heap_bytes() + pattern_bytes(pattern),
            Self::BodyWord(pattern) => pattern_bytes(pattern),
            Self::SenderPermission(key) => key.len(),
            Self::PropertyIs { path, value } | Self::PropertyContains { path, value } => {
                let value_bytes = if let Scalar::String(text) = value { text.len() } else { 0 };
                path.heap_bytes() + value_bytes
            }
            Self::PropertyContainsUserId { path } => path.heap_bytes(),
            Self::Time(schedule) => schedule.heap_bytes(),
            Self::Related { rel_type, condition, .. } => {
                let condition = condition.as_deref();
                let bytes = |condition: &Self| size_of_val(condition) + condition.heap_bytes();
                rel_type.len() + condition.map_or(0, bytes)
            }
            Self::DisplayName | Self::MemberCount(_) | Self::Never => 0,
        }
    }

    /// Returns whether the result depends on the user's id, localpart or display name.
    pub(crate) fn depends_on_user(&self) -> bool {
        match self {
            Self::WholeValue { pattern, .. } | Self::BodyWord(pattern) => {
                !matches!(pattern, TextPattern::Fixed(_))
            }
            Self::DisplayName | Self::PropertyContainsUserId { .. } => true,
            Self::MemberCount(_)
            | Self::SenderPermission(_)
            | Self::PropertyIs { .. }
            | Self::PropertyContains { .. }
            | Self::Time(_)
            | Self::Related { .. }
            | Self::Never => false,
        }
    }

    /// Returns the value that the condition tests, if there is one. The value is truncated,
    /// because a thousand rules may test the same long message.
    pub(crate) fn tested_value(&self, context: &ConditionContext<'_>) -> Option<Value> {
        let ConditionContext { event, room, member, now, .. } = context;
        let path = match self {
            Self::WholeValue { path, .. }
            | Self::PropertyIs { path, .. }
            | Self::PropertyContains { path, .. }
            | Self::PropertyContainsUserId { path } => path,
            Self::BodyWord(_) => &BODY_PATH,
            Self::DisplayName => return member.display_name.map(|name| excerpt(&name.into())),
            Self::MemberCount(_) => return room.member_count.map(Value::from),
            Self::SenderPermission(_) => {
                let levels = room.power_levels.as_ref()?;
                return Some(levels.user_level(event.sender()?).0.into());
            }
            Self::Time(schedule) => return Some(json!(schedule.local_time(*now))),
            Self::Related { rel_type, include_fallbacks, condition } => {
                if !event.has_relation(rel_type, *include_fallbacks) {
                    return None;
                }
                let event = event.related_event(rel_type)?;
                return condition.as_ref()?.tested_value(&ConditionContext { event, ..*context });
            }
            Self::Never => return None,
        };
        event.excerpt(path)
    }
}
