//! A private PgBouncer.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;

use tempfile::TempDir;

use crate::launch::{find_program, launch, temp_dir};
use crate::postgres::{first_response_byte, unprivileged_user};
use crate::process_group::{ProcessGroup, SpawnOptions};
use crate::{EngineError, free_port};

/// A private PgBouncer in front of a PostgreSQL without passwords, with its default settings.
#[derive(Debug)]
pub struct PgBouncer {
    _group: ProcessGroup,
    _dir: TempDir,
    /// The port on 127.0.0.1.
    pub port: u16,
}

impl PgBouncer {
    /// Starts PgBouncer in front of the PostgreSQL on this port of 127.0.0.1, with this `pool_mode`.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise the reason, with its log.
    pub fn start(server_port: u16, pool_mode: &str) -> Result<Self, EngineError> {
        let program = find_program(&["pgbouncer"])?;
        let dir = temp_dir("pgbouncer")?;
        let port = free_port()?;
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={server_port} user=postgres\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = {pool_mode}\n"
        );
        let file = dir.path().join("pgbouncer.ini");
        fs::write(&file, settings)?;
        // Like PostgreSQL, PgBouncer does not run as root.
        let user = unprivileged_user()?;
        if let Some(user) = user {
            for path in [dir.path(), &file] {
                chown(path, Some(user.uid), Some(user.gid))?;
            }
        }
        let mut command = Command::new(program);
        command.arg("pgbouncer.ini");
        let remove_dir = Some(dir.path().to_owned());
        let options = SpawnOptions { remove_dir, user, ..SpawnOptions::default() };
        let is_ready = || first_response_byte(port).is_some();
        let group = launch(command, dir.path(), &options, is_ready)?;
        Ok(Self { _group: group, _dir: dir, port })
    }
}
