//! A private chromedriver: the door to a Chromium that a test drives.

use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

use super::{EngineError, free_port, launch, program};
use crate::folder::Folder;
use crate::group::{Ending, Group};

/// A private chromedriver; the browsers that it starts end with it.
#[derive(Debug)]
pub struct Chromedriver {
    _group: Group,
    _folder: Folder,
    port: u16,
}

impl Chromedriver {
    /// Starts one.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise what went wrong, with its log.
    pub fn start() -> Result<Self, EngineError> {
        let driver = program(&["chromedriver"])?;
        let folder = Folder::new("belfry-chromedriver")?;
        let port = free_port()?;
        let mut command = Command::new(driver);
        // Browsers put their profiles there.
        command.arg(format!("--port={port}")).env("TMPDIR", folder.path());
        let ending = Ending { remove: Some(folder.path().to_owned()), ..Ending::default() };
        let answers = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let group = launch(command, folder.path(), &ending, answers)?;
        Ok(Self { _group: group, _folder: folder, port })
    }

    /// Where `WebDriver` is spoken: `http://…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
