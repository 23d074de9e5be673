//! Delivery of notifications to devices: the acceptance of messages, the workers that take them from
//! the queue, the HTTP client that connects only to permitted addresses, and the encryption of Web Push.

pub mod acceptance;
pub mod metrics;
pub mod outbound;
pub mod sealed;
pub mod sender;
pub mod vapid_keys;
pub mod web_push;
pub mod worker;
