//! A disk that becomes full during concurrent writes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use test_engines::ProcessGroup;
use test_engines::process_group::SpawnOptions;

use super::engines::wait_until_ready;
use crate::Result;
use crate::load::OnFailure;
use crate::node::Node;
use crate::outcome::Run;
use crate::workers::Workers;

/// The number of writes that must be acknowledged before the disk is full, must fail while it is
/// full, and must be acknowledged after space is freed.
const WRITES: u64 = 100;

pub(crate) fn full_disk(run: &mut Run) -> Result<()> {
    while let Some(round) = run.next_round() {
        // Both ways in turn, because SQLite reports a full disk and a write beyond the file size
        // limit as different errors. If no disk can be mounted, every round uses the file size
        // limit.
        let disk = if round % 2 == 0 { SmallDisk::new() } else { None };
        match disk {
            Some(disk) => fill_once(run, &Disk::Small(disk))?,
            None => fill_once(run, &Disk::FileSizeLimit)?,
        }
        run.end_round();
    }
    Ok(())
}

fn fill_once(run: &mut Run, disk: &Disk) -> Result<()> {
    let mut arguments = vec!["--limits", "off"];
    if let Some(data) = disk.data_dir().and_then(Path::to_str) {
        arguments.extend(["--data", data]);
    }
    let mut node = Node::new(run, &arguments, "")?;
    node.command_prefix = disk.command_prefix();
    node.start()?;
    let server_pid = node.server()?.id();
    let mut workers = Workers::set_up(run, &[node.address])?;
    let health_status = workers.run_load(run, OnFailure::Continue, |load| {
        load.wait_for_acknowledgements(WRITES)?;
        disk.fill(server_pid, node.dir())?;
        let failures = load.wait_for_failures(WRITES);
        let health_status = node.response_status("/healthz");
        disk.free(server_pid)?;
        failures?;
        wait_until_ready(&node)?;
        load.wait_for_acknowledgements(WRITES)?;
        Ok(health_status)
    })?;
    run.outcome.check(health_status == 200, || format!("full disk: /healthz is {health_status}"));
    workers.verify(run)?;
    node.kill()?;
    node.start()?;
    workers.verify_all(run)
}

/// A way to make writes fail for lack of space.
enum Disk {
    Small(SmallDisk),
    /// A file size limit of the server process.
    FileSizeLimit,
}

impl Disk {
    /// Returns the data directory of the server, unless it is the default.
    fn data_dir(&self) -> Option<&Path> {
        match self {
            Self::Small(disk) => Some(&disk.mount_point),
            Self::FileSizeLimit => None,
        }
    }

    /// Returns the beginning of the command line that starts the server.
    fn command_prefix(&self) -> Vec<OsString> {
        match self {
            Self::Small(disk) => {
                let namespace = format!("--mount=/proc/{}/ns/mnt", disk.namespace_holder.id());
                ["nsenter".into(), namespace.into()].into()
            }
            // A write beyond the limit fails instead of killing the process.
            Self::FileSizeLimit => {
                ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"].map(OsString::from).into()
            }
        }
    }

    fn fill(&self, server_pid: u32, dir: &Path) -> Result<()> {
        match self {
            Self::Small(disk) => disk.fill(),
            Self::FileSizeLimit => {
                let size = fs::metadata(dir.join("data/belfry.db"))?.len();
                limit_file_size(server_pid, &size.to_string())
            }
        }
    }

    fn free(&self, server_pid: u32) -> Result<()> {
        match self {
            Self::Small(disk) => Ok(fs::remove_file(disk.ballast_path())?),
            Self::FileSizeLimit => limit_file_size(server_pid, "unlimited"),
        }
    }
}

/// Sets a process's soft file size limit, which can be raised again.
fn limit_file_size(process: u32, bytes: &str) -> Result<()> {
    let mut prlimit = Command::new("prlimit");
    prlimit.args(["--pid", &process.to_string(), &format!("--fsize={bytes}:unlimited")]);
    let status = prlimit.status()?;
    if status.success() { Ok(()) } else { Err(format!("prlimit: {status}").into()) }
}

/// A small file system in memory. It is mounted in a separate namespace, so it disappears with the
/// process that holds the namespace, however this process exits.
struct SmallDisk {
    namespace_holder: ProcessGroup,
    mount_point: PathBuf,
    _dir: TempDir,
}

impl SmallDisk {
    /// Mounts the file system. Returns `None` if that fails, as it does without root privileges.
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().ok()?;
        let mount_point = dir.path().to_owned();
        let script = "mount -t tmpfs -o size=16m,mode=700 tmpfs \"$1\" && echo && exec sleep 86400";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(&mount_point);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut namespace_holder = ProcessGroup::spawn(command, &SpawnOptions::default()).ok()?;
        let mut line = [0; 1];
        std::io::Read::read_exact(&mut namespace_holder.take_stdout()?, &mut line).ok()?;
        Some(Self { namespace_holder, mount_point, _dir: dir })
    }

    /// Returns the path, from outside the namespace, of the file that fills the disk.
    fn ballast_path(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.namespace_holder.id()));
        let mount_point = self.mount_point.strip_prefix("/").unwrap_or(&self.mount_point);
        root.join(mount_point).join("ballast")
    }

    fn fill(&self) -> Result<()> {
        let mut file = File::create(self.ballast_path())?;
        for size in [64 * 1024, 4096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        Ok(())
    }
}
