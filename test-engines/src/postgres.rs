//! A private PostgreSQL.

use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::unistd::{User, geteuid};
use tempfile::TempDir;

use crate::launch::{find_program, launch, temp_dir};
use crate::process_group::{OnDrop, ProcessGroup, Signal, UserIds};
use crate::{EngineError, free_port};

/// A private PostgreSQL with an empty database and without passwords.
///
/// PostgreSQL does not run as root; if the tests do, it runs as `postgres` or `nobody`.
#[derive(Debug)]
pub struct Postgres {
    group: Option<ProcessGroup>,
    dir: TempDir,
    program: PathBuf,
    port: u16,
    settings: Vec<String>,
    user: Option<UserIds>,
}

/// Faster, because commits do not wait for the disk.
const NOT_DURABLE: [&str; 2] = ["fsync=off", "full_page_writes=off"];

impl Postgres {
    /// Starts PostgreSQL for tests: faster, because commits do not wait for the disk.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise the reason, with its log.
    pub fn start() -> Result<Self, EngineError> {
        Self::start_with(&[], &[])
    }

    /// Starts PostgreSQL for tests with these files in its data directory, which only the server
    /// can read, and these settings (`name=value`).
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_with(files: &[(&str, &str)], settings: &[&str]) -> Result<Self, EngineError> {
        Self::start_as(files, &[&NOT_DURABLE, settings].concat())
    }

    /// Starts PostgreSQL for measurements: commits wait for the disk.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_durable() -> Result<Self, EngineError> {
        Self::start_as(&[], &[])
    }

    fn start_as(files: &[(&str, &str)], settings: &[&str]) -> Result<Self, EngineError> {
        // The entry in PATH may be a symbolic link; `initdb` is next to its target.
        let program = find_program(&["postgres"])?.canonicalize()?;
        let dir = temp_dir("postgres")?;
        let user = unprivileged_user(&["postgres", "nobody"])?;
        if let Some(user) = user {
            chown(dir.path(), Some(user.uid), Some(user.gid))?;
        }
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let mut postgres = Self { group: None, dir, program, port: free_port()?, settings, user };
        postgres.initialise()?;
        for (name, content) in files {
            postgres.write_file(name, content)?;
        }
        postgres.restart()?;
        Ok(postgres)
    }

    fn initialise(&self) -> Result<(), EngineError> {
        let mut initdb = Command::new(self.program.with_file_name("initdb"));
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres"]);
        initdb.args(["--encoding=UTF8", "--locale=C", "--pgdata=data"]);
        let on_drop = OnDrop { user: self.user, ..OnDrop::default() };
        let status = launch(initdb, self.dir.path(), &on_drop, || true)?.wait()?;
        if status.success() {
            return Ok(());
        }
        let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        Err(EngineError::Failed { name: "initdb".into(), reason: status.to_string(), log })
    }

    fn write_file(&self, name: &str, content: &str) -> io::Result<()> {
        let path = self.dir.path().join("data").join(name);
        std::fs::write(&path, content)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        match self.user {
            Some(user) => chown(&path, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        }
    }

    /// Returns the URL of the superuser: `postgres://…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops the server in "fast" mode: clients are disconnected, transactions rolled back.
    /// [`Postgres::restart`] uses the same port and data.
    ///
    /// # Errors
    /// When the exit status cannot be read.
    pub fn stop(&mut self) -> Result<(), EngineError> {
        if let Some(group) = self.group.take() {
            group.stop(Signal::SIGINT)?;
        }
        Ok(())
    }

    /// Kills the server and its backends with SIGKILL, as the kernel does when memory is exhausted.
    /// [`Postgres::restart`] recovers its data.
    ///
    /// # Errors
    /// When it is not running.
    pub fn kill(&mut self) -> Result<(), EngineError> {
        // Backends are in sessions of their own. Those that outlive the server would prevent a
        // restart until they notice.
        self.signal_all(Signal::SIGKILL)?;
        if let Some(group) = self.group.take() {
            group.stop(Signal::SIGKILL)?;
        }
        Ok(())
    }

    /// Suspends the server and its backends: connections stay open, and nothing responds.
    ///
    /// # Errors
    /// When it is not running.
    pub fn pause(&mut self) -> Result<(), EngineError> {
        self.signal_all(Signal::SIGSTOP)
    }

    /// Resumes a paused server.
    ///
    /// # Errors
    /// When it is not running.
    pub fn resume(&mut self) -> Result<(), EngineError> {
        self.signal_all(Signal::SIGCONT)
    }

    fn signal_all(&mut self, signal: Signal) -> Result<(), EngineError> {
        let group = self.group.as_mut().ok_or_else(|| EngineError::not_running("postgres"))?;
        Ok(group.signal_with_children(signal)?)
    }

    /// Starts a stopped server on its port with its data. Does nothing if it is running.
    ///
    /// # Errors
    /// When it does not start, with its log.
    pub fn restart(&mut self) -> Result<(), EngineError> {
        if self.group.is_some() {
            return Ok(());
        }
        let mut command = Command::new(&self.program);
        command.args(["-D", "data", "-h", "127.0.0.1", "-p", &self.port.to_string(), "-k"]);
        command.arg(self.dir.path()).args(["-c", "max_connections=300"]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        // "Immediate" shutdown: the data is deleted with the directory.
        let remove = Some(self.dir.path().to_owned());
        let on_drop = OnDrop { signal: Signal::SIGQUIT, remove, user: self.user };
        let port = self.port;
        let is_ready = || accepts_logins(port).is_some();
        self.group = Some(launch(command, self.dir.path(), &on_drop, is_ready)?);
        Ok(())
    }
}

/// Returns the first of these users that exists if this process runs as root, otherwise `None`.
fn unprivileged_user(names: &[&str]) -> io::Result<Option<UserIds>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    for name in names {
        if let Some(user) = User::from_name(name)? {
            return Ok(Some(UserIds { uid: user.uid.as_raw(), gid: user.gid.as_raw() }));
        }
    }
    Err(io::Error::other(format!("this system has no user {}", names.join(" or "))))
}

/// Sends a startup message and returns `Some` if the response is `R` (authentication); a server
/// that is still starting responds with `E` (error).
fn accepts_logins(port: u16) -> Option<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").ok()?;
    let mut response = [0; 1];
    stream.read_exact(&mut response).ok()?;
    (&response == b"R").then_some(())
}
