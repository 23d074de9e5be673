//! The HTTP layer: the router, the handlers by area, extractors, layers and errors.

mod account;
mod api;
mod assets;
mod error;
mod extract;
mod front;
mod gateway;
mod health;
mod json;
mod layer;
mod matrix;
mod metrics;
mod oauth;
mod openapi;
mod pending_authorization;
mod push;
mod respond;
mod router;
mod service;

pub use self::error::LimitExceeded;
pub use self::extract::abuse_guard::AbuseGuard;
pub use self::extract::client::Peer;
pub use self::service::HttpService;
#[cfg(test)]
pub(crate) use self::service::tests::{LARGE_RESPONSE_BYTES, test_service};
