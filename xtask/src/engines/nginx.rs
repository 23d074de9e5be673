//! A private nginx.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

use super::{EngineError, launch, program};
use crate::folder::Folder;
use crate::group::{Ending, Group};

/// A private nginx with a configuration of the caller's.
#[derive(Debug)]
pub struct Nginx {
    _group: Group,
    _folder: Folder,
}

impl Nginx {
    /// Starts one with this text as its whole `nginx.conf`, which listens on 127.0.0.1 at `port`
    /// (of [`super::free_port`]). Relative paths in it are in a temporary folder.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise what went wrong, with its log.
    pub fn start(port: u16, configuration: &str) -> Result<Self, EngineError> {
        let server = program(&["nginx"])?;
        let folder = Folder::new("belfry-nginx")?;
        fs::write(folder.path().join("nginx.conf"), configuration)?;
        let mut command = Command::new(server);
        command.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "stderr"]);
        command.args(["-g", "daemon off; pid nginx.pid;"]);
        let ending = Ending { remove: Some(folder.path().to_owned()), ..Ending::default() };
        let answers = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let group = launch(command, folder.path(), &ending, answers)?;
        Ok(Self { _group: group, _folder: folder })
    }
}
