//! The layer around the handlers of an area, and its parts.

pub(super) mod area;
pub(super) mod cors;
pub(super) mod rate_limit;
