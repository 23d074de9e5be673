//! Limits on the memory that one account can occupy: expensive requests and unread responses.

pub mod account_slots;
pub mod unread_responses;
