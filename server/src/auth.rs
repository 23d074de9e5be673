//! Authentication of people, passwords, access tokens and application services.

pub mod application_services;
pub mod authentication;
pub mod passwords;
pub mod tokens;
