//! Evaluates one user's rules against an event and reports the result of each rule up to the match.

use std::borrow::Cow;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::Serialize;
use serde_json::Value;

use super::evaluate::{
    CompiledCondition, ConditionContext, Member, NO_USER, PushEvaluation, Room, RuleName,
    effective_conditions, split_scopes,
};
use super::event::Event;
use super::index::key::{EventKeys, IndexKey};
use super::work::UserWorkBudget;
use super::{Condition, Rule, RuleDocument, RuleKind, RuleScope, Ruleset, User, builtin};

/// One user's rules in all scopes: the user rules, and the built-in rules with the user's changes.
#[derive(Debug)]
pub struct EffectiveRules<'a> {
    user: User<'a>,
    global_rules: Ruleset<Cow<'a, Rule>>,
    device_rules: Vec<(&'a RuleScope, Ruleset<Cow<'a, Rule>>)>,
}

/// An evaluation, with the result of each rule that was evaluated, in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation<'a> {
    /// The rule that matched, and its actions.
    #[serde(flatten)]
    pub evaluation: PushEvaluation<'a>,
    /// The rules up to the one that matched. Empty for the user's own events, for which no rule is
    /// evaluated.
    pub walk: Vec<RuleStep<'a>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleStep<'a> {
    #[serde(flatten)]
    pub rule: RuleName<'a>,
    /// The result of the rule: disabled, failed or won.
    pub outcome: StepOutcome,
    /// The first unmet condition of a failed rule. Absent if the work budget was exceeded or a
    /// legacy mention rule was skipped because of `m.mentions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// `work_limit` if the work budget was exceeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<FailureReason>,
    /// The value that `condition` tested, truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
    /// The time at which a matching rule expires or one of its time conditions ceases to be met. Not
    /// part of the API.
    #[serde(skip)]
    pub until: Option<Zoned>,
}

/// The result of a rule in an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    Disabled,
    /// The rule does not match.
    Failed,
    Won,
}

/// The reason a rule failed, other than a condition that is not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum FailureReason {
    /// Some conditions were not tested, because the user's rules exceeded the work budget.
    #[serde(rename = "work_limit")]
    WorkBudget,
}

impl Explanation<'_> {
    /// Returns whether rules failed because they exceeded the work budget.
    pub fn exceeds_work_budget(&self) -> bool {
        self.walk.iter().any(|step| step.reason == Some(FailureReason::WorkBudget))
    }
}

impl<'a> EffectiveRules<'a> {
    /// Reads the rules from a user's documents. Without a global document the built-in rules are
    /// unchanged.
    pub fn new(user_id: &'a str, documents: impl IntoIterator<Item = &'a RuleDocument>) -> Self {
        let user = User::new(user_id);
        let (global, devices) = split_scopes(documents);
        let device_rules =
            devices.into_iter().map(|document| (document.scope(), document.ruleset(user)));
        let global_rules = global.unwrap_or(RuleDocument::without_rules()).ruleset(user);
        Self { user, global_rules, device_rules: device_rules.collect() }
    }

    /// Evaluates the rules against an event at the time `now` and explains the result.
    ///
    /// ```
    /// use belfry_core::rules::evaluate::{Member, Room};
    /// use belfry_core::rules::event::Event;
    /// use belfry_core::rules::explain::EffectiveRules;
    /// use jiff::Timestamp;
    /// use serde_json::json;
    ///
    /// // A user without user rules still has the built-in rules.
    /// let rules = EffectiveRules::new("@alice:example.org", []);
    /// let json = json!({"type": "m.room.message", "content": {"body": "Lunch?"}});
    /// let event = Event::from_value(json).expect("an object");
    /// let (room, member, now) = (Room::default(), Member::default(), Timestamp::UNIX_EPOCH);
    /// let explanation = rules.explain(&event, &room, member, now);
    /// assert!(explanation.evaluation.notifies());
    /// assert_eq!(explanation.evaluation.rule.unwrap().rule_id, ".m.rule.message");
    /// ```
    pub fn explain(
        &self,
        event: &Event,
        room: &Room,
        member: Member<'_>,
        now: Timestamp,
    ) -> Explanation<'_> {
        let mut explanation = Explanation { evaluation: PushEvaluation::NO_RULE, walk: Vec::new() };
        if event.sender() == Some(self.user.id) {
            return explanation;
        }
        let keys = EventKeys::new(event, IndexKey::all_in_body(event));
        // The evaluation for many users skips rules that cannot match the event. Here their work is
        // limited separately, so that both evaluations have the same result.
        let [user_budget, skipped_budget] =
            [UserWorkBudget::for_single_user(), UserWorkBudget::for_single_user()];
        let builtin_budget = UserWorkBudget::unlimited();
        for (name, rule) in self.ranked_rules(member.profile_tag) {
            let conditions = effective_conditions(name.kind, rule);
            let work = if rule.is_builtin() {
                &builtin_budget
            } else if keys.can_match(&conditions) {
                &user_budget
            } else {
                &skipped_budget
            };
            let context = ConditionContext { event, room, user: &NO_USER, member, now, work };
            let mut step = RuleStep::new(name, rule.enabled, conditions, &context);
            let outcome = step.outcome;
            if let (StepOutcome::Won, Some(expiry)) = (outcome, rule.until) {
                let end = expiry.to_timestamp().to_zoned(TimeZone::UTC);
                step.until = step.until.into_iter().chain([end]).min();
            }
            explanation.walk.push(step);
            if outcome == StepOutcome::Won {
                explanation.evaluation = PushEvaluation::new(name, &rule.actions);
                break;
            }
        }
        explanation
    }

    /// Returns the rules that apply to a device in evaluation order: the master rule, the device's
    /// rules, the other global rules.
    fn ranked_rules(
        &self,
        profile_tag: Option<&str>,
    ) -> impl Iterator<Item = (RuleName<'_>, &Rule)> {
        fn named_rule<'r>(
            scope: &'r RuleScope,
            (kind, rule): (RuleKind, &'r Cow<'_, Rule>),
        ) -> (RuleName<'r>, &'r Rule) {
            (RuleName { scope, kind, rule_id: &rule.rule_id }, &**rule)
        }
        let mut global_rules =
            self.global_rules.iter().map(|rule| named_rule(&RuleScope::Global, rule));
        let master = global_rules.next();
        let device_rules = self
            .device_rules
            .iter()
            .filter(move |(scope, _)| scope.applies_to(profile_tag))
            .flat_map(|(scope, rules)| rules.iter().map(move |rule| named_rule(scope, rule)));
        master.into_iter().chain(device_rules).chain(global_rules)
    }
}

impl<'a> RuleStep<'a> {
    fn new(
        rule: RuleName<'a>,
        is_enabled: bool,
        conditions: Vec<Condition>,
        context: &ConditionContext<'_>,
    ) -> Self {
        let step_with = |outcome| Self {
            rule,
            outcome,
            condition: None,
            found: None,
            reason: None,
            until: None,
        };
        if !is_enabled {
            return step_with(StepOutcome::Disabled);
        }
        if context.event.has_mentions() && builtin::LEGACY_MENTION_RULES.contains(&rule.rule_id) {
            return step_with(StepOutcome::Failed);
        }
        let mut until: Option<Zoned> = None;
        for condition in conditions {
            let compiled_condition = CompiledCondition::new(&condition.kind);
            if compiled_condition.is_met(context) {
                if let CompiledCondition::Time(schedule) = compiled_condition {
                    let end = schedule.end_after(context.now);
                    until = until.into_iter().chain(end).min();
                }
                continue;
            }
            if context.work.is_exceeded() {
                let reason = Some(FailureReason::WorkBudget);
                return Self { reason, ..step_with(StepOutcome::Failed) };
            }
            let found = compiled_condition.tested_value(context);
            return Self { condition: Some(condition), found, ..step_with(StepOutcome::Failed) };
        }
        Self { until, ..step_with(StepOutcome::Won) }
    }
}
