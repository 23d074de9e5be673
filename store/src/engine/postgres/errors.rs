//! Errors of PostgreSQL: whether a retry may succeed, what they say about the state of the server,
//! and advice on how to resolve them.

use std::error::Error as _;
use std::io;
use std::iter::successors;

use belfry_runtime::certificate::rejection;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use super::tls;
use crate::engine::database::error_chain;
use crate::error::StoreError;

/// Error message for a server that is not used because its data may be stale.
pub(super) const READ_ONLY: &str = "PostgreSQL is read-only (a standby or a demoted primary)";

/// Error message for a server that does not accept connections at the moment.
const RECOVERING: &str = "PostgreSQL is recovering, starting or shutting down";

/// Error message for a commit that may not survive a failover.
pub(super) const NOT_REPLICATED: &str =
    "the synchronous standby of PostgreSQL has not confirmed the commit in time";

/// Classifies an error as temporary or not.
impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let variant =
            if error.code().is_none_or(is_temporary) { Self::Unavailable } else { Self::Failed };
        variant(describe_error(&error))
    }
}

/// Returns whether a retry may succeed: after operator intervention (a cancelled statement),
/// insufficient resources, connection exceptions, system errors, deadlocks and conflicts; or if the
/// server is read-only, or a lock or a transaction timed out.
pub(super) fn is_temporary(code: &SqlState) -> bool {
    let class = &code.code()[..2];
    matches!(class, "57" | "53" | "08" | "58" | "40")
        || matches!(code.code(), "25006" | "55P03" | "25P03")
}

/// Returns the error with its causes, the state of a server that does not accept writes, and advice
/// about a rejected certificate or missing rights.
pub(crate) fn describe_error(error: &Error) -> String {
    let description = tls::describe_rejection(error).unwrap_or_else(|| error_chain(error));
    if let Some(state) = describe_state(error) {
        return format!("{state}: {description}");
    }
    if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return format!("{description}; make the user in the URL the owner of the database");
    }
    description
}

/// Classifies a connection error. Unlike a statement error, a connection error that the server did
/// not report is temporary only if the network caused it: a rejected certificate or a missing
/// password is permanent.
pub(super) fn classify_connect_error(error: &Error) -> StoreError {
    let reason = describe_connect_error(error);
    let is_temporary = error.code().map_or_else(
        || rejection::find_tls_error(error).is_none() && find_io_error(error).is_some(),
        is_temporary,
    );
    if is_temporary { StoreError::Unavailable(reason) } else { StoreError::Failed(reason) }
}

/// Returns the error with its causes, and advice.
fn describe_connect_error(error: &Error) -> String {
    let description = describe_error(error);
    match advice(error) {
        Some(advice) => format!("{description}; {advice}"),
        None => description,
    }
}

/// Returns an error's reason, without the prefix that [`StoreError`] adds.
pub(super) fn error_reason(error: StoreError) -> String {
    match error {
        StoreError::Unavailable(reason) | StoreError::Failed(reason) => reason,
        error => error.to_string(),
    }
}

/// Returns the network error that is the cause, if there is one.
fn find_io_error(error: &Error) -> Option<&io::Error> {
    let mut causes = successors(error.source(), |error| (*error).source());
    causes.find_map(|cause| cause.downcast_ref())
}

/// Returns advice on how to resolve a connection error.
fn advice(error: &Error) -> Option<&'static str> {
    if let Some(code) = error.code() {
        return match code.code() {
            // The password is wrong.
            "28P01" => Some(
                "correct the user and the password in the URL; percent-encode special \
                 characters: %2F for /, %23 for #, %3F for ?, %40 for @, %25 for %",
            ),
            // The role does not exist, or pg_hba.conf rejects it.
            "28000" => Some(
                "create the role, or allow it to connect from this machine in pg_hba.conf; if only \
                 encrypted connections are allowed, add sslmode=verify-full to the URL",
            ),
            // The database does not exist.
            "3D000" => Some(
                "create it (create database … owner …), or correct its name at the end of the URL",
            ),
            // Too many connections.
            "53300" => Some("raise max_connections of PostgreSQL, or lower store.connections"),
            _ => None,
        };
    }
    if rejection::find_tls_error(error).is_some() {
        return None;
    }
    Some(match find_io_error(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
            "start PostgreSQL, or correct host and port in the URL"
        }
        // All hosts are read-only.
        Some(io::ErrorKind::PermissionDenied) => {
            "promote one of the hosts in the URL, or add the primary to the URL"
        }
        Some(_) => "check host and port in the URL, and any firewall in between",
        None => {
            "correct the URL: postgres://USER:PASSWORD@HOST/DATABASE, with sslmode only if the \
             server has TLS"
        }
    })
}

/// Returns the server's state in words, if it does not accept writes.
fn describe_state(error: &Error) -> Option<&'static str> {
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
