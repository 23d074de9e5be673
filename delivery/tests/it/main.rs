//! Tests of the outbound client against hostile and broken servers, with real sockets and
//! certificates.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod addresses;
mod connections;
mod lookups;
mod peers;
mod server;
