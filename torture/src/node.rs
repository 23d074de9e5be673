//! A Belfry node that can be stopped and restarted with the same data and address.

use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use test_engines::{Server, free_port};

use crate::Result;
use crate::outcome::Run;

pub(crate) struct Node {
    pub(crate) binary: PathBuf,
    dir: TempDir,
    pub(crate) address: SocketAddr,
    /// The beginning of a command line that runs `belfry`; empty to run it directly.
    pub(crate) command_prefix: Vec<OsString>,
    arguments: Vec<OsString>,
    server: Option<Server>,
}

impl Node {
    /// Prepares a node with the given arguments for `belfry serve` and settings for `belfry.toml`.
    pub(crate) fn new(run: &Run, arguments: &[&str], settings: &str) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("belfry-torture-").tempdir()?;
        fs::write(dir.path().join("belfry.toml"), settings)?;
        Ok(Self {
            binary: run.settings.belfry.clone(),
            dir,
            // The address stays the same after a restart, because the issuer contains it.
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?)),
            command_prefix: vec![],
            arguments: arguments.iter().map(OsString::from).collect(),
            server: None,
        })
    }

    pub(crate) fn start_new(run: &Run, arguments: &[&str], settings: &str) -> Result<Self> {
        let mut node = Self::new(run, arguments, settings)?;
        node.start()?;
        Ok(node)
    }

    /// Starts the stopped node and waits until it listens.
    pub(crate) fn start(&mut self) -> Result<()> {
        let mut command_line = self.command_prefix.clone();
        command_line.push(self.binary.clone().into());
        let mut command = Command::new(&command_line[0]);
        command.args(&command_line[1..]).args(["serve", "--listen"]).arg(self.address.to_string());
        command.args(&self.arguments);
        remove_settings(&mut command);
        self.server = Some(Server::start(command, self.dir.path())?);
        Ok(())
    }

    /// Runs a `belfry` command with the settings of this node, and returns its output.
    pub(crate) fn run_command(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.dir());
        remove_settings(&mut command);
        let output = command.output()?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        let error = String::from_utf8_lossy(&output.stderr);
        Err(format!("belfry {}: {error}", arguments.join(" ")).into())
    }

    pub(crate) fn kill(&mut self) -> Result<()> {
        Ok(self.server.take().ok_or("the node is not running")?.kill()?)
    }

    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub(crate) fn server(&mut self) -> Result<&mut Server> {
        self.server.as_mut().ok_or_else(|| "the node is not running".into())
    }

    /// Returns the log so far, to explain an error.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

/// Removes the settings in the environment, which would change the scenario.
fn remove_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BELFRY_") {
            command.env_remove(name);
        }
    }
}
