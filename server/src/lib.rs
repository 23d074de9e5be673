//! Belfry: OAuth 2.0, rate limits and push rules in one service.
//!
//! This crate has everything with I/O: configuration, storage, HTTP and commands. Protocol
//! decisions are in `belfry-core`.

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "they panic if the output is closed")]

pub mod app;
pub mod application_services;
pub mod audit;
pub mod certificate;
mod certificate_rejection;
mod certificate_verifier;
pub mod cli;
pub mod clock;
pub mod config;
mod duration;
pub mod evaluation_pool;
pub mod http;
pub mod http_client;
pub mod language;
pub mod large_bodies;
pub mod limits;
pub mod log;
mod log_throttle;
pub mod metrics;
pub mod pages;
pub mod passwords;
mod process_user;
pub mod random;
mod request_context;
pub mod rule_index;
pub mod serve;
pub mod service_manager;
pub mod store;
pub mod tls;
pub mod tokens;
pub mod unread_responses;
