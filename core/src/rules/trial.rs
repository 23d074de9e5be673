//! Evaluation of one user's rules for a sample message, for the notifications page.

use jiff::Timestamp;
use serde_json::json;

use super::evaluate::{Member, Room, RuleName};
use super::event::Event;
use super::explain::EffectiveRules;
use super::preferences::Switch;
use super::{Effect, ProfileTag, Rule, RuleDocument, RuleKind, builtin};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrialMessage {
    pub text: String,
    /// The sender's user id; `None` for somebody without a rule.
    pub sender: Option<String>,
    /// True if only the sender and the user are in the room.
    pub is_direct: bool,
    pub profile_tag: Option<ProfileTag>,
}

/// The effect of a message on the user, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialResult {
    pub effect: Effect,
    pub reason: TrialReason,
    /// True if a rule did not match because the evaluation exceeded the work budget.
    pub exceeds_work_budget: bool,
}

/// The reason a user would or would not be notified, in terms of the user's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialReason {
    OwnMessage,
    NoRule,
    Paused,
    QuietHours,
    /// The switch that is on, or off if the effect is silent.
    Switch(Switch),
    /// The pattern of a keyword, or of a muted word if the effect is silent.
    Word(String),
    /// The user id of a person with a rule.
    Sender(String),
    Rule(String),
}

impl TrialMessage {
    /// Evaluates a user's rules for the message at the time `now`. The sender may not mention the
    /// whole room, and the user has no display name.
    pub fn evaluate<'d>(
        &self,
        user_id: &'d str,
        documents: impl IntoIterator<Item = &'d RuleDocument> + Clone,
        now: Timestamp,
    ) -> TrialResult {
        let content = json!({"msgtype": "m.text", "body": self.text});
        // A sender that is null matches no rule.
        let event = json!({"type": "m.room.message", "sender": self.sender, "content": content});
        let event = Event::from_value(event).expect("it is an object");
        let member_count = Some(if self.is_direct { 2 } else { 3 });
        let room = Room { member_count, ..Room::default() };
        let profile_tag = self.profile_tag.as_ref().map(ProfileTag::as_str);
        let member = Member { profile_tag, ..Member::default() };
        let rules = EffectiveRules::new(user_id, documents.clone());
        let unchanged_builtin_rules = EffectiveRules::new(user_id, []);
        let [explanation, default_explanation] = [&rules, &unchanged_builtin_rules]
            .map(|rules| rules.explain(&event, &room, member, now));
        let reason = match (explanation.evaluation.rule, default_explanation.evaluation.rule) {
            _ if event.sender() == Some(user_id) => TrialReason::OwnMessage,
            (Some(name), _) => TrialReason::from_rule(name, documents),
            (None, Some(name)) => TrialReason::from_rule(name, []),
            (None, None) => TrialReason::NoRule,
        };
        let exceeds_work_budget = explanation.exceeds_work_budget();
        TrialResult { effect: explanation.evaluation.effect(), reason, exceeds_work_budget }
    }
}

impl TrialReason {
    fn from_rule<'d>(
        name: RuleName<'_>,
        documents: impl IntoIterator<Item = &'d RuleDocument>,
    ) -> Self {
        let id = name.rule_id;
        if (name.kind, id) == (RuleKind::Override, builtin::MASTER) {
            return Self::Paused;
        }
        if let Some(switch) = Switch::from_rule(name.kind, id) {
            return Self::Switch(switch);
        }
        let document = documents.into_iter().find(|document| document.scope() == name.scope);
        let mut rules = document.into_iter().flat_map(|document| &document.user_rules()[name.kind]);
        let rule = rules.find(|rule| rule.rule_id == id);
        match (name.kind, rule) {
            (RuleKind::Content, Some(Rule { pattern: Some(pattern), .. })) => {
                Self::Word(pattern.clone())
            }
            (RuleKind::Sender, _) => Self::Sender(id.to_owned()),
            (_, Some(rule)) if rule.quiet_hours().is_some() => Self::QuietHours,
            _ => Self::Rule(id.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{NewRule, NewRuleLimits, RulePosition};

    /// Returns a document with the given rules: kind, id and JSON body. For a built-in rule the
    /// body is `on`, `off`, or `[]` to remove its actions.
    fn document_with_rules(scope: &str, rules: &[(RuleKind, &str, &str)]) -> RuleDocument {
        let mut document = RuleDocument::new(scope.parse().unwrap());
        let limits = NewRuleLimits { conditions: usize::MAX, ..NewRuleLimits::default() };
        for &(kind, id, json) in rules {
            match json {
                "on" | "off" => document.set_enabled(kind, id, json == "on").unwrap(),
                "[]" => document.set_actions(kind, id, Vec::new(), limits).unwrap(),
                _ => {
                    let json = json.as_bytes();
                    let rule = NewRule::parse(kind, json, limits, Timestamp::UNIX_EPOCH).unwrap();
                    document.put(kind, id.parse().unwrap(), rule, RulePosition::default()).unwrap();
                }
            }
        }
        document
    }

    fn message(text: &str) -> TrialMessage {
        let sender = Some("@bob:x".to_owned());
        TrialMessage { text: text.to_owned(), sender, ..TrialMessage::default() }
    }

    /// Evaluates a message on a Thursday at 00:00 UTC.
    fn evaluate(document: &RuleDocument, message: &TrialMessage) -> TrialResult {
        message.evaluate("@alice:x", [document], Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn the_reason_is_the_setting_that_decides() {
        use RuleKind::{Content, Override, Sender, Underride};
        let notify = |sound| Effect::Notify { sound, highlight: false };
        let loud = Effect::Notify { sound: true, highlight: true };
        let sound_rule = r#"{"actions":["notify",{"set_tweak":"sound"}],"pattern":"cake"}"#;
        let silent_rule = r#"{"actions":[],"pattern":"cake"}"#;
        let notify_rule = r#"{"actions":["notify"]}"#;
        let night_condition =
            r#"{"kind":"time_and_day","intervals":[{"time_of_day":["00:00","06:59"]}]}"#;
        let night = &*format!(r#"{{"actions":[],"conditions":[{night_condition}]}}"#);
        let noisy_night = &*format!(r#"{{"actions":["notify"],"conditions":[{night_condition}]}}"#);
        let day = &*night.replace("00:00", "07:00").replace("06:59", "23:59");
        let group = TrialReason::Switch(Switch::Group);
        let user_name = TrialReason::Switch(Switch::UserName);
        let word = TrialReason::Word("cake".to_owned());
        let bob = TrialReason::Sender("@bob:x".to_owned());
        let rule = |id: &str| TrialReason::Rule(id.to_owned());
        let master = ".m.rule.master";
        let message_rule = (Underride, ".m.rule.message", "off");
        let user_name_rule = (Content, ".m.rule.contains_user_name", "off");
        for (rules, text, reason, effect) in [
            (&[][..], "Hello", &group, notify(false)),
            (&[], "Hello alice", &user_name, loud),
            (&[(Content, "c", sound_rule)], "There is cake", &word, notify(true)),
            (&[(Content, "c", silent_rule)], "There is cake", &word, Effect::Silent),
            (&[(Content, "c", sound_rule)], "Pie", &group, notify(false)),
            (&[(Sender, "@bob:x", silent_rule)], "Hi", &bob, Effect::Silent),
            (&[(Sender, "@bob:x", notify_rule)], "Hi", &bob, notify(false)),
            (&[(Override, "mine", notify_rule)], "Hi", &rule("mine"), notify(false)),
            (&[(Underride, "rest", silent_rule)], "Hi", &rule("rest"), Effect::Silent),
            (&[(Override, "q", night)], "Hi", &TrialReason::QuietHours, Effect::Silent),
            (&[(Underride, "q", night)], "Hi", &TrialReason::QuietHours, Effect::Silent),
            (&[(Override, "q", noisy_night)], "Hi", &rule("q"), notify(false)),
            (&[(Override, "q", day)], "Hi", &group, notify(false)),
            (&[(Override, master, "on")], "Hi", &TrialReason::Paused, Effect::Silent),
            // Clients turn a built-in rule off by disabling it or by removing its actions.
            (&[message_rule], "Hi", &group, Effect::Silent),
            (&[(Underride, ".m.rule.message", "[]")], "Hi", &group, Effect::Silent),
            // The first disabled rule is named, if no other rule matches.
            (&[user_name_rule], "Hello alice", &group, notify(false)),
            (&[user_name_rule, message_rule], "Hello alice", &user_name, Effect::Silent),
        ] {
            let result = evaluate(&document_with_rules("global", rules), &message(text));
            let expected =
                TrialResult { effect, reason: reason.clone(), exceeds_work_budget: false };
            assert_eq!(result, expected, "{rules:?} {text}");
        }
    }

    #[test]
    fn the_reason_depends_on_the_room_the_sender_and_the_device() {
        let rules = [(RuleKind::Override, "work", r#"{"actions":["notify"]}"#)];
        let document = document_with_rules("device/phone", &rules);
        let group = TrialReason::Switch(Switch::Group);
        let own = Some("@alice:x".to_owned());
        let tag = |tag: &str| tag.parse().ok();
        for (message, reason) in [
            (
                TrialMessage { is_direct: true, ..message("Hi") },
                &TrialReason::Switch(Switch::OneToOne),
            ),
            (TrialMessage { sender: own, ..message("Hi") }, &TrialReason::OwnMessage),
            (
                TrialMessage { profile_tag: tag("phone"), ..message("Hi") },
                &TrialReason::Rule("work".to_owned()),
            ),
            (TrialMessage { profile_tag: tag("desk"), ..message("Hi") }, &group),
            (TrialMessage::default(), &group),
        ] {
            assert_eq!(&evaluate(&document, &message).reason, reason, "{message:?}");
        }
    }

    #[test]
    fn a_trial_has_a_work_budget() {
        let condition = json!({ "kind": "event_match", "key": "sender", "pattern": "*b*" });
        let mut conditions = vec![condition; 150];
        conditions.push(json!({ "kind": "room_member_count", "is": "99999" }));
        let slow_rule = json!({ "actions": [], "conditions": conditions }).to_string();
        let document = document_with_rules("global", &[(RuleKind::Override, "slow", &*slow_rule)]);
        let sender = Some("a".repeat(60_000) + "b");
        let result = evaluate(&document, &TrialMessage { sender, ..message("Hello") });
        assert!(result.exceeds_work_budget);
        assert_eq!(result.reason, TrialReason::Switch(Switch::Group));
    }
}
