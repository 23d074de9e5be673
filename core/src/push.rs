//! Delivery of notifications to devices: receivers, permitted addresses, message formats, the
//! consequences of a response, and the choice of the next message.

pub mod address;
pub mod answer;
pub mod attempt_error;
pub mod endpoint;
pub mod keys;
pub mod lane;
pub mod lane_slots;
pub mod message;
pub mod notify_request;
pub mod pusher;
pub mod read_request;
pub mod receiver;
pub mod subscription;
