//! A server that we started, once it has said where it listens.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use test_engines::process_group::{OnDrop, ProcessGroup, Signal};

const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; it ends when this is dropped.
pub(super) struct Served {
    group: ProcessGroup,
    pub address: SocketAddr,
    /// From start to the line that says it listens.
    pub took: Duration,
}

impl Served {
    /// Starts it in the folder, where also its log is, and waits for `… listening on http://…`.
    pub(super) fn start(mut command: Command, folder: &Path) -> io::Result<Self> {
        let name = command.get_program().display().to_string();
        let log = folder.join("log");
        command.current_dir(folder).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let start = Instant::now();
        let mut group = ProcessGroup::spawn(command, &OnDrop::default())?;
        let stdout = group.stdout().ok_or_else(|| io::Error::other("no pipe"))?;

        let (sender, ready) = mpsc::channel();
        // To its end, so that the server never waits for a reader.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(address) = listening(&line) {
                    let _ = sender.send((address, start.elapsed()));
                }
            }
        });
        if let Ok((address, took)) = ready.recv_timeout(PATIENCE) {
            return Ok(Self { group, address, took });
        }
        drop(group);
        let log = fs::read_to_string(log).unwrap_or_default();
        Err(io::Error::other(format!("{name} did not say that it listens\n{log}")))
    }

    /// Ends it, and waits until it has ended.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.group.signal(Signal::SIGTERM)?;
        while self.group.try_wait()?.is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// The most memory that it had, in MB; NaN where the system does not tell.
    pub(super) fn peak_memory(&self) -> f64 {
        self.memory("VmHWM:")
    }

    /// The memory that it has now, in MB; NaN where the system does not tell.
    pub(super) fn resident_memory(&self) -> f64 {
        self.memory("VmRSS:")
    }

    /// The processor time that it has used, in microseconds; NaN where the system does not tell.
    pub(super) fn cpu_us(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.group.id()));
        ticks(&stat.unwrap_or_default()).map_or(f64::NAN, |ticks| ticks * 10_000.0)
    }

    fn memory(&self, field: &str) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.group.id()));
        megabytes(&status.unwrap_or_default(), field).unwrap_or(f64::NAN)
    }
}

fn listening(line: &str) -> Option<SocketAddr> {
    line.split_once("listening on http://")?.1.trim().trim_end_matches('/').parse().ok()
}

fn megabytes(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

/// User and system time in hundredths of a second, after the name, which may hold anything.
fn ticks(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_line_names_the_address() {
        let address = "127.0.0.1:8080".parse().ok();
        assert_eq!(listening("belfry listening on http://127.0.0.1:8080"), address);
        assert_eq!(listening("bare listening on http://127.0.0.1:8080/"), address);
        assert_eq!(listening("warming up"), None);
    }

    #[test]
    fn memory_is_read_from_the_status_of_the_process() {
        let status = "Name:\tbelfry\nVmHWM:\t   12500 kB\nVmRSS:\t    9000 kB\n";
        assert_eq!(megabytes(status, "VmHWM:"), Some(12.8));
        assert_eq!(megabytes(status, "VmSwap:"), None);
    }

    #[test]
    fn processor_time_is_read_past_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 131 0 0 0 250 50 9 9 20 0 3 0";
        assert_eq!(ticks(stat), Some(300.0));
        assert_eq!(ticks(""), None);
    }
}
