//! Belfry.

pub mod counters;
