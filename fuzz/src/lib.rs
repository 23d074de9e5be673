//! What must hold of belfry-core whatever it is given: each function takes any bytes, and panics
//! if they break a promise. `cargo xtask fuzz` looks for such bytes; the tests try the seeds.

pub mod evaluation;
pub mod oauth;
pub mod pattern;
pub mod rule;
