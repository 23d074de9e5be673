//! Servers that do not accept writes: standbys, and servers that are recovering or shutting down.

use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity};

use super::connect_error::find_io_error;

/// Error message for a server that is not used because its data may be stale.
pub(super) const READ_ONLY: &str = "PostgreSQL is read-only (a standby or a demoted primary)";

/// Error message for a server that does not accept connections at the moment.
const RECOVERING: &str = "PostgreSQL is recovering, starting or shutting down";

/// Error message for a commit that may not survive a failover.
pub(super) const NOT_REPLICATED: &str =
    "the synchronous standby of PostgreSQL has not confirmed the commit in time";

/// Returns the server's state in words, if it does not accept writes.
pub(super) fn describe_state(error: &Error) -> Option<&'static str> {
    match error.code() {
        Some(code) => match code.code() {
            "25006" => Some(READ_ONLY),
            "57P03" => Some(RECOVERING),
            _ => None,
        },
        // The driver found that the server is read-only.
        None => find_io_error(error)
            .is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
            .then_some(READ_ONLY),
    }
}

/// Returns whether the connections to this server must be closed, because it no longer accepts
/// writes: it is read-only, recovering or shutting down.
pub(super) fn requires_reconnect(error: &Error) -> bool {
    error.code().is_some_and(|code| matches!(code.code(), "25006" | "57P01" | "57P02" | "57P03"))
}

/// Returns whether this is the warning that a commit has not been replicated to the synchronous
/// standby. After a cancel request PostgreSQL reports the commit as successful, with this warning.
/// Its text depends on the server's language, the name of the routine does not.
pub(super) fn is_unreplicated_commit(notice: &DbError) -> bool {
    notice.parsed_severity() == Some(Severity::Warning)
        && (notice.routine() == Some("SyncRepWaitForLSN")
            || notice.message().contains("wait for synchronous replication"))
}
