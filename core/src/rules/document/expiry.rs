//! The end of timed rules. All other operations ignore it: a document is changed and evaluated
//! after what has expired was removed.

use jiff::Timestamp;

use super::Document;
use crate::rules::{RuleExpiry, RuleKind};

impl Document {
    /// Removes the rules that have ended, and returns built-in rules whose change has ended to
    /// their default. Returns whether there were any.
    pub fn remove_expired(&mut self, now: Timestamp) -> bool {
        if !self.next_expiry().is_some_and(|expiry| expiry.is_reached(now)) {
            return false;
        }
        for kind in RuleKind::ALL {
            let has_expired = |until: RuleExpiry| until.is_reached(now);
            self.stored.rules[kind].retain(|rule| !rule.until.is_some_and(has_expired));
        }
        self.stored.patches.retain(|_, patch| {
            let has_expired = patch.has_expired(now);
            if has_expired {
                patch.reset_enabled();
            }
            !(has_expired && patch.is_empty())
        });
        true
    }

    /// The next time at which a rule, or the change of a built-in rule, ends.
    pub fn next_expiry(&self) -> Option<RuleExpiry> {
        let rules = self.user_rules().iter().filter_map(|(_, rule)| rule.until);
        rules.chain(self.stored.patches.values().filter_map(|patch| patch.until)).min()
    }
}
