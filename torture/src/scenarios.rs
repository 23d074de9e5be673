//! The scenarios, by the part that fails.

pub(crate) mod cluster;
pub(crate) mod connections;
pub(crate) mod failover;
pub(crate) mod kill;
pub(crate) mod push_kill;
pub(crate) mod redeem;
pub(crate) mod restore;
