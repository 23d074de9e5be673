//! OAuth scopes required to read and write push rules.

use crate::oauth::scope::Scope;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleAccess {
    Read,
    /// Create, change or delete rules.
    Write,
}

impl RuleAccess {
    /// Returns the narrowest scope that grants the access.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Read => Scope::ReadNotifications,
            Self::Write => Scope::WriteNotifications,
        }
    }

    /// Returns true if one of the scopes grants the access. `push` grants both, because it covers
    /// everything that concerns a client's notifications.
    pub fn is_granted_by(self, scopes: impl IntoIterator<Item = Scope>) -> bool {
        scopes.into_iter().any(|scope| scope.covers(self.scope()) || scope == Scope::Push)
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
            assert_eq!(RuleAccess::Read.is_granted_by(granted_scopes.iter()), can_read, "{scopes}");
            assert_eq!(
                RuleAccess::Write.is_granted_by(granted_scopes.iter()),
                can_write,
                "{scopes}"
            );
        }
    }
}
