//! A private PostgreSQL.

mod replication;

use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::unistd::{User, geteuid};
use tempfile::TempDir;

use crate::cpu::cpu_time_us_with_children;
use crate::launch::{find_program, launch, temp_dir};
use crate::process_group::{ProcessGroup, Signal, SpawnOptions, UserIds};
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

/// Settings for speed: commits do not wait for the disk, and queries are not compiled.
const TEST_SETTINGS: [&str; 3] = ["fsync=off", "full_page_writes=off", "jit=off"];

impl Postgres {
    /// Starts PostgreSQL for tests: for speed, commits do not wait for the disk.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise the reason, with its log.
    pub fn start() -> Result<Self, EngineError> {
        Self::start_with(&[], &[])
    }

    /// Starts PostgreSQL for tests with these files in its data directory, which only the server
    /// can read, and `settings` (`name=value`).
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_with(files: &[(&str, &str)], settings: &[&str]) -> Result<Self, EngineError> {
        Self::create(files, &[&TEST_SETTINGS, settings].concat())
    }

    /// Starts PostgreSQL for measurements: commits wait for the disk.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_durable() -> Result<Self, EngineError> {
        Self::start_durable_with(&[])
    }

    /// Starts PostgreSQL for measurements with `settings` (`name=value`).
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_durable_with(settings: &[&str]) -> Result<Self, EngineError> {
        Self::create(&[], settings)
    }

    fn create(files: &[(&str, &str)], settings: &[&str]) -> Result<Self, EngineError> {
        // The entry in PATH may be a symbolic link; `initdb` is next to its target.
        let program = find_program(&["postgres"])?.canonicalize()?;
        let user = unprivileged_user()?;
        let dir = temp_dir_for(user)?;
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
        let arguments = ["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8"];
        self.run_program("initdb", &[&arguments[..], &["--locale=C", "--pgdata=data"]].concat())
    }

    /// Runs a PostgreSQL program in this server's directory, as its user.
    fn run_program(&self, program: &str, arguments: &[&str]) -> Result<(), EngineError> {
        let mut command = Command::new(self.program.with_file_name(program));
        command.args(arguments);
        let options = SpawnOptions { user: self.user, ..SpawnOptions::default() };
        let status = launch(command, self.dir.path(), &options, || true)?.wait()?;
        if status.success() {
            return Ok(());
        }
        let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        Err(EngineError::Failed { name: program.to_owned(), reason: status.to_string(), log })
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

    /// Returns the superuser's URL: `postgres://…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs statements as the superuser and returns their values, one row on each line.
    ///
    /// # Errors
    /// If the server does not respond or rejects them.
    pub fn execute(&self, statements: &str) -> Result<String, EngineError> {
        let mut psql = Command::new(self.program.with_file_name("psql"));
        let options = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"];
        psql.args(options).args(["--set", "ON_ERROR_STOP=1", "--command", statements]);
        let output = psql.arg(self.url()).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(EngineError::Failed { name: "psql".into(), reason: output.status.to_string(), log })
    }

    /// Returns the CPU time that the server and its backends have used so far in microseconds; NaN
    /// where `/proc` does not exist.
    #[must_use]
    pub fn cpu_time_us(&self) -> f64 {
        self.group.as_ref().map_or(f64::NAN, |group| cpu_time_us_with_children(group.id()))
    }

    /// Returns the lines of the server's log that report a crash, with their details.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn crash_report(&self) -> io::Result<String> {
        let log = std::fs::read_to_string(self.dir.path().join("log"))?;
        let mut is_about_crash = false;
        let mut report = String::new();
        for line in log.lines() {
            if line.contains("LOG:  ") || line.contains("PANIC:  ") {
                is_about_crash = line.contains("PANIC:  ") || line.contains("was terminated by");
            }
            if is_about_crash {
                report += line;
                report.push('\n');
            }
        }
        Ok(report)
    }

    /// Stops the server in "fast" mode: clients are disconnected, transactions rolled back.
    /// [`Postgres::restart`] uses the same port and data.
    ///
    /// # Errors
    /// If the exit status cannot be read.
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
    /// If it is not running.
    pub fn kill(&mut self) -> Result<(), EngineError> {
        // Backends run in separate sessions. Backends that outlive the server would prevent a
        // restart until they detect that it has exited.
        self.signal_all(Signal::SIGKILL)?;
        if let Some(group) = self.group.take() {
            group.stop(Signal::SIGKILL)?;
        }
        Ok(())
    }

    /// Suspends the server and its backends: connections stay open, and nothing responds.
    ///
    /// # Errors
    /// If it is not running.
    pub fn pause(&mut self) -> Result<(), EngineError> {
        self.signal_all(Signal::SIGSTOP)
    }

    /// Resumes a paused server.
    ///
    /// # Errors
    /// If it is not running.
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
    /// If it does not start, with its log.
    pub fn restart(&mut self) -> Result<(), EngineError> {
        let port = self.port;
        self.launch(|| first_response_byte(port) == Some(b'R'))
    }

    fn launch(&mut self, is_ready: impl FnMut() -> bool) -> Result<(), EngineError> {
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
        let remove_dir = Some(self.dir.path().to_owned());
        let options = SpawnOptions { stop_signal: Signal::SIGQUIT, remove_dir, user: self.user };
        self.group = Some(launch(command, self.dir.path(), &options, is_ready)?);
        Ok(())
    }
}

/// Creates a directory for a server that runs as `user`.
fn temp_dir_for(user: Option<UserIds>) -> io::Result<TempDir> {
    let dir = temp_dir("postgres")?;
    if let Some(user) = user {
        chown(dir.path(), Some(user.uid), Some(user.gid))?;
    }
    Ok(dir)
}

/// Returns the user `postgres`, or else `nobody`, if this process runs as root, otherwise `None`.
pub(crate) fn unprivileged_user() -> io::Result<Option<UserIds>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    for name in ["postgres", "nobody"] {
        if let Some(user) = User::from_name(name)? {
            return Ok(Some(UserIds { uid: user.uid.as_raw(), gid: user.gid.as_raw() }));
        }
    }
    Err(io::Error::other("this system has no user postgres or nobody"))
}

/// Sends a startup message and returns the first byte of the response: `R` (authentication), or `E`
/// (error) from a server that is still starting.
pub(crate) fn first_response_byte(port: u16) -> Option<u8> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").ok()?;
    let mut response = [0; 1];
    stream.read_exact(&mut response).ok()?;
    Some(response[0])
}
