//! Names of the machine's architecture.

use std::env::consts::{ARCH, OS};

use crate::PackagingError;

/// The architecture of this machine, and therefore of the packages.
#[derive(Debug)]
pub(crate) struct Platform {
    /// The name that `uname -m` prints.
    pub(crate) machine: &'static str,
    /// The name in Debian and in container images.
    pub(crate) debian: &'static str,
}

impl Platform {
    pub(crate) fn current() -> Result<Self, PackagingError> {
        match (OS, ARCH) {
            ("linux", "x86_64") => Ok(Self { machine: "x86_64", debian: "amd64" }),
            ("linux", "aarch64") => Ok(Self { machine: "aarch64", debian: "arm64" }),
            _ => Err(format!("packages are built on Linux for amd64 and arm64, not {OS} {ARCH}"))?,
        }
    }
}
