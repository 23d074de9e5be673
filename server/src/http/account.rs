//! Handlers of the pages for users: sign-up, sign-in, sign-out and the account.

pub(super) mod devices;
pub(super) mod notifications;
pub(super) mod page;
pub(super) mod registration;
pub(super) mod security;
pub(super) mod sign_in;
pub(super) mod sign_out;
pub(super) mod sign_up;
mod trial;
