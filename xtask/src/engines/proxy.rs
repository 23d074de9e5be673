//! A private proxy: nginx or Caddy.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

use super::{EngineError, launch, program};
use crate::folder::Folder;
use crate::group::{Ending, Group};

/// A private proxy with a configuration of the caller's, which listens on 127.0.0.1 at a port of
/// [`super::free_port`]. What it keeps is in a temporary folder.
#[derive(Debug)]
pub struct Proxy {
    _group: Group,
    _folder: Folder,
}

impl Proxy {
    /// Starts an nginx with this text as its whole `nginx.conf`.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise what went wrong, with its log.
    pub fn nginx(port: u16, configuration: &str) -> Result<Self, EngineError> {
        Self::start(&["nginx"], port, configuration, |command, folder| {
            command.arg("-p").arg(folder.path()).args(["-c", "configuration", "-e", "stderr"]);
            command.args(["-g", "daemon off; pid nginx.pid;"]);
        })
    }

    /// Starts a Caddy with this text as its whole `Caddyfile`.
    ///
    /// # Errors
    /// As [`Self::nginx`].
    pub fn caddy(port: u16, configuration: &str) -> Result<Self, EngineError> {
        Self::start(&["caddy"], port, configuration, |command, folder| {
            command.args(["run", "--adapter", "caddyfile", "--config", "configuration"]);
            command.env("XDG_DATA_HOME", folder.path()).env("XDG_CONFIG_HOME", folder.path());
        })
    }

    fn start(
        names: &'static [&'static str],
        port: u16,
        configuration: &str,
        arguments: impl FnOnce(&mut Command, &Folder),
    ) -> Result<Self, EngineError> {
        let mut command = Command::new(program(names)?);
        let folder = Folder::new("belfry-proxy")?;
        fs::write(folder.path().join("configuration"), configuration)?;
        arguments(&mut command, &folder);
        let ending = Ending { remove: Some(folder.path().to_owned()), ..Ending::default() };
        let answers = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let group = launch(command, folder.path(), &ending, answers)?;
        Ok(Self { _group: group, _folder: folder })
    }
}
