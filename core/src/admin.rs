//! Account administration with the parameters of Mastodon's admin API: list filters, pagination
//! and actions.

mod filter;
mod page;

use crate::account::Role;
use crate::wire_enum::wire_enum;

pub use self::filter::{AccountFilter, FilterError};
pub use self::page::{InvalidId, Links, PageRequest, PageStart};

wire_enum! {
    /// An admin's action on an account. Mastodon's other actions, such as `silence`, are not
    /// supported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum AccountAction {
        /// Only records the admin's comment.
        Note = "none",
        Disable = "disable",
    }
}

/// Returns the id of the corresponding Mastodon role: `owner` for admins, and `everyone`
/// for other users.
pub const fn role_id(role: Role) -> i64 {
    match role {
        Role::Admin => 3,
        Role::User => -99,
    }
}

/// Maximum length of an admin's comment in the audit trail, in characters.
const MAX_COMMENT_LENGTH: usize = 500;

/// Returns the detail of an audit event: the admin, and the comment unless it is blank. Control
/// characters become spaces, and a long comment is truncated.
pub fn audit_detail(admin: &str, comment: &str) -> String {
    let comment: String = comment
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_COMMENT_LENGTH)
        .collect();
    if comment.is_empty() { format!("by {admin}") } else { format!("by {admin}: {comment}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_detail_has_the_admin_and_the_comment() {
        assert_eq!(audit_detail("root", " \n"), "by root");
        assert_eq!(audit_detail("root", " spam\n\u{1b}[1mmore "), "by root: spam  [1mmore");
        let truncated_detail = audit_detail("root", &"ä".repeat(600));
        assert_eq!(truncated_detail, format!("by root: {}", "ä".repeat(500)));
    }

    #[test]
    fn only_none_and_disable_are_supported() {
        for (name, action) in [
            ("none", Some(AccountAction::Note)),
            ("disable", Some(AccountAction::Disable)),
            ("suspend", None),
            ("silence", None),
            ("sensitive", None),
            ("", None),
        ] {
            assert_eq!(AccountAction::from_name(name), action, "{name}");
        }
    }
}
