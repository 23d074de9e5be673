//! Belfry.
fn main() {}
