//! OAuth scopes for push rules and pushers. Of each list, one scope is required. `push` is in all of
//! them, because it covers everything that concerns a client's notifications.

use crate::oauth::scope::Scope;

pub const READ_RULES: &[Scope] = &[Scope::ReadNotifications, Scope::Push, Scope::MatrixApi];
pub const WRITE_RULES: &[Scope] = &[Scope::WriteNotifications, Scope::Push, Scope::MatrixApi];

/// For setting pushers: the app of a pusher gets the text of messages.
pub const SET_PUSHERS: &[Scope] = &[Scope::Push, Scope::MatrixApi];

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
            assert_eq!(granted_scopes.allows_any(READ_RULES), can_read, "{scopes}");
            assert_eq!(granted_scopes.allows_any(WRITE_RULES), can_write, "{scopes}");
        }
    }
}
