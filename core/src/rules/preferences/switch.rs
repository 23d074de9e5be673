//! The built-in rules as switches, and the master rule as a pause.

use std::borrow::Cow;

use super::super::{
    Action, Effect, NewRuleLimits, Rule, RuleDocument, RuleError, RuleExpiry, RuleKind, User,
    builtin,
};
use super::Pause;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// A switch for one built-in rule, or for two that differ only in encryption or in the form of
    /// a mention. While the switch is on, the user is notified.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Switch {
        OneToOne = "one-to-one",
        Group = "group",
        Mention = "mention",
        DisplayName = "display-name",
        UserName = "user-name",
        RoomMention = "room-mention",
        Invitation = "invitation",
        Call = "call",
        Upgrade = "upgrade",
        Bots = "bots",
        Edits = "edits",
        Members = "members",
        Reactions = "reactions",
        Servers = "servers",
    }
}

/// The combined state of a switch's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchState {
    /// All rules of the switch allow notifications.
    On,
    /// Only some rules of the switch allow notifications.
    Partly,
    /// No rule of the switch allows notifications.
    Off,
}

impl Switch {
    /// Returns the built-in rules that the switch turns on and off.
    pub const fn rules(self) -> &'static [(RuleKind, &'static str)] {
        use RuleKind::{Content, Override, Underride};
        match self {
            Self::OneToOne => &[
                (Underride, ".m.rule.room_one_to_one"),
                (Underride, ".m.rule.encrypted_room_one_to_one"),
            ],
            Self::Group => &[(Underride, ".m.rule.message"), (Underride, ".m.rule.encrypted")],
            Self::Mention => &[(Override, ".m.rule.is_user_mention")],
            Self::DisplayName => &[(Override, ".m.rule.contains_display_name")],
            Self::UserName => &[(Content, ".m.rule.contains_user_name")],
            Self::RoomMention => {
                &[(Override, ".m.rule.is_room_mention"), (Override, ".m.rule.roomnotif")]
            }
            Self::Invitation => &[(Override, ".m.rule.invite_for_me")],
            Self::Call => &[(Underride, ".m.rule.call")],
            Self::Upgrade => &[(Override, ".m.rule.tombstone")],
            Self::Bots => &[(Override, ".m.rule.suppress_notices")],
            Self::Edits => &[(Override, ".m.rule.suppress_edits")],
            Self::Members => &[(Override, ".m.rule.member_event")],
            Self::Reactions => &[(Override, ".m.rule.reaction")],
            Self::Servers => &[(Override, ".m.rule.room.server_acl")],
        }
    }

    /// Returns the switch for a built-in rule. The master rule has none.
    pub fn from_rule(kind: RuleKind, id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|switch| switch.rules().contains(&(kind, id)))
    }

    /// Returns whether the rules only suppress messages that a later rule would notify about.
    /// Turning such a switch on disables its rules instead of making them notify, because a
    /// notifying override rule would precede the user's mutes. No later built-in rule notifies
    /// about reactions, membership changes or server ACLs, so turning their switches on makes
    /// their rules notify.
    const fn is_silencer(self) -> bool {
        matches!(self, Self::Bots | Self::Edits)
    }

    /// Returns whether a rule allows notifications. Clients turn a built-in rule off by disabling
    /// it or by changing its actions.
    fn allows_notifications(self, rule: &Rule) -> bool {
        let is_silent = Effect::from_actions(&rule.actions) == Effect::Silent;
        if self.is_silencer() { !rule.enabled || !is_silent } else { rule.enabled && !is_silent }
    }

    pub(super) fn state(self, document: &RuleDocument) -> SwitchState {
        let rules = || self.rules().iter().map(|&(kind, id)| effective_rule(document, kind, id));
        let allows_notifications =
            |rule: Option<Rule>| rule.is_some_and(|rule| self.allows_notifications(&rule));
        match (rules().any(allows_notifications), rules().all(allows_notifications)) {
            (_, true) => SwitchState::On,
            (true, false) => SwitchState::Partly,
            (false, false) => SwitchState::Off,
        }
    }

    /// Turns the switch on or off. Actions that the user has set are preserved if they agree with
    /// the new state.
    pub(super) fn set(
        self,
        document: &mut RuleDocument,
        is_on: bool,
        limits: NewRuleLimits,
    ) -> Result<(), RuleError> {
        for &(kind, id) in self.rules() {
            let definition = builtin::all()[kind].iter().find(|rule| rule.rule_id == id);
            let default_actions = definition.map(|rule| rule.actions.clone()).unwrap_or_default();
            let is_silent_by_default = Effect::from_actions(&default_actions) == Effect::Silent;
            let enabled = if is_on { !self.is_silencer() } else { is_silent_by_default };
            document.set_enabled(kind, id, enabled)?;
            if effective_rule(document, kind, id)
                .is_some_and(|rule| self.allows_notifications(&rule) != is_on)
            {
                let actions = if is_on && is_silent_by_default {
                    vec![Action::Notify]
                } else {
                    default_actions
                };
                document.set_actions(kind, id, actions, limits)?;
            }
        }
        Ok(())
    }
}

/// Returns a built-in rule with the user's changes.
fn effective_rule(document: &RuleDocument, kind: RuleKind, id: &str) -> Option<Rule> {
    // Placeholders for the user occur only in conditions and patterns, which are not used here.
    document.rule(kind, id, User::new("")).ok().map(Cow::into_owned)
}

impl Pause {
    /// Returns the pause of all notifications: the master rule is enabled and does not notify.
    pub fn from_document(document: &RuleDocument) -> Option<Self> {
        let master = effective_rule(document, RuleKind::Override, builtin::MASTER)?;
        let is_paused = master.enabled && Effect::from_actions(&master.actions) == Effect::Silent;
        is_paused.then(|| Self { until: master.until.map(RuleExpiry::to_timestamp) })
    }
}
