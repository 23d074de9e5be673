//! What handlers take from a request: client address and credential, session, body, forms.

pub(super) mod bearer;
pub(super) mod body;
pub(super) mod client;
pub(super) mod cookie;
pub(super) mod form;
pub(super) mod page_format;
pub(super) mod raw_path;
pub(super) mod requester;
pub(super) mod session;
