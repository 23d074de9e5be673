//! Apps, authorization requests, codes, grants, tokens and sessions.

pub(crate) mod account_tokens;
pub(crate) mod apps;
pub(crate) mod authorized_apps;
pub(crate) mod codes;
pub(crate) mod devices;
pub(crate) mod families;
pub(crate) mod grants;
pub(crate) mod requests;
pub(crate) mod sessions;
pub(crate) mod sign_ins;
pub(crate) mod tokens;
