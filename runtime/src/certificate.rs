//! Checks of the certificates that other servers present.

pub mod rejection;
pub mod verifier;
