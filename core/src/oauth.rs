//! OAuth 2.0 as far as it can be decided without waiting: who may ask for what, and what is
//! answered.

pub mod account;
pub mod scope;
