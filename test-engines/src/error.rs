//! Errors when starting, controlling or querying an engine.

use std::{error, fmt, io};

/// An error when starting, controlling or querying an engine.
#[derive(Debug)]
pub enum EngineError {
    /// None of these programs is installed.
    Missing(&'static [&'static str]),
    /// The engine exited or timed out, or a command to it failed.
    Failed {
        name: String,
        /// The exit status, or a description of the failure.
        reason: String,
        /// The program's output, which may be empty.
        log: String,
    },
    /// A system call failed.
    Io(io::Error),
}

impl EngineError {
    pub(crate) fn not_running(name: &str) -> Self {
        Self::Failed { name: name.into(), reason: "not running".into(), log: String::new() }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(names) => {
                write!(f, "{} is not installed; `cargo xtask test` installs it", names.join(" or "))
            }
            Self::Failed { name, reason, log } => write!(f, "{name}: {reason}\n{log}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl error::Error for EngineError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io(error) => error.source(),
            Self::Missing(_) | Self::Failed { .. } => None,
        }
    }
}

impl From<io::Error> for EngineError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
