//! A process that stops, together with all its descendants, when the process that started it ends.
//!
//! `Drop` alone is not enough: a `static` is never dropped, and Ctrl-C or SIGKILL ends a process
//! without running destructors. Therefore a small shell script runs in the same process group and
//! reads from a pipe whose other end only the owner has open. When the pipe closes, for whatever
//! reason, the script stops the group. The owner needs no signal handler.
//! (`PR_SET_PDEATHSIG` does not work here: it also fires when only the starting *thread* ends.)

use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use nix::errno::Errno;
use nix::sys::signal;
pub use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// The watcher's script. Its arguments are the signal, the process id of the leader, and the
/// directory to remove when the owner has ended. A line on the pipe is a signal to send instead;
/// then the directory is not removed.
const WATCHER_SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
read -r signal
kill -s CONT 0
kill -s "${signal:-$1}" 0
tries=0
while [ $tries -lt 200 ] && kill -s 0 "$2" 2>/dev/null; do
    sleep 0.05
    tries=$((tries + 1))
done
if [ -z "$signal" ] && [ -n "$3" ]; then rm -rf "$3"; fi
kill -s KILL 0
"#;

/// The user of a [`ProcessGroup`], and the actions when it is dropped or its owner ends.
#[derive(Debug)]
pub struct SpawnOptions {
    /// The signal sent to the group. KILL follows when the leader has exited, or after ten seconds.
    pub stop_signal: Signal,
    /// A directory to remove before KILL is sent.
    pub remove_dir: Option<PathBuf>,
    /// The user to run as; the owner's if `None`.
    pub user: Option<UserIds>,
}

impl Default for SpawnOptions {
    fn default() -> Self {
        Self { stop_signal: Signal::SIGTERM, remove_dir: None, user: None }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct UserIds {
    pub uid: u32,
    pub gid: u32,
}

/// A running process group; dropping it stops it.
#[derive(Debug)]
pub struct ProcessGroup {
    leader: Child,
    watcher: Child,
    /// The owner's end of the watcher's pipe; closed when the owner ends.
    pipe: Option<ChildStdin>,
}

impl ProcessGroup {
    /// Starts the command as the leader of a new group, with an empty standard input.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn spawn(mut command: Command, options: &SpawnOptions) -> io::Result<Self> {
        let program = command.get_program().to_owned();
        command.stdin(Stdio::null()).process_group(0);
        if let Some(user) = &options.user {
            command.uid(user.uid).gid(user.gid);
        }
        let mut leader = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start {}: {error}", program.display()))
        })?;

        match spawn_watcher(&leader, options) {
            Ok(mut watcher) => {
                let pipe = watcher.stdin.take();
                Ok(Self { leader, watcher, pipe })
            }
            Err(error) => {
                leader.kill()?;
                leader.wait()?;
                Err(error)
            }
        }
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.leader.id()
    }

    /// Takes the leader's standard output, if the command piped it.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.leader.stdout.take()
    }

    /// Returns the exit status of the leader if it has exited.
    ///
    /// # Errors
    /// If the status cannot be read.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.leader.try_wait()
    }

    /// Sends a signal to the leader.
    ///
    /// # Errors
    /// If the leader has exited.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        if self.try_wait()?.is_some() {
            return Err(io::Error::other("the process has exited"));
        }
        Ok(signal::kill(pid(&self.leader)?, signal)?)
    }

    /// Sends a signal to the leader and to its child processes, which may have left the group.
    /// Without Linux's `/proc` it is sent to the leader only.
    ///
    /// # Errors
    /// If the leader has exited.
    pub fn signal_with_children(&mut self, signal: Signal) -> io::Result<()> {
        let id = self.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        self.signal(signal)?;
        for child in children.unwrap_or_default().split_whitespace() {
            let child = child.parse().map(Pid::from_raw).map_err(io::Error::other)?;
            match signal::kill(child, signal) {
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits until the leader exits, then stops its remaining descendants.
    ///
    /// # Errors
    /// If the exit status cannot be read.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        self.leader.wait()
    }

    /// Stops the group with this signal and keeps the directory of [`SpawnOptions::remove_dir`].
    ///
    /// # Errors
    /// If the exit status cannot be read.
    pub fn stop(mut self, signal: Signal) -> io::Result<ExitStatus> {
        if let Some(mut pipe) = self.pipe.take() {
            writeln!(pipe, "{}", shell_name(signal))?;
        }
        self.leader.wait()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.leader.wait();
        let _ = self.watcher.wait();
    }
}

fn spawn_watcher(leader: &Child, options: &SpawnOptions) -> io::Result<Child> {
    let mut watcher = Command::new("sh");
    watcher
        .args([
            "-c",
            WATCHER_SCRIPT,
            "watcher",
            shell_name(options.stop_signal),
            &leader.id().to_string(),
        ])
        .arg(options.remove_dir.as_deref().unwrap_or("".as_ref()))
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(pid(leader)?.as_raw());
    if let Some(user) = &options.user {
        watcher.uid(user.uid).gid(user.gid);
    }
    watcher.spawn()
}

fn pid(child: &Child) -> io::Result<Pid> {
    i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)
}

/// Returns the name that every shell's `kill -s` accepts: without the prefix `SIG`.
fn shell_name(signal: Signal) -> &'static str {
    signal.as_str().trim_start_matches("SIG")
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        command
    }

    fn is_running(pid: &str) -> bool {
        Command::new("sh")
            .args([
                "-c",
                &format!("kill -s 0 {pid} 2>/dev/null && ! grep -q '^State:.Z' /proc/{pid}/status"),
            ])
            .status()
            .unwrap()
            .success()
    }

    fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if condition() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    #[test]
    fn the_leaders_exit_status_is_returned() {
        let group = ProcessGroup::spawn(shell("exit 7"), &SpawnOptions::default()).unwrap();
        assert_eq!(group.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn dropping_a_group_stops_the_leaders_descendants() {
        let mut group =
            ProcessGroup::spawn(shell("sleep 600 & echo $!; wait"), &SpawnOptions::default())
                .unwrap();
        let mut pid = String::new();
        BufReader::new(group.take_stdout().unwrap()).read_line(&mut pid).unwrap();
        assert!(is_running(pid.trim()));
        drop(group);
        assert!(wait_until(|| !is_running(pid.trim())), "{pid} is still running");
    }

    #[test]
    fn waiting_stops_the_leaders_remaining_descendants() {
        let mut group =
            ProcessGroup::spawn(shell("sleep 600 & echo $!"), &SpawnOptions::default()).unwrap();
        let mut pid = String::new();
        BufReader::new(group.take_stdout().unwrap()).read_line(&mut pid).unwrap();
        assert!(group.wait().unwrap().success());
        assert!(wait_until(|| !is_running(pid.trim())), "{pid} is still running");
    }

    #[test]
    fn a_paused_group_receives_the_signal_that_stops_it() {
        let script = "trap 'echo stopped; exit' TERM; echo ready; while :; do sleep 0.05; done";
        let mut group = ProcessGroup::spawn(shell(script), &SpawnOptions::default()).unwrap();
        let mut output = BufReader::new(group.take_stdout().unwrap()).lines();
        assert_eq!(output.next().unwrap().unwrap(), "ready");
        group.signal(Signal::SIGSTOP).unwrap();
        drop(group);
        assert_eq!(output.next().unwrap().unwrap(), "stopped");
    }

    #[test]
    fn stopping_keeps_the_directory_and_dropping_removes_it() {
        for is_kept in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let options =
                SpawnOptions { remove_dir: Some(dir.path().to_owned()), ..SpawnOptions::default() };
            let group = ProcessGroup::spawn(shell("exec sleep 600"), &options).unwrap();
            if is_kept {
                group.stop(Signal::SIGTERM).unwrap();
            } else {
                drop(group);
            }
            assert_eq!(dir.path().exists(), is_kept);
        }
    }

    #[test]
    fn the_error_names_a_program_that_does_not_exist() {
        let command = Command::new("no-such-program");
        let error = ProcessGroup::spawn(command, &SpawnOptions::default()).unwrap_err();
        assert!(error.to_string().contains("no-such-program"), "{error}");
    }
}
