//! OAuth over HTTP. Numbers in comments are those of the list of attacks that every release is
//! held against.

mod account;
mod accounts;
mod apps;
mod authorize;
mod bodies;
mod client_auth;
mod codes;
mod consent;
mod discovery;
mod introspect;
mod native;
mod pages;
mod passwords;
mod races;
mod removal;
mod revoke;
mod secrets;
mod sign_in;
mod token;
mod trouble;
mod twice;

pub(crate) use self::client_auth::basic;
