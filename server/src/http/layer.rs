//! Layers around the handlers: CORS and rate limits.

pub(super) mod cors;
pub(super) mod rate_limit;
