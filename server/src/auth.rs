//! Who acts: passwords, access tokens and application services.

pub mod application_services;
pub mod passwords;
pub mod tokens;
