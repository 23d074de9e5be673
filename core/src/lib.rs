//! What Belfry decides, as pure code: no runtime, no HTTP, no SQL, no clock, no randomness.
//!
//! Whatever depends on the time or on chance takes it as an argument, so that every decision can
//! be tested as a table.

pub mod json;
pub mod limits;
pub mod matrix;
pub mod oauth;
pub mod percent;
pub mod rules;
pub mod secret;
