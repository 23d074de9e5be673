//! A private chromedriver, through which tests drive Chromium.

use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

use tempfile::TempDir;

use crate::launch::{find_program, launch, temp_dir};
use crate::process_group::{ProcessGroup, SpawnOptions};
use crate::{EngineError, free_port};

/// A private chromedriver. Dropping it also stops its browsers.
#[derive(Debug)]
pub struct Chromedriver {
    _group: ProcessGroup,
    _dir: TempDir,
    port: u16,
}

impl Chromedriver {
    /// Starts chromedriver.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise the startup error with
    /// chromedriver's log.
    pub fn start() -> Result<Self, EngineError> {
        let mut command = Command::new(find_program(&["chromedriver"])?);
        let dir = temp_dir("chromedriver")?;
        let port = free_port()?;
        // Browsers store their profiles in TMPDIR.
        command.arg(format!("--port={port}")).env("TMPDIR", dir.path());
        let options =
            SpawnOptions { remove_dir: Some(dir.path().to_owned()), ..SpawnOptions::default() };
        let is_ready = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let group = launch(command, dir.path(), &options, is_ready)?;
        Ok(Self { _group: group, _dir: dir, port })
    }

    /// Returns the `WebDriver` endpoint: `http://…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
