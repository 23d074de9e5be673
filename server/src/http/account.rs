//! Pages for users: sign-in, sign-out and the account.

pub(super) mod page;
pub(super) mod password;
pub(super) mod sign_in;
pub(super) mod sign_out;
