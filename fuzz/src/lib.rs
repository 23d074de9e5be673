//! Fuzz targets for belfry-core: each function takes arbitrary bytes and panics if an invariant is
//! violated. `cargo xtask fuzz` searches for such bytes; the tests run the seeds.

pub mod evaluation;
pub mod import;
pub mod oauth;
pub mod pattern;
pub mod rule;
