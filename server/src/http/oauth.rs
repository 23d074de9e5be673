//! The OAuth 2.0 endpoints and the authorization pages.

pub(super) mod authorize;
pub(super) mod client_auth;
pub(super) mod introspect;
pub(super) mod metadata;
pub(super) mod out_of_band;
pub(super) mod registration;
pub(super) mod revoke;
pub(super) mod token;
pub(super) mod userinfo;
