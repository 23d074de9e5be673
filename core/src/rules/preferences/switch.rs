//! The built-in rules as switches.

use std::borrow::Cow;

use super::super::{
    Action, Document, Effect, NewRuleLimits, Rule, RuleError, RuleExpiry, RuleKind, User, builtin,
};
use super::Pause;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// A switch of one built-in rule, or of two that differ only in encryption or in the form of a
    /// mention. While it is on, the user is notified.
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
    /// All of its rules are set as the switch sets them to notify.
    On,
    /// Some of its rules are.
    Partly,
    /// None of its rules are.
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

    /// Returns the switch of a built-in rule. The master rule has none.
    pub fn from_rule(kind: RuleKind, id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|switch| switch.rules().contains(&(kind, id)))
    }

    /// Returns whether its rules silence messages that later rules notify of. The switch is on
    /// while they are disabled, so that muted people and rooms stay silent. No later rule is about
    /// reactions and room events: their rules notify themselves while the switch is on.
    const fn is_silencer(self) -> bool {
        matches!(self, Self::Bots | Self::Edits)
    }

    /// Returns whether a rule is set as the switch sets it to notify. Clients turn a built-in rule
    /// off by disabling it or by changing its actions.
    fn notifies(self, rule: &Rule) -> bool {
        let is_silent = Effect::from_actions(&rule.actions) == Effect::Silent;
        if self.is_silencer() { !rule.enabled || !is_silent } else { rule.enabled && !is_silent }
    }

    pub(super) fn state(self, document: &Document) -> SwitchState {
        let rules = || self.rules().iter().map(|&(kind, id)| read(document, kind, id));
        let notifies = |rule: Option<Rule>| rule.is_some_and(|rule| self.notifies(&rule));
        match (rules().any(notifies), rules().all(notifies)) {
            (_, true) => SwitchState::On,
            (true, false) => SwitchState::Partly,
            (false, false) => SwitchState::Off,
        }
    }

    /// Turns the switch on or off. Actions of the user that agree with it are preserved.
    pub(super) fn set(
        self,
        document: &mut Document,
        on: bool,
        limits: NewRuleLimits,
    ) -> Result<(), RuleError> {
        for &(kind, id) in self.rules() {
            let definition = builtin::all()[kind].iter().find(|rule| rule.rule_id == id);
            let default = definition.map(|rule| rule.actions.clone()).unwrap_or_default();
            let is_silent = Effect::from_actions(&default) == Effect::Silent;
            let enabled = if on { !self.is_silencer() } else { is_silent };
            document.set_enabled(kind, id, enabled)?;
            if read(document, kind, id).is_some_and(|rule| self.notifies(&rule) != on) {
                let actions = if on && is_silent { vec![Action::Notify] } else { default };
                document.set_actions(kind, id, actions, limits)?;
            }
        }
        Ok(())
    }
}

/// Returns a built-in rule with the changes of the user.
fn read(document: &Document, kind: RuleKind, id: &str) -> Option<Rule> {
    // Placeholders of the user are in conditions and patterns, which are not used here.
    document.rule(kind, id, User::new("")).ok().map(Cow::into_owned)
}

impl Pause {
    /// Returns the pause that a document expresses: the rule that precedes all others is enabled.
    pub fn read(document: &Document) -> Option<Self> {
        let master = read(document, RuleKind::Override, builtin::MASTER)?;
        let is_paused = master.enabled && Effect::from_actions(&master.actions) == Effect::Silent;
        is_paused.then(|| Self { until: master.until.map(RuleExpiry::to_second) })
    }
}
