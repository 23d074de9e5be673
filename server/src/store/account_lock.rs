//! Serialises granting and revoking access to an account.

use super::engine::{Statement, sql};

/// Locks an account row for the rest of a transaction that grants access, so that granting and
/// revoking access are serialised.
pub(super) fn lock_account(id: i64) -> Statement {
    sql("update accounts set password = password where id = $1", [id.into()])
}
