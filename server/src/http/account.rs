//! Pages of people: signing in and out, and the page of a signed-in account.

pub(super) mod page;
pub(super) mod password;
pub(super) mod sign_in;
pub(super) mod sign_out;
