//! A private PostgreSQL.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::{EngineError, User, free_port, launch, program};
use crate::folder::Folder;
use crate::group::{Ending, Group, Signal};

/// A private PostgreSQL with an empty database, where everybody on this machine may do everything.
///
/// PostgreSQL refuses to run as root; for root it runs as `postgres` or `nobody`.
#[derive(Debug)]
pub struct Postgres {
    group: Option<Group>,
    folder: Folder,
    server: PathBuf,
    port: u16,
    durable: bool,
    user: Option<User>,
}

impl Postgres {
    /// Starts one for tests: it forgets what a crash of the machine would lose.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise what went wrong, with its log.
    pub fn start() -> Result<Self, EngineError> {
        Self::start_as(false)
    }

    /// Starts one for measurements: a commit waits for the disk.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_durable() -> Result<Self, EngineError> {
        Self::start_as(true)
    }

    fn start_as(durable: bool) -> Result<Self, EngineError> {
        // What is in PATH may be a link, and `initdb` stands beside the real one.
        let server = program(&["postgres"])?.canonicalize()?;
        let folder = Folder::new("belfry-postgres")?;
        let user = User::instead_of_root(&["postgres", "nobody"])?;
        if let Some(user) = user {
            chown(folder.path(), Some(user.uid), Some(user.gid))?;
        }
        let mut postgres = Self { group: None, folder, server, port: free_port()?, durable, user };
        postgres.initialise()?;
        postgres.start_again()?;
        Ok(postgres)
    }

    fn initialise(&self) -> Result<(), EngineError> {
        let mut initdb = Command::new(self.server.with_file_name("initdb"));
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres"]);
        initdb.args(["--encoding=UTF8", "--locale=C", "--pgdata=data"]);
        let ending = Ending { user: self.user, ..Ending::default() };
        let group = launch(initdb, self.folder.path(), &ending, || true)?;
        let status = group.wait()?;
        if status.success() {
            return Ok(());
        }
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        Err(EngineError::Failed { name: "initdb".into(), reason: status.to_string(), log })
    }

    /// Where it is: `postgres://…`, as its superuser.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops it as an operator would: clients are disconnected, transactions rolled back. Its port
    /// and its data are kept for [`Postgres::start_again`].
    ///
    /// # Errors
    /// When the system cannot say how it ended.
    pub fn stop(&mut self) -> Result<(), EngineError> {
        if let Some(group) = self.group.take() {
            group.stop(Signal::Int)?;
        }
        Ok(())
    }

    /// Starts a stopped one on its port with its data; nothing happens to a running one.
    ///
    /// # Errors
    /// When it does not start, with its log.
    pub fn start_again(&mut self) -> Result<(), EngineError> {
        if self.group.is_some() {
            return Ok(());
        }
        let mut server = Command::new(&self.server);
        server.args(["-D", "data", "-h", "127.0.0.1", "-p", &self.port.to_string(), "-k"]);
        server.arg(self.folder.path()).args(["-c", "max_connections=300"]);
        if !self.durable {
            server.args(["-c", "fsync=off", "-c", "full_page_writes=off"]);
        }
        // Without mercy for the data, which goes with the folder.
        let remove = Some(self.folder.path().to_owned());
        let port = self.port;
        let ending = Ending { signal: Signal::Quit, remove, user: self.user };
        self.group = Some(launch(server, self.folder.path(), &ending, || lets_in(port).is_some())?);
        Ok(())
    }
}

/// Whether it lets us in, by the first message of its protocol; while it starts it says `E`.
fn lets_in(port: u16) -> Option<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").ok()?;
    let mut answer = [0; 1];
    stream.read_exact(&mut answer).ok()?;
    (&answer == b"R").then_some(())
}
