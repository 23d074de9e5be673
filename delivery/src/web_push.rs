//! Web Push: encryption of messages for a device, and authentication of the sender.

pub mod encryption;
pub mod vapid;
