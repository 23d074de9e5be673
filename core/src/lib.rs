//! Protocol logic of Belfry: push rules, OAuth 2.0 and rate limits, without I/O.
//!
//! The time and random values are parameters, so every decision is deterministic and can be tested
//! with tables.

pub mod admin;
pub mod audit;
pub mod import;
pub mod json;
pub mod limits;
pub mod matrix;
pub mod oauth;
pub mod percent;
pub mod request;
pub mod rules;
pub mod secret;
pub mod text;
pub mod user_agent;
mod wire_enum;
