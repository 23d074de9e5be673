//! Process-level parts that several crates need: the clock, randomness, the sealing key, durations
//! in settings, signed tokens, the log throttle, supervised tasks, errors about files, certificate checks, and
//! metrics.

/// Checks of the certificates that other servers present.
pub mod certificate {
    pub mod rejection;
    pub mod verifier;
}
pub mod clock;
pub mod duration;
pub mod family_key;
pub mod file_access;
pub mod jwt;
pub mod log_throttle;
pub mod metrics;
pub mod random;
pub mod sealing;
pub mod supervisor;
#[cfg(feature = "test-support")]
pub mod test;
