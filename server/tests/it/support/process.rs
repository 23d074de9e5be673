//! The real binary as a process.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum duration of any step, generous for a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A `belfry serve` process that is killed at the end of the test.
pub(crate) struct ServerProcess {
    child: Child,
    /// Collects the lines printed after the ready line.
    output: Option<JoinHandle<Vec<String>>>,
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    /// The file that contains the process's stderr.
    log_path: PathBuf,
}

/// Returns a `belfry` command without the `BELFRY_…` variables of the test's environment.
pub(crate) fn belfry_command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belfry"));
    command.current_dir(dir).args(arguments).stdin(Stdio::null());
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("BELFRY_") {
            command.env_remove(variable);
        }
    }
    command
}

/// The id of an unprivileged user, for tests that run as root: root may access every file.
const NOBODY: u32 = 65_534;

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Returns a `belfry` command that does not run as root.
pub(crate) fn unprivileged_belfry(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = belfry_command(dir, arguments);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Runs a `belfry` command and waits until it exits.
pub(crate) fn run_belfry(dir: &Path, arguments: &[&str]) -> Output {
    belfry_command(dir, arguments).output().unwrap()
}

/// Runs a `belfry` command that must succeed, and returns its output.
#[track_caller]
pub(crate) fn run_successfully(dir: &Path, arguments: &[&str]) -> String {
    let output = run_belfry(dir, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "belfry {arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Adds an account and returns its generated password.
#[track_caller]
pub(crate) fn add_account(dir: &Path, name: &str) -> String {
    let output = run_successfully(dir, &["account", "add", name]);
    let password = output.lines().find_map(|line| line.strip_prefix("password: "));
    password.unwrap_or_else(|| panic!("{output}")).to_owned()
}

impl ServerProcess {
    /// Starts a server in a directory, on a free port, and waits until it is ready.
    #[track_caller]
    pub(crate) fn start(dir: &Path, arguments: &[&str]) -> Self {
        let mut serve_arguments = vec!["serve", "--listen", "127.0.0.1:0"];
        serve_arguments.extend(arguments);
        Self::launch(belfry_command(dir, &serve_arguments), dir)
    }

    /// Starts a server with this command, and waits for its ready line.
    #[track_caller]
    pub(crate) fn launch(mut command: Command, dir: &Path) -> Self {
        let log_path = dir.join("belfry.log");
        let log_file = std::fs::File::options().create(true).append(true).open(&log_path).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log_file).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        let output = std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.next().map(|ready_line| sender.send(ready_line));
            lines.collect()
        });
        let ready_line = receiver
            .recv_timeout(TIMEOUT)
            .unwrap_or_else(|_| panic!("not ready: {}", read_log(&log_path)));
        let url = ready_line
            .strip_prefix("belfry listening on ")
            .unwrap_or_else(|| panic!("{ready_line}"));
        Self { child, output: Some(output), url: url.to_owned(), log_path }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status =
            Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(status.unwrap().success());
    }

    /// Waits until the process exits and returns its exit code (`None` if a signal killed it).
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "the process does not exit: {}",
                read_log(&self.log_path)
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the lines printed after the ready line. Can be called once, after the exit.
    pub(crate) fn further_output(&mut self) -> Vec<String> {
        self.output.take().unwrap().join().unwrap()
    }

    pub(crate) fn log(&self) -> String {
        read_log(&self.log_path)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read_log(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
