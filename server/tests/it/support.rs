//! What tests share: databases that are theirs alone.

pub(crate) mod databases;
