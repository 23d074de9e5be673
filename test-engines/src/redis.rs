//! A private Redis or Valkey.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::cpu::cpu_time_us;
use crate::launch::{find_program, launch, temp_dir};
use crate::process_group::{ProcessGroup, Signal, SpawnOptions};
use crate::{EngineError, free_port};

/// A private Redis or Valkey without persistence.
#[derive(Debug)]
pub struct Redis {
    group: Option<ProcessGroup>,
    dir: TempDir,
    program: PathBuf,
    options: Vec<String>,
    port: u16,
    is_paused: bool,
}

impl Redis {
    /// Starts Redis or Valkey.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if neither is installed; otherwise the reason, with its log.
    pub fn start() -> Result<Self, EngineError> {
        Self::start_with(Vec::new())
    }

    /// Starts Redis or Valkey with additional command-line options.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with(options: Vec<String>) -> Result<Self, EngineError> {
        let program = find_program(&["redis-server", "valkey-server"])?;
        let dir = temp_dir("redis")?;
        let port = free_port()?;
        let is_paused = false;
        let mut redis = Self { group: None, dir, program, options, port, is_paused };
        redis.restart()?;
        Ok(redis)
    }

    /// Returns the server's URL: `redis://…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Returns the port that the server listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the server's host and port.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns whether the server is running and not paused.
    #[must_use]
    pub fn is_responsive(&self) -> bool {
        self.group.is_some() && !self.is_paused
    }

    /// Returns the CPU time that the server has used so far in microseconds; NaN where `/proc` does
    /// not exist.
    #[must_use]
    pub fn cpu_time_us(&self) -> f64 {
        self.group.as_ref().map_or(f64::NAN, |group| cpu_time_us(group.id()))
    }

    /// Returns a section of the response to `INFO`, such as `commandstats`.
    ///
    /// # Errors
    /// If the server does not respond.
    pub fn info(&self, section: &str) -> Result<String, EngineError> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        // Redis closes the connection after the response.
        stream.write_all(format!("INFO {section}\r\nQUIT\r\n").as_bytes())?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    }

    /// Stops the server. Its data is lost; [`Self::restart`] uses the same port.
    ///
    /// # Errors
    /// If the exit status cannot be read.
    pub fn stop(&mut self) -> Result<(), EngineError> {
        if let Some(group) = self.group.take() {
            group.stop(Signal::SIGTERM)?;
        }
        Ok(())
    }

    /// Kills the server with SIGKILL. Its data is lost; [`Self::restart`] uses the same port.
    ///
    /// # Errors
    /// If the exit status cannot be read.
    pub fn kill(&mut self) -> Result<(), EngineError> {
        if let Some(group) = self.group.take() {
            group.stop(Signal::SIGKILL)?;
        }
        Ok(())
    }

    /// Starts a stopped server on its port, without data. Does nothing if it is running.
    ///
    /// # Errors
    /// If it does not start, with its log.
    pub fn restart(&mut self) -> Result<(), EngineError> {
        if self.group.is_some() {
            return Ok(());
        }
        let mut command = Command::new(&self.program);
        command.args(["--bind", "127.0.0.1", "--port", &self.port.to_string()]);
        command.args(["--save", "", "--appendonly", "no"]).args(&self.options);
        let remove_dir = Some(self.dir.path().to_owned());
        let options = SpawnOptions { remove_dir, ..SpawnOptions::default() };
        let port = self.port;
        let is_ready = || ping(port).is_some();
        self.is_paused = false;
        self.group = Some(launch(command, self.dir.path(), &options, is_ready)?);
        Ok(())
    }

    /// Suspends the server process: the kernel accepts connections, but no request is processed.
    ///
    /// # Errors
    /// If it is not running.
    pub fn pause(&mut self) -> Result<(), EngineError> {
        self.signal(Signal::SIGSTOP)?;
        self.is_paused = true;
        Ok(())
    }

    /// Resumes a paused server.
    ///
    /// # Errors
    /// If it is not running.
    pub fn resume(&mut self) -> Result<(), EngineError> {
        self.signal(Signal::SIGCONT)?;
        self.is_paused = false;
        Ok(())
    }

    fn signal(&mut self, signal: Signal) -> Result<(), EngineError> {
        let group = self.group.as_mut().ok_or_else(|| EngineError::not_running("redis"))?;
        Ok(group.signal(signal)?)
    }
}

/// Returns `Some` if the server responds to `PING`.
fn ping(port: u16) -> Option<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(b"PING\r\n").ok()?;
    let mut response = [0; 5];
    stream.read_exact(&mut response).ok()?;
    (&response == b"+PONG").then_some(())
}
