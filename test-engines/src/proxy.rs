//! A private reverse proxy: nginx, Caddy or any other program.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::EngineError;
use crate::launch::{find_program, launch, temp_dir};
use crate::process_group::{ProcessGroup, SpawnOptions};

/// A private reverse proxy with the given configuration, which must listen on 127.0.0.1 at a port
/// from [`free_port`](crate::free_port). Its files are in a temporary directory.
#[derive(Debug)]
pub struct Proxy {
    _group: ProcessGroup,
    _dir: TempDir,
}

impl Proxy {
    /// Starts nginx with this text as its whole `nginx.conf`.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise the reason, with its log.
    pub fn nginx(port: u16, configuration: &str) -> Result<Self, EngineError> {
        Self::start_installed(&["nginx"], port, configuration, |command, dir| {
            command.arg("-p").arg(dir.path()).args(["-c", "configuration", "-e", "stderr"]);
            command.args(["-g", "daemon off; pid nginx.pid;"]);
        })
    }

    /// Starts Caddy with this text as its whole `Caddyfile`.
    ///
    /// # Errors
    /// As [`Self::nginx`].
    pub fn caddy(port: u16, configuration: &str) -> Result<Self, EngineError> {
        Self::start_installed(&["caddy"], port, configuration, |command, dir| {
            command.args(["run", "--adapter", "caddyfile", "--config", "configuration"]);
            command.env("XDG_DATA_HOME", dir.path()).env("XDG_CONFIG_HOME", dir.path());
        })
    }

    /// Starts any other proxy, given by its program and arguments.
    ///
    /// # Errors
    /// The reason, with its log.
    pub fn start_custom(
        program: &Path,
        arguments: &[&str],
        port: u16,
    ) -> Result<Self, EngineError> {
        Self::start_program(program, port, "", |command, _| {
            command.args(arguments);
        })
    }

    fn start_installed(
        names: &'static [&'static str],
        port: u16,
        configuration: &str,
        add_arguments: impl FnOnce(&mut Command, &TempDir),
    ) -> Result<Self, EngineError> {
        Self::start_program(&find_program(names)?, port, configuration, add_arguments)
    }

    fn start_program(
        program: &Path,
        port: u16,
        configuration: &str,
        add_arguments: impl FnOnce(&mut Command, &TempDir),
    ) -> Result<Self, EngineError> {
        let mut command = Command::new(program);
        let dir = temp_dir("proxy")?;
        fs::write(dir.path().join("configuration"), configuration)?;
        add_arguments(&mut command, &dir);
        let options =
            SpawnOptions { remove_dir: Some(dir.path().to_owned()), ..SpawnOptions::default() };
        let is_ready = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let group = launch(command, dir.path(), &options, is_ready)?;
        Ok(Self { _group: group, _dir: dir })
    }
}
