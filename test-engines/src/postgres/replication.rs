//! Streaming replication: a standby, its promotion, and the return of the old primary.

use std::fs::{self, File};
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use super::{Postgres, first_response_byte, temp_dir_for};
use crate::{EngineError, free_port};

/// Far longer than the servers take to reach an expected state, even on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

impl Postgres {
    /// Starts a standby of this server, with a copy of its data and the same settings.
    ///
    /// # Errors
    /// If the copy fails or the standby does not start, with its log.
    pub fn start_standby(&self) -> Result<Self, EngineError> {
        let mut standby = Self {
            group: None,
            dir: temp_dir_for(self.user)?,
            program: self.program.clone(),
            port: free_port()?,
            settings: self.settings.clone(),
            user: self.user,
        };
        standby.follow(self)?;
        Ok(standby)
    }

    /// Replaces the data of this stopped server with a copy of `primary`'s, and starts it as the
    /// standby of that server.
    ///
    /// # Errors
    /// As [`Postgres::start_standby`].
    pub fn follow(&mut self, primary: &Self) -> Result<(), EngineError> {
        let data_dir = self.dir.path().join("data");
        match fs::remove_dir_all(&data_dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let port = primary.port.to_string();
        let source = ["--host=127.0.0.1", "--username=postgres", "--port", &port];
        let options = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--pgdata=data"];
        self.run_program("pg_basebackup", &[source, options].concat())?;
        // This server has no standby yet, so its commits must not wait for one, even after its
        // promotion.
        let mut settings =
            File::options().append(true).open(data_dir.join("postgresql.auto.conf"))?;
        writeln!(settings, "synchronous_standby_names = ''")?;
        self.restart()
    }

    /// Makes all subsequent commits wait until a standby has stored them, and waits until it has
    /// stored the earlier ones.
    ///
    /// # Errors
    /// If this server does not respond, or has no standby.
    pub fn replicate_synchronously(&self) -> Result<(), EngineError> {
        self.set_parameter("synchronous_standby_names", "*")?;
        // New sessions see the setting once all processes have been notified to reload it. Commits
        // wait once the checkpointer has reloaded it, which it does before its next checkpoint.
        self.execute("checkpoint")?;
        let written_lsn = self.execute("select pg_current_wal_lsn()")?;
        let standby_count_query = format!(
            "select count(*) from pg_stat_replication \
             where sync_state = 'sync' and flush_lsn >= '{written_lsn}'"
        );
        self.wait_for(&standby_count_query, "1")
    }

    /// Changes a setting of the running server for existing and new sessions.
    ///
    /// # Errors
    /// If it does not respond, or has no such setting.
    pub fn set_parameter(&self, name: &str, value: &str) -> Result<(), EngineError> {
        self.execute(&format!("alter system set {name} = '{value}'"))?;
        self.execute("select pg_reload_conf()")?;
        self.wait_for(&format!("show {name}"), value)
    }

    /// Waits until a query returns `expected`.
    ///
    /// # Errors
    /// If the query fails, or does not return the value within a minute.
    pub fn wait_for(&self, query: &str, expected: &str) -> Result<(), EngineError> {
        let start = Instant::now();
        loop {
            let value = self.execute(query)?;
            if value == expected {
                return Ok(());
            }
            if start.elapsed() > TIMEOUT {
                let reason = format!("{query}: {value}, expected {expected}");
                return Err(EngineError::Failed {
                    name: "psql".into(),
                    reason,
                    log: String::new(),
                });
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Promotes a standby: it accepts writes when this returns.
    ///
    /// # Errors
    /// If it is not a standby, with its log.
    pub fn promote(&mut self) -> Result<(), EngineError> {
        self.run_program("pg_ctl", &["promote", "--wait", "--pgdata=data"])
    }

    /// Starts a stopped server as a standby without a primary, as a cluster manager does with a
    /// former primary. It accepts reads.
    ///
    /// # Errors
    /// As [`Postgres::restart`].
    pub fn restart_read_only(&mut self) -> Result<(), EngineError> {
        self.write_file("standby.signal", "")?;
        self.restart()
    }

    /// Starts a stopped server in recovery. It rejects all connections.
    ///
    /// # Errors
    /// As [`Postgres::restart`].
    pub fn restart_in_recovery(&mut self) -> Result<(), EngineError> {
        self.write_file("standby.signal", "")?;
        self.settings.push("hot_standby=off".to_owned());
        let port = self.port;
        self.launch(|| first_response_byte(port) == Some(b'E'))
    }
}
