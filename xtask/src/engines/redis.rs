//! A private Redis or Valkey.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::{EngineError, free_port, launch, program};
use crate::folder::Folder;
use crate::group::{Ending, Group, Signal};

/// A private Redis, or Valkey, that writes nothing to disk.
#[derive(Debug)]
pub struct Redis {
    group: Option<Group>,
    folder: Folder,
    server: PathBuf,
    options: Vec<String>,
    port: u16,
}

impl Redis {
    /// Starts one.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise what went wrong, with its log.
    pub fn start() -> Result<Self, EngineError> {
        Self::start_with(Vec::new())
    }

    /// Starts one with these options more.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with(options: Vec<String>) -> Result<Self, EngineError> {
        let server = program(&["redis-server", "valkey-server"])?;
        let folder = Folder::new("belfry-redis")?;
        let mut redis = Self { group: None, folder, server, options, port: free_port()? };
        redis.start_again()?;
        Ok(redis)
    }

    /// Where it is: `redis://…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Stops it; it forgets everything but its port.
    ///
    /// # Errors
    /// When the system cannot say how it ended.
    pub fn stop(&mut self) -> Result<(), EngineError> {
        if let Some(group) = self.group.take() {
            group.stop(Signal::Term)?;
        }
        Ok(())
    }

    /// Starts a stopped one, empty, on its port; nothing happens to a running one.
    ///
    /// # Errors
    /// When it does not start, with its log.
    pub fn start_again(&mut self) -> Result<(), EngineError> {
        if self.group.is_some() {
            return Ok(());
        }
        let mut server = Command::new(&self.server);
        server.args(["--bind", "127.0.0.1", "--port", &self.port.to_string()]);
        server.args(["--save", "", "--appendonly", "no"]).args(&self.options);
        let remove = Some(self.folder.path().to_owned());
        let ending = Ending { remove, ..Ending::default() };
        let port = self.port;
        let answers = || pong(port).is_some();
        self.group = Some(launch(server, self.folder.path(), &ending, answers)?);
        Ok(())
    }

    /// Freezes it: connections are taken by the system and nobody answers, as when it is far too
    /// slow.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pause(&mut self) -> Result<(), EngineError> {
        self.signal(Signal::Stop)
    }

    /// Lets a paused one go on.
    ///
    /// # Errors
    /// When it does not run.
    pub fn resume(&mut self) -> Result<(), EngineError> {
        self.signal(Signal::Cont)
    }

    fn signal(&mut self, signal: Signal) -> Result<(), EngineError> {
        let group = self.group.as_mut().ok_or_else(|| EngineError::Failed {
            name: "redis".into(),
            reason: "it is stopped".into(),
            log: String::new(),
        })?;
        Ok(group.signal(signal)?)
    }
}

fn pong(port: u16) -> Option<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(b"PING\r\n").ok()?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).ok()?;
    (&answer == b"+PONG").then_some(())
}
