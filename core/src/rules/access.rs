//! OAuth scopes required to read and write push rules.

use crate::oauth::scope::Scope;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleAccess {
    Read,
    /// Create, change or delete rules.
    Write,
}

impl RuleAccess {
    /// Returns the scopes of which one is required. `push` grants both kinds of access, because it
    /// covers everything that concerns a client's notifications.
    pub const fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Read => &[Scope::ReadNotifications, Scope::Push],
            Self::Write => &[Scope::WriteNotifications, Scope::Push],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::scope::Scopes;

    #[test]
    fn read_and_write_access_require_matching_scopes() {
        for (scopes, can_read, can_write) in [
            ("read", true, false),
            ("read:notifications", true, false),
            ("write", false, true),
            ("write:notifications", false, true),
            ("push", true, true),
            ("profile push", true, true),
            ("read write", true, true),
            ("read:accounts write:filters follow profile", false, false),
            ("admin:read admin:write", false, false),
        ] {
            let granted_scopes: Scopes = scopes.parse().unwrap();
            let is_granted = |access: RuleAccess| granted_scopes.allows_any(access.scopes());
            assert_eq!(is_granted(RuleAccess::Read), can_read, "{scopes}");
            assert_eq!(is_granted(RuleAccess::Write), can_write, "{scopes}");
        }
    }
}
