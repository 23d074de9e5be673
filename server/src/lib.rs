//! Belfry: OAuth 2.0, rate limits and push rules in one service.
//!
//! This crate contains the configuration, the HTTP service and the commands. Protocol decisions are
//! in `belfry-core`, persistence in `belfry-store`, counters in `belfry-limits`.

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "they panic if the output is closed")]

pub mod account_memory;
pub mod app;
pub mod audit;
pub mod auth;
pub mod cli;
pub mod config;
pub mod diagnostics_key;
mod escape;
pub mod evaluation;
pub mod http;
pub mod language;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod pages;
mod paths;
pub mod serve;
pub mod tls;
