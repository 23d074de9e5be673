//! OAuth 2.0 with Mastodon's API: requests, grants, scopes and responses, without I/O.

pub mod account;
pub mod app;
pub mod authorization_request;
pub mod bearer;
pub mod client;
pub mod client_auth;
pub mod client_secret;
pub mod client_token_request;
pub mod consent;
pub mod error;
pub mod form;
pub mod grant;
pub mod language_tag;
pub mod metadata;
pub mod parameter;
pub mod parameters;
pub mod password_hash;
pub mod pkce;
pub mod redirect;
pub mod response;
pub mod scope;
pub mod sign_up;
pub mod token;
pub mod token_request;
pub mod uri;
pub mod validation;
