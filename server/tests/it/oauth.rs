//! OAuth, account and session endpoints over HTTP.

mod account;
mod accounts;
mod apps;
mod authorize;
mod bodies;
mod client_auth;
mod codes;
mod common_errors;
mod consent;
mod discovery;
mod double_submit;
mod imported_passwords;
mod introspect;
mod languages;
mod last_use;
mod out_of_band;
mod pages;
mod passwords;
mod public_clients;
mod races;
mod rejections;
mod removal;
mod revoke;
mod secret_rotation;
mod secrets;
mod sign_in;
mod token;

pub(crate) use self::client_auth::basic_header;
pub(crate) use self::pages::assert_security_headers;
use crate::support::{Browser, OAuthClient, Service};

/// Starts a service with Alice's account; returns it with a registered app and a browser.
async fn start_with_alice() -> (Service, OAuthClient, Browser) {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let browser = service.browser();
    (service, client, browser)
}
