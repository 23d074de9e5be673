//! Attacks on the outbound client, with real sockets and certificates.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod addresses;
mod lookups;
mod peers;
mod server;
