//! Delivery of notifications to devices: receivers, permitted addresses, message formats, and the
//! consequences of a response.

pub mod address;
pub mod answer;
pub mod attempt_error;
pub mod endpoint;
pub mod keys;
pub mod message;
pub mod notify_request;
pub mod pusher;
pub mod receiver;
pub mod subscription;
