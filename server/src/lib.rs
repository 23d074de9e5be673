//! Belfry: who may ring, how often, and which bells you hear.
//!
//! The library is everything that waits: configuration, storage, HTTP, commands. What is decided
//! is in `belfry-core`. The binary is `main.rs`.

pub mod app;
pub mod application_services;
pub mod cli;
pub mod clock;
pub mod config;
mod duration;
pub mod http;
pub mod language;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod pages;
pub mod passwords;
pub mod random;
pub mod rule_index;
pub mod serve;
pub mod store;
pub mod tls;
pub mod tokens;
