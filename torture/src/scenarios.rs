//! The scenarios, by what they break.

pub(crate) mod clock;
pub(crate) mod connections;
pub(crate) mod disk;
pub(crate) mod engines;
pub(crate) mod kill;
pub(crate) mod redeem;
