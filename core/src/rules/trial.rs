//! Trial of one user's rules with a sample message, for the account pages.

use jiff::{Timestamp, Zoned};
use serde_json::json;

use super::evaluate::{Member, PowerLevel, PowerLevels, Room, RuleName};
use super::event::Event;
use super::explain::{EffectiveRules, FailureReason, RuleStep};
use super::preferences::Switch;
use super::{ConditionKind, Effect, ProfileTag, Rule, RuleExpiry, RuleKind, RuleRef, builtin};

/// A message to try the rules with. Empty fields are unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrialMessage {
    /// The message text.
    pub text: String,
    /// The sender's user id.
    pub sender: String,
    /// True if the sender may mention the whole room.
    pub may_notify_room: bool,
    /// The room id.
    pub room: String,
    /// The room's member count.
    pub member_count: Option<u64>,
    /// The user's display name in the room.
    pub display_name: String,
    /// The profile tag of the device to notify.
    pub profile_tag: Option<ProfileTag>,
}

/// The result of a trial: the effect on the user, and the reason for it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialResult {
    /// The effect of the rule that matches; silence if no rule matches.
    pub effect: Effect,
    /// The setting or rule that causes the effect.
    pub reason: TrialReason,
    /// Time at which the rule that matches expires.
    pub until: Option<RuleExpiry>,
    /// The time at which the rule that matches stops matching, if it has a time condition and does
    /// not expire.
    pub matches_until: Option<Timestamp>,
    /// The result of every rule that was evaluated.
    pub trace: Vec<RuleStep<RuleRef>>,
}

/// The reason a user would or would not be notified, in terms of the user's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialReason {
    /// The user sent the message.
    OwnMessage,
    /// No rule matches.
    NoRule,
    /// The rule that disables all notifications is enabled.
    Paused,
    /// A user rule does not notify at the time of the trial.
    QuietHours,
    /// The user turned off the switch of the built-in rule that would notify.
    SwitchedOff(Switch),
    /// A user rule for words in the text notifies. Contains the pattern.
    Keyword(String),
    /// A user rule for words in the text does not notify. Contains the pattern.
    MutedWord(String),
    /// A user rule for the room does not notify.
    MutedRoom,
    /// A user rule for the room notifies.
    Room,
    /// A user rule for the sender does not notify. Contains the sender.
    MutedSender(String),
    /// A user rule for the sender notifies. Contains the sender.
    Sender(String),
    /// Any other user rule matches. Contains its id.
    Rule(String),
    /// The text contains the user's display name.
    DisplayName,
    /// The text contains the localpart of the user id.
    UserName,
    /// The room has two members.
    OneToOne,
    /// The built-in rule for all other messages matches.
    AnyMessage,
    /// Any other built-in rule matches. Contains its id.
    Builtin(String),
}

impl TrialMessage {
    fn to_event(&self) -> Event {
        let mut event = json!({
            "type": "m.room.message",
            "content": { "msgtype": "m.text", "body": self.text },
        });
        for (key, value) in [("sender", &self.sender), ("room_id", &self.room)] {
            if !value.is_empty() {
                event[key] = value.as_str().into();
            }
        }
        Event::from_value(event).expect("it is an object")
    }
}

impl EffectiveRules<'_> {
    /// Evaluates the rules against a message at the time `now`, with the same work budget as for a
    /// real event.
    pub fn run_trial(&self, message: &TrialMessage, now: Timestamp) -> TrialResult {
        // The sender is an admin of the room or an ordinary member.
        let level = PowerLevel(if message.may_notify_room { 100 } else { 0 });
        let levels = PowerLevels { users_default: level, ..PowerLevels::default() };
        let room = Room {
            member_count: message.member_count,
            power_levels: Some(levels),
            ..Room::default()
        };
        let member = Member {
            display_name: Some(&*message.display_name).filter(|name| !name.is_empty()),
            profile_tag: message.profile_tag.as_ref().map(ProfileTag::as_str),
        };
        let event = message.to_event();
        let explanation = self.explain(&event, &room, member, now);
        let matching_rule =
            explanation.evaluation.rule.and_then(|name| Some((name, self.find_rule(name)?)));
        let effect =
            matching_rule.map_or(Effect::Silent, |(_, rule)| Effect::from_actions(&rule.actions));
        let reason = match matching_rule {
            Some((name, rule)) => TrialReason::from_match(name, rule, effect),
            None if explanation.walk.is_empty() => TrialReason::OwnMessage,
            None => {
                let disabled_rule = self.find_disabled_builtin(&event, &room, member, now);
                let switch =
                    disabled_rule.and_then(|name| Switch::from_rule(name.kind, name.rule_id));
                switch.map_or(TrialReason::NoRule, TrialReason::SwitchedOff)
            }
        };
        let until = matching_rule.and_then(|(_, rule)| rule.until);
        let last_step = explanation.walk.last();
        TrialResult {
            matches_until: last_step
                .and_then(|step| step.until.as_ref())
                .filter(|_| until.is_none())
                .map(Zoned::timestamp),
            effect,
            reason,
            until,
            trace: explanation.walk.into_iter().map(RuleStep::into_owned).collect(),
        }
    }
}

impl TrialResult {
    /// Returns whether the message mentions the whole room, but the sender may not.
    pub fn lacks_room_permission(&self) -> bool {
        self.trace.iter().any(|step| {
            let is_room_mention =
                Switch::from_rule(step.rule.kind, &step.rule.id) == Some(Switch::RoomMention);
            let unmet_condition = step.condition.as_ref().map(|condition| &condition.kind);
            is_room_mention
                && matches!(
                    unmet_condition,
                    Some(ConditionKind::SenderNotificationPermission { .. })
                )
        })
    }

    /// Returns whether rules failed because they take too much work.
    pub fn exceeds_work_budget(&self) -> bool {
        self.trace.iter().any(|step| step.reason == Some(FailureReason::WorkBudget))
    }
}

impl TrialReason {
    fn from_match(name: RuleName<'_>, rule: &Rule, effect: Effect) -> Self {
        let id = name.rule_id;
        let is_silent = effect == Effect::Silent;
        if rule.is_builtin() {
            return Self::from_builtin(name.kind, id, is_silent);
        }
        let pattern = || rule.pattern.clone().unwrap_or_default();
        match name.kind {
            // Some clients mute a room with an override rule.
            RuleKind::Override if is_about_room(rule) && is_silent => Self::MutedRoom,
            RuleKind::Override if is_about_room(rule) => Self::Room,
            RuleKind::Override | RuleKind::Underride if rule.quiet_hours().is_some() => {
                Self::QuietHours
            }
            RuleKind::Content if is_silent => Self::MutedWord(pattern()),
            RuleKind::Content => Self::Keyword(pattern()),
            RuleKind::Room if is_silent => Self::MutedRoom,
            RuleKind::Room => Self::Room,
            RuleKind::Sender if is_silent => Self::MutedSender(id.to_owned()),
            RuleKind::Sender => Self::Sender(id.to_owned()),
            RuleKind::Override | RuleKind::Underride => Self::Rule(id.to_owned()),
        }
    }

    fn from_builtin(kind: RuleKind, id: &str, is_silent: bool) -> Self {
        if let Some(switch) = Switch::from_rule(kind, id).filter(|_| is_silent) {
            return Self::SwitchedOff(switch);
        }
        match id {
            builtin::MASTER if is_silent => Self::Paused,
            ".m.rule.contains_display_name" => Self::DisplayName,
            ".m.rule.contains_user_name" => Self::UserName,
            ".m.rule.room_one_to_one" => Self::OneToOne,
            ".m.rule.message" => Self::AnyMessage,
            _ => Self::Builtin(id.to_owned()),
        }
    }
}

/// Returns whether the only condition of a rule is the room.
fn is_about_room(rule: &Rule) -> bool {
    match rule.conditions.as_deref() {
        Some([condition]) => {
            matches!(&condition.kind, ConditionKind::EventMatch { key, .. } if key == "room_id")
        }
        _ => false,
    }
}

impl RuleStep<RuleName<'_>> {
    fn into_owned(self) -> RuleStep<RuleRef> {
        let Self { rule, outcome, condition, reason, found, until } = self;
        RuleStep { rule: rule.to_ref(), outcome, condition, reason, found, until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::explain::StepOutcome;
    use crate::rules::{EnabledChange, NewRule, NewRuleLimits, RuleDocument, RulePosition};

    /// The time of all trials: a Thursday, 00:00 UTC.
    const TRIAL_TIME: Timestamp = Timestamp::UNIX_EPOCH;

    /// Returns a message from Bob in a room with three members.
    fn message(text: &str) -> TrialMessage {
        TrialMessage {
            text: text.to_owned(),
            sender: "@bob:x".to_owned(),
            may_notify_room: false,
            room: "!r:x".to_owned(),
            member_count: Some(3),
            display_name: "Alice B.".to_owned(),
            profile_tag: None,
        }
    }

    /// Returns a document with the given rules: kind, id and JSON body. For a built-in rule the
    /// body is `on`, `off`, or `[]` to remove its actions.
    fn document_with_rules(scope: &str, rules: &[(RuleKind, &str, &str)]) -> RuleDocument {
        let mut document = RuleDocument::new(scope.parse().unwrap());
        for (kind, id, json) in rules {
            if id.starts_with('.') {
                match *json {
                    "on" | "off" => document.set_enabled(*kind, id, *json == "on").unwrap(),
                    _ => document
                        .set_actions(*kind, id, Vec::new(), NewRuleLimits::default())
                        .unwrap(),
                }
                continue;
            }
            let limits = NewRuleLimits { conditions: usize::MAX, ..NewRuleLimits::default() };
            let new_rule =
                NewRule::parse(*kind, json.as_bytes(), limits, Timestamp::UNIX_EPOCH).unwrap();
            document.put(*kind, id.parse().unwrap(), new_rule, RulePosition::default()).unwrap();
        }
        document
    }

    fn run_trial(documents: &[RuleDocument], message: &TrialMessage) -> TrialResult {
        EffectiveRules::new("@alice:x", documents).run_trial(message, TRIAL_TIME)
    }

    #[test]
    fn the_reason_is_the_setting_that_decides() {
        use RuleKind::{Content, Override, Room, Sender, Underride};
        use TrialReason as Reason;
        let notify = |sound, highlight| Effect::Notify { sound, highlight };
        let sound_rule = r#"{"actions":["notify",{"set_tweak":"sound"}],"pattern":"cake"}"#;
        let silent_rule = r#"{"actions":[],"pattern":"cake"}"#;
        let notify_rule = r#"{"actions":["notify"]}"#;
        let room_mute = r#"{"actions":[],"conditions":[
            {"kind":"event_match","key":"room_id","pattern":"!r:x"}]}"#;
        let cake = "There is cake";
        let owned = |text: &str| text.to_owned();
        let switched_off = Reason::SwitchedOff;
        for (rules, text, reason, effect) in [
            (&[][..], "Hello", Reason::AnyMessage, notify(false, false)),
            (&[], "Hello Alice B.!", Reason::DisplayName, notify(true, true)),
            (&[], "Hello alice", Reason::UserName, notify(true, true)),
            (
                &[(Content, "c", sound_rule)],
                cake,
                Reason::Keyword(owned("cake")),
                notify(true, false),
            ),
            (
                &[(Content, "c", silent_rule)],
                cake,
                Reason::MutedWord(owned("cake")),
                Effect::Silent,
            ),
            (&[(Content, "c", sound_rule)], "Pie", Reason::AnyMessage, notify(false, false)),
            (&[(Room, "!r:x", silent_rule)], "Hello", Reason::MutedRoom, Effect::Silent),
            (&[(Room, "!r:x", notify_rule)], "Hello", Reason::Room, notify(false, false)),
            (&[(Override, "!r:x", room_mute)], "Hello", Reason::MutedRoom, Effect::Silent),
            (&[(Room, "!s:x", silent_rule)], "Hello", Reason::AnyMessage, notify(false, false)),
            (
                &[(Sender, "@bob:x", silent_rule)],
                "Hello",
                Reason::MutedSender(owned("@bob:x")),
                Effect::Silent,
            ),
            (
                &[(Sender, "@bob:x", notify_rule)],
                "Hi",
                Reason::Sender(owned("@bob:x")),
                notify(false, false),
            ),
            (
                &[(Override, "mine", notify_rule)],
                "Hi",
                Reason::Rule(owned("mine")),
                notify(false, false),
            ),
            (
                &[(Underride, "rest", silent_rule)],
                "Hi",
                Reason::Rule(owned("rest")),
                Effect::Silent,
            ),
            (&[(Override, ".m.rule.master", "on")], "Hi", Reason::Paused, Effect::Silent),
            // Clients turn a built-in rule off by disabling it or by removing its actions.
            (
                &[(Underride, ".m.rule.message", "off")],
                "Hi",
                switched_off(Switch::Group),
                Effect::Silent,
            ),
            (
                &[(Underride, ".m.rule.message", "[]")],
                "Hi",
                switched_off(Switch::Group),
                Effect::Silent,
            ),
            // The first disabled rule that would notify is named, if no other rule notifies.
            (
                &[(Content, ".m.rule.contains_user_name", "off")],
                "Hello alice",
                Reason::AnyMessage,
                notify(false, false),
            ),
            (
                &[
                    (Content, ".m.rule.contains_user_name", "off"),
                    (Underride, ".m.rule.message", "off"),
                ],
                "Hello alice",
                switched_off(Switch::UserName),
                Effect::Silent,
            ),
            // A disabled rule that would not notify is not the reason.
            (
                &[
                    (Override, ".m.rule.contains_display_name", "[]"),
                    (Override, ".m.rule.contains_display_name", "off"),
                    (Content, ".m.rule.contains_user_name", "off"),
                    (Underride, ".m.rule.message", "off"),
                ],
                "Alice B.",
                switched_off(Switch::UserName),
                Effect::Silent,
            ),
        ] {
            let result = run_trial(&[document_with_rules("global", rules)], &message(text));
            assert_eq!((result.reason, result.effect), (reason, effect), "{rules:?} {text}");
        }
    }

    #[test]
    fn the_reason_depends_on_the_room_the_sender_and_the_device() {
        let notify_rule = r#"{"actions":["notify"]}"#;
        let documents = [
            document_with_rules("global", &[]),
            document_with_rules("device/phone", &[(RuleKind::Override, "work", notify_rule)]),
        ];
        let one_to_one_message = TrialMessage { member_count: Some(2), ..message("Hi") };
        let own_message = TrialMessage { sender: "@alice:x".to_owned(), ..message("Hi") };
        let phone_message =
            TrialMessage { profile_tag: Some("phone".parse().unwrap()), ..message("Hi") };
        let desk_message =
            TrialMessage { profile_tag: Some("desk".parse().unwrap()), ..message("Hi") };
        let empty_message = TrialMessage::default();
        for (message, reason) in [
            (one_to_one_message, TrialReason::OneToOne),
            (own_message, TrialReason::OwnMessage),
            (phone_message, TrialReason::Rule("work".to_owned())),
            (desk_message, TrialReason::AnyMessage),
            (empty_message, TrialReason::AnyMessage),
        ] {
            assert_eq!(run_trial(&documents, &message).reason, reason, "{message:?}");
        }
    }

    #[test]
    fn a_trial_returns_the_matching_rule_expiry() {
        let timed_rule = r#"{"actions":[],"until":5000}"#;
        let until = RuleExpiry::try_from(5000).ok();
        let muted_room = document_with_rules("global", &[(RuleKind::Room, "!r:x", timed_rule)]);
        let mut paused = document_with_rules("global", &[]);
        let change = EnabledChange { enabled: true, until };
        paused.set_enabled(RuleKind::Override, builtin::MASTER, change).unwrap();
        for (document, reason, expected) in [
            (muted_room, TrialReason::MutedRoom, until),
            (paused, TrialReason::Paused, until),
            (document_with_rules("global", &[]), TrialReason::AnyMessage, None),
        ] {
            let result = run_trial(&[document], &message("Hello"));
            assert_eq!((result.reason, result.until), (reason, expected));
        }
    }

    #[test]
    fn a_silent_rule_with_a_time_condition_is_quiet_hours() {
        let night =
            json!({"kind": "time_and_day", "intervals": [{"time_of_day": ["00:00", "06:59"]}]});
        let day =
            json!({"kind": "time_and_day", "intervals": [{"time_of_day": ["07:00", "23:59"]}]});
        let bob = json!({"kind": "event_match", "key": "sender", "pattern": "@bob:x"});
        let seven = Timestamp::from_second(7 * 3600).ok();
        for (kind, actions, conditions, reason, matches_until) in [
            (RuleKind::Override, json!([]), json!([night]), TrialReason::QuietHours, seven),
            (RuleKind::Underride, json!([]), json!([night]), TrialReason::QuietHours, seven),
            (
                RuleKind::Override,
                json!(["notify"]),
                json!([night]),
                TrialReason::Rule("q".to_owned()),
                seven,
            ),
            (
                RuleKind::Override,
                json!([]),
                json!([bob, night]),
                TrialReason::Rule("q".to_owned()),
                seven,
            ),
            (RuleKind::Override, json!([]), json!([day]), TrialReason::AnyMessage, None),
            (RuleKind::Override, json!([]), json!([night, day]), TrialReason::AnyMessage, None),
        ] {
            let body = json!({"actions": actions, "conditions": conditions}).to_string();
            let document = document_with_rules("global", &[(kind, "q", &*body)]);
            let result = run_trial(&[document], &message("Hello"));
            assert_eq!((result.reason, result.matches_until), (reason, matches_until), "{body}");
        }
    }

    #[test]
    fn the_trace_has_every_rule_up_to_the_one_that_matches() {
        let silent_rule = r#"{"actions":[]}"#;
        let documents = [document_with_rules("global", &[(RuleKind::Room, "!s:x", silent_rule)])];
        let result = run_trial(&documents, &message("Hello"));
        let room_steps: Vec<_> =
            result.trace.iter().filter(|step| step.rule.kind == RuleKind::Room).collect();
        assert_eq!(room_steps.len(), 1);
        assert_eq!(
            (room_steps[0].outcome, &room_steps[0].found),
            (StepOutcome::Failed, &Some(json!("!r:x")))
        );
        let last_step = result.trace.last().unwrap();
        assert_eq!((last_step.outcome, &*last_step.rule.id), (StepOutcome::Won, ".m.rule.message"));
        assert_eq!(result.trace[0].rule.id, builtin::MASTER);
        assert!(!result.exceeds_work_budget());
    }

    #[test]
    fn a_trial_has_the_work_budget_of_an_evaluation() {
        let condition = json!({ "kind": "event_match", "key": "sender", "pattern": "*b*" });
        let mut conditions = vec![condition; 150];
        conditions.push(json!({ "kind": "room_member_count", "is": "99999" }));
        let slow_rule = json!({ "actions": [], "conditions": conditions }).to_string();
        let cheap_rule = r#"{"actions":[],"pattern":"Hello"}"#;
        let rules =
            [(RuleKind::Override, "slow", &*slow_rule), (RuleKind::Content, "word", cheap_rule)];
        let sender = "a".repeat(60_000) + "b";
        let message = TrialMessage { sender, ..message("Hello") };
        let result = run_trial(&[document_with_rules("global", &rules)], &message);
        assert!(result.exceeds_work_budget());
        assert_eq!(result.reason, TrialReason::AnyMessage);
    }
}
