//! Belfry: OAuth 2.0, rate limits, push rules and push delivery in one service.
//!
//! This crate contains the configuration, the HTTP service and the commands. Protocol decisions are
//! in `belfry-core`, persistence in `belfry-store`, rate-limit counters in `belfry-limits`, and the
//! sending of messages in `belfry-delivery`.

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "they panic if the output is closed")]

pub mod account_memory;
pub mod app;
pub mod audit;
pub mod auth;
pub mod cli;
pub mod config;
pub mod control;
pub mod delivery;
mod escape;
pub mod evaluation;
pub mod http;
pub mod language;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod pages;
mod paths;
pub mod sealing;
pub mod serve;
pub mod tls;
