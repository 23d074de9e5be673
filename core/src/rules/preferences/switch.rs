//! The built-in rules as switches.

use std::borrow::Cow;

use super::super::{
    Document, Effect, NewRuleLimits, Rule, RuleError, RuleExpiry, RuleKind, User, builtin,
};
use super::Pause;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// A switch for one built-in rule, or for two that differ only in encryption or in the form of
    /// mentions.
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
    /// All of its rules apply.
    On,
    /// Some of its rules apply.
    Partly,
    /// None of its rules apply.
    Off,
}

impl Switch {
    /// The built-in rules that the switch turns on and off.
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

    /// Returns whether its rules prevent notifications.
    pub const fn is_silencer(self) -> bool {
        matches!(self, Self::Bots | Self::Edits | Self::Members | Self::Reactions | Self::Servers)
    }

    /// Returns whether a rule has the effect that the switch promises. Clients turn a built-in rule
    /// off by disabling it or by changing its actions.
    fn applies(self, rule: &Rule) -> bool {
        rule.enabled
            && (Effect::from_actions(&rule.actions) == Effect::Silent) == self.is_silencer()
    }

    pub(super) fn state(self, document: &Document) -> SwitchState {
        let rules = || self.rules().iter().map(|&(kind, id)| read(document, kind, id));
        let applies = |rule: Option<Rule>| rule.is_some_and(|rule| self.applies(&rule));
        match (rules().any(applies), rules().all(applies)) {
            (_, true) => SwitchState::On,
            (true, false) => SwitchState::Partly,
            (false, false) => SwitchState::Off,
        }
    }

    /// Turns its rules on or off. Actions that contradict the switch become those of the definition.
    pub(super) fn set(
        self,
        document: &mut Document,
        on: bool,
        limits: NewRuleLimits,
    ) -> Result<(), RuleError> {
        for &(kind, id) in self.rules() {
            document.set_enabled(kind, id, on)?;
            let applies = read(document, kind, id).is_some_and(|rule| self.applies(&rule));
            let definition = builtin::all()[kind].iter().find(|rule| rule.rule_id == id);
            if let Some(definition) = definition.filter(|_| on && !applies) {
                document.set_actions(kind, id, definition.actions.clone(), limits)?;
            }
        }
        Ok(())
    }
}

/// A built-in rule with the changes of the user.
fn read(document: &Document, kind: RuleKind, id: &str) -> Option<Rule> {
    // Placeholders of the user are in conditions and patterns, which are not used here.
    document.rule(kind, id, User::new("")).ok().map(Cow::into_owned)
}

/// The pause of all notifications: the rule that precedes all others is enabled.
pub(super) fn pause(document: &Document) -> Option<Pause> {
    let master = read(document, RuleKind::Override, builtin::MASTER)?;
    let is_paused = master.enabled && Effect::from_actions(&master.actions) == Effect::Silent;
    is_paused.then(|| Pause { until: master.until.map(RuleExpiry::to_second) })
}
