//! Responses of handlers: JSON and pages.

pub(super) mod json;
pub(super) mod page;
