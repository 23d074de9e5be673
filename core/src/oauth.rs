//! OAuth 2.0 with Mastodon's API: requests, grants, scopes and responses, without I/O.

pub mod app;
pub mod authorization_request;
pub mod authorization_response;
pub mod client;
pub mod client_auth;
pub mod consent;
pub mod error;
pub mod grant;
pub mod issuer_policy;
pub mod parameter;
pub mod parameters;
pub mod pkce;
pub mod redirect;
pub mod registration;
pub mod scope;
pub mod token;
pub mod token_family;
pub mod token_request;
pub mod web_address;
