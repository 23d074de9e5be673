//! Extractors for handlers: client and credentials, abuse limits, audit events, session, cookies,
//! language, path, body and forms.

pub(super) mod abuse_guard;
pub(super) mod admin;
pub(super) mod audit;
pub(super) mod bearer;
pub(super) mod body;
pub(super) mod client;
pub(super) mod cookie;
pub(super) mod form;
pub(crate) mod issuer;
pub(super) mod page_language;
pub(super) mod raw_path;
pub(super) mod requester;
pub(super) mod same_origin;
pub(super) mod session;
