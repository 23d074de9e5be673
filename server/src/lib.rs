//! Belfry.
