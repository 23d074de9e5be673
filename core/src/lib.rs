//! Protocol logic of Belfry: push rules, OAuth 2.0 and rate limits, without I/O.
//!
//! The time and random values are parameters, so every decision is deterministic and can be tested
//! with tables. A caller parses a request with this crate, reads the stored data, calls this crate
//! for the decision, stores it and responds. Entry points:
//!
//! - [`rules::NewRule::parse`] parses a push rule, [`rules::explain::EffectiveRules::explain`]
//!   evaluates an event for one user, and [`rules::index::Members::evaluate`] evaluates it for all
//!   members of a room.
//! - [`oauth::redirect::RedirectUri::match_requested`] compares redirect URIs, and
//!   [`oauth::pkce::matches`] verifies PKCE.
//! - [`limits::decide`] decides whether rate limits admit a request.

pub mod account;
pub mod admin;
pub mod audit;
pub mod form;
pub mod import;
pub mod json;
pub mod language_tag;
pub mod limits;
pub mod matrix;
pub mod oauth;
pub mod percent;
pub mod push;
pub mod request;
pub mod rules;
pub mod secret;
pub mod text;
pub mod user_agent;
pub mod validation;
mod wire_enum;
