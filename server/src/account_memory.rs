//! Per-account memory limits: one expensive request at a time, and a maximum size of unread
//! responses.

pub mod account_slots;
pub mod unread_responses;
