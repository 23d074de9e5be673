//! Receivers, their deliveries, and the keys that identify this server to push services.

pub(crate) mod deliveries;
pub(crate) mod lanes;
pub(crate) mod receiver_list;
pub(crate) mod receivers;
