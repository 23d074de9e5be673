//! Belfry: who may ring, how often, and which bells you hear.
//!
//! The library is everything that waits: configuration, storage, HTTP, commands. What is decided
//! is in `belfry-core`. The binary is `main.rs`.

pub mod clock;
pub mod config;
pub mod language;
pub mod pages;
pub mod random;
pub mod store;
