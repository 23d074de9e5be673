//! Pages for users: sign-in, sign-out and the account.

pub(super) mod page;
pub(super) mod password;
pub(super) mod rules;
pub(super) mod sign_in;
pub(super) mod sign_out;
pub(super) mod try_message;
