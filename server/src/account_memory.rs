//! Bounds on the memory that one account can occupy with large bodies and unread responses.

pub mod large_bodies;
pub mod unread_responses;
