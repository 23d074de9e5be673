//! Classification of PostgreSQL connection errors, and advice on how to resolve them.

use std::error::Error;
use std::io;
use std::iter::successors;

use belfry_runtime::certificate::rejection;

use super::{describe_error, is_temporary};
use crate::error::StoreError;

/// Classifies a connection error. Unlike a statement error, a connection error that the server did
/// not report is temporary only if the network caused it: a rejected certificate or a missing
/// password is permanent.
pub(super) fn classify_connect_error(error: &tokio_postgres::Error) -> StoreError {
    let reason = describe_connect_error(error);
    let is_temporary = error.code().map_or_else(
        || rejection::find_tls_error(error).is_none() && find_io_error(error).is_some(),
        is_temporary,
    );
    if is_temporary { StoreError::Unavailable(reason) } else { StoreError::Failed(reason) }
}

/// Returns the error with its causes, and advice.
pub(crate) fn describe_connect_error(error: &tokio_postgres::Error) -> String {
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
pub(super) fn find_io_error(error: &tokio_postgres::Error) -> Option<&io::Error> {
    let mut causes = successors(error.source(), |error| (*error).source());
    causes.find_map(|cause| cause.downcast_ref())
}

/// Returns advice on how to resolve a connection error.
fn advice(error: &tokio_postgres::Error) -> Option<&'static str> {
    if let Some(code) = error.code() {
        return match code.code() {
            // The password is wrong.
            "28P01" => Some(
                "correct the user and the password in the URL; percent-encode special \
                 characters: %2F for /, %23 for #, %3F for ?, %40 for @, %25 for %",
            ),
            // There is no such role, or pg_hba.conf rejects it.
            "28000" => Some(
                "create the role, or allow it to connect from this machine in pg_hba.conf; if only \
                 encrypted connections are allowed, add sslmode=verify-full to the URL",
            ),
            // There is no such database.
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
