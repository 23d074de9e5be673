//! A process, and all that it starts, that ends with its owner.
//!
//! Dropping is not enough: a `static` is never dropped, and Ctrl-C or SIGKILL leave no time for it.
//! So a second process, a few lines of shell, stands in the same process group and reads from a
//! pipe that only the owner holds. When the pipe closes, for whatever reason, it ends the group.
//! The owner needs no signal handler, and tests that bring their own are not disturbed.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use crate::engines::User;

/// `$1`: the signal, `$2`: the leader, `$3`: the folder to remove when the owner is gone.
/// A line on the pipe is another signal, from an owner who stays and keeps the folder.
const WATCHER: &str = r#"
trap '' HUP INT QUIT TERM
read -r order
kill -s CONT 0
kill -s "${order:-$1}" 0
tries=0
while [ $tries -lt 200 ] && kill -s 0 "$2" 2>/dev/null; do
    sleep 0.05
    tries=$((tries + 1))
done
if [ -z "$order" ] && [ -n "$3" ]; then rm -rf "$3"; fi
kill -s KILL 0
"#;

/// How a group ends when its owner does not say.
#[derive(Debug, Default)]
pub struct Ending {
    /// The signal it gets; after ten seconds comes KILL.
    pub signal: Signal,
    /// What nobody will need afterwards.
    pub remove: Option<PathBuf>,
    /// Whose processes they are; the owner's if unset.
    pub user: Option<User>,
}

/// The signals that we send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are the system's")]
pub enum Signal {
    #[default]
    Term,
    Int,
    Quit,
    Stop,
    Cont,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Int => "INT",
            Self::Quit => "QUIT",
            Self::Stop => "STOP",
            Self::Cont => "CONT",
        }
    }
}

/// A running process group; dropping it ends it.
#[derive(Debug)]
pub struct Group {
    leader: Child,
    watcher: Child,
    /// Closed when the owner ends, in whichever way.
    lifeline: Option<ChildStdin>,
}

impl Group {
    /// Starts the command as the leader of a group of its own, without input.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn(mut command: Command, ending: &Ending) -> io::Result<Self> {
        let program = command.get_program().to_owned();
        command.stdin(Stdio::null()).process_group(0);
        if let Some(user) = &ending.user {
            command.uid(user.uid).gid(user.gid);
        }
        let mut leader = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start {}: {error}", program.display()))
        })?;

        match watch(&leader, ending) {
            Ok(mut watcher) => {
                let lifeline = watcher.stdin.take();
                Ok(Self { leader, watcher, lifeline })
            }
            Err(error) => {
                leader.kill()?;
                leader.wait()?;
                Err(error)
            }
        }
    }

    /// The process id of the leader.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.leader.id()
    }

    /// The leader's output, if the command was told to pipe it; once.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.leader.stdout.take()
    }

    /// How the leader ended, if it did.
    ///
    /// # Errors
    /// When the system cannot say.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.leader.try_wait()
    }

    /// Sends the leader a signal.
    ///
    /// # Errors
    /// When the leader has ended.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        if self.ended()?.is_some() {
            return Err(io::Error::other("the process has ended"));
        }
        // The shell's own `kill`: the program of that name is not on every machine.
        let script = format!("kill -s {} {}", signal.name(), self.id());
        let status = Command::new("sh").args(["-c", &script]).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(script + " failed")) }
    }

    /// Waits until the leader ends by itself, then ends what it left behind.
    ///
    /// # Errors
    /// When the system cannot say how it ended.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        self.leader.wait()
    }

    /// Ends the group with this signal and leaves the folder of [`Ending::remove`] alone.
    ///
    /// # Errors
    /// When the system cannot say how the leader ended.
    pub fn stop(mut self, signal: Signal) -> io::Result<ExitStatus> {
        if let Some(mut lifeline) = self.lifeline.take() {
            writeln!(lifeline, "{}", signal.name())?;
        }
        self.leader.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.lifeline = None;
        let _ = self.leader.wait();
        let _ = self.watcher.wait();
    }
}

fn watch(leader: &Child, ending: &Ending) -> io::Result<Child> {
    let group = i32::try_from(leader.id()).map_err(io::Error::other)?;
    let mut watcher = Command::new("sh");
    watcher
        .args(["-c", WATCHER, "watcher", ending.signal.name(), &leader.id().to_string()])
        .arg(ending.remove.as_deref().unwrap_or("".as_ref()))
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(group);
    if let Some(user) = &ending.user {
        watcher.uid(user.uid).gid(user.gid);
    }
    watcher.spawn()
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

    fn lives(pid: &str) -> bool {
        Command::new("sh")
            .args([
                "-c",
                &format!("kill -s 0 {pid} 2>/dev/null && ! grep -q '^State:.Z' /proc/{pid}/status"),
            ])
            .status()
            .unwrap()
            .success()
    }

    fn wait_until(mut done: impl FnMut() -> bool) -> bool {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if done() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    #[test]
    fn the_end_of_the_leader_is_reported() {
        let group = Group::spawn(shell("exit 7"), &Ending::default()).unwrap();
        assert_eq!(group.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn dropping_ends_also_what_the_leader_started() {
        let mut group =
            Group::spawn(shell("sleep 600 & echo $!; wait"), &Ending::default()).unwrap();
        let mut pid = String::new();
        BufReader::new(group.stdout().unwrap()).read_line(&mut pid).unwrap();
        assert!(lives(pid.trim()));
        drop(group);
        assert!(wait_until(|| !lives(pid.trim())), "{pid} lives on");
    }

    #[test]
    fn waiting_ends_what_the_leader_left_behind() {
        let mut group = Group::spawn(shell("sleep 600 & echo $!"), &Ending::default()).unwrap();
        let mut pid = String::new();
        BufReader::new(group.stdout().unwrap()).read_line(&mut pid).unwrap();
        assert!(group.wait().unwrap().success());
        assert!(wait_until(|| !lives(pid.trim())), "{pid} lives on");
    }

    #[test]
    fn a_paused_group_can_be_ended() {
        let mut group = Group::spawn(shell("exec sleep 600"), &Ending::default()).unwrap();
        group.signal(Signal::Stop).unwrap();
        drop(group);
    }

    #[test]
    fn the_folder_is_kept_by_a_stop_and_removed_by_a_drop() {
        for kept in [true, false] {
            let folder = crate::folder::Folder::new("belfry-group").unwrap();
            let ending = Ending { remove: Some(folder.path().to_owned()), ..Ending::default() };
            let group = Group::spawn(shell("exec sleep 600"), &ending).unwrap();
            if kept {
                group.stop(Signal::Term).unwrap();
            } else {
                drop(group);
            }
            assert_eq!(folder.path().exists(), kept);
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = Group::spawn(Command::new("no-such-program"), &Ending::default()).unwrap_err();
        assert!(error.to_string().contains("no-such-program"), "{error}");
    }
}
