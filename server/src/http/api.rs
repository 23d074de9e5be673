//! The Mastodon-compatible API under `/api`, and nodeinfo.

pub(super) mod accounts;
pub(super) mod admin;
pub(super) mod apps;
pub(super) mod instance;
pub(super) mod subscription;
