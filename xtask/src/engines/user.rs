//! The system user that an engine runs as when we are root.

use std::io;
use std::process::Command;

/// A system user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// Its number.
    pub uid: u32,
    /// The number of its first group.
    pub gid: u32,
}

impl User {
    /// For a program that refuses to be root: `None` if we are not, else the first of these users
    /// that the system knows.
    pub(super) fn instead_of_root(names: &[&str]) -> io::Result<Option<Self>> {
        if id(&["-u"])? != 0 {
            return Ok(None);
        }
        for name in names {
            if let (Ok(uid), Ok(gid)) = (id(&["-u", name]), id(&["-g", name])) {
                return Ok(Some(Self { uid, gid }));
            }
        }
        Err(io::Error::other(format!("there is no user {}", names.join(" or "))))
    }
}

fn id(arguments: &[&str]) -> io::Result<u32> {
    let output = Command::new("id").args(arguments).output()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().map_err(io::Error::other)
}
