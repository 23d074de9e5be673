//! A server process that prints its address.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cpu::cpu_time_us;
use crate::process_group::{ProcessGroup, Signal, SpawnOptions};

/// Far longer than a server takes to stop, even on a busy machine.
const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// A running server that prints `… listening on http://ADDRESS`; dropping it stops it.
#[derive(Debug)]
pub struct Server {
    group: ProcessGroup,
    /// Open as long as the server runs, so that its writes do not fail.
    _stdout: BufReader<ChildStdout>,
    pub address: SocketAddr,
    /// Time from the start until the server was listening.
    pub startup_duration: Duration,
}

impl Server {
    /// Starts the command in `dir`, appends its log to the file `log` there, and waits for the line
    /// `… listening on http://…`.
    ///
    /// # Errors
    /// If it does not start or exits first, with its log.
    pub fn start(mut command: Command, dir: &Path) -> io::Result<Self> {
        let name = command.get_program().display().to_string();
        let log = dir.join("log");
        let output = File::options().create(true).append(true).open(&log)?;
        command.current_dir(dir).stdout(Stdio::piped()).stderr(output);
        let start = Instant::now();
        let mut group = ProcessGroup::spawn(command, &SpawnOptions::default())?;
        let pipe = group.take_stdout().ok_or_else(|| io::Error::other("no pipe"))?;
        let mut stdout = BufReader::new(pipe);
        let mut line = String::new();
        while stdout.read_line(&mut line)? > 0 {
            if let Some(address) = parse_address(&line) {
                let startup_duration = start.elapsed();
                return Ok(Self { group, _stdout: stdout, address, startup_duration });
            }
            line.clear();
        }
        let log = fs::read_to_string(log).unwrap_or_default();
        Err(io::Error::other(format!("{name} exited before it was listening\n{log}")))
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// Kills the process with SIGKILL and waits for it to exit.
    ///
    /// # Errors
    /// If it has already exited.
    pub fn kill(mut self) -> io::Result<()> {
        self.group.signal(Signal::SIGKILL)
    }

    /// Stops the process with SIGTERM and waits for it to exit.
    ///
    /// # Errors
    /// If it has already exited, or does not exit within a minute.
    pub fn terminate(mut self) -> io::Result<ExitStatus> {
        self.group.signal(Signal::SIGTERM)?;
        let start = Instant::now();
        loop {
            match self.group.try_wait()? {
                Some(status) => return Ok(status),
                None if start.elapsed() > STOP_TIMEOUT => {
                    return Err(io::Error::other("the server did not exit after SIGTERM"));
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Returns whether the process is running.
    ///
    /// # Errors
    /// If the status cannot be read.
    pub fn is_running(&mut self) -> io::Result<bool> {
        Ok(self.group.try_wait()?.is_none())
    }

    /// Returns the resident memory in MB; NaN where `/proc` does not exist.
    #[must_use]
    pub fn resident_memory_mb(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.group.id()));
        parse_megabytes(&status.unwrap_or_default(), "VmRSS:").unwrap_or(f64::NAN)
    }

    /// Returns the CPU time used so far in microseconds; NaN where `/proc` does not exist.
    #[must_use]
    pub fn cpu_time_us(&self) -> f64 {
        cpu_time_us(self.group.id())
    }
}

fn parse_address(line: &str) -> Option<SocketAddr> {
    line.split_once("listening on http://")?.1.trim().trim_end_matches('/').parse().ok()
}

fn parse_megabytes(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_line_contains_the_address() {
        let address = "127.0.0.1:8080".parse().ok();
        assert_eq!(parse_address("belfry listening on http://127.0.0.1:8080\n"), address);
        assert_eq!(parse_address("bare listening on http://127.0.0.1:8080/"), address);
        assert_eq!(parse_address("starting"), None);
    }

    #[test]
    fn memory_is_read_from_the_process_status() {
        let status = "Name:\tbelfry\nVmHWM:\t   12500 kB\nVmRSS:\t    9000 kB\n";
        assert_eq!(parse_megabytes(status, "VmHWM:"), Some(12.8));
        assert_eq!(parse_megabytes(status, "VmSwap:"), None);
    }
}
