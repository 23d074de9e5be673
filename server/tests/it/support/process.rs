//! The real binary as a process: served over a socket, signalled, killed, started again.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A `belfry serve` that ends with the test.
pub(crate) struct Process {
    child: Child,
    /// What it prints after the ready line.
    printing: Option<JoinHandle<Vec<String>>>,
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    /// Where its stderr went.
    pub(crate) log: PathBuf,
}

/// A `belfry` command line that is not yet run: no settings but those given.
pub(crate) fn belfry(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belfry"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    for (variable, _) in std::env::vars() {
        if variable.starts_with("BELFRY_") {
            command.env_remove(variable);
        }
    }
    command
}

/// Runs a command to its end.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    belfry(folder, arguments).output().unwrap()
}

/// Runs a command that must succeed, and gives what it printed.
#[track_caller]
pub(crate) fn run_well(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "belfry {arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Adds an account, and gives the password that it got.
#[track_caller]
pub(crate) fn add_account(folder: &Path, name: &str) -> String {
    let added = run_well(folder, &["account", "add", name]);
    let password = added.lines().find_map(|line| line.strip_prefix("password: "));
    password.unwrap_or_else(|| panic!("{added}")).to_owned()
}

impl Process {
    /// Starts to serve in a folder, on a free port, and waits until it is ready.
    #[track_caller]
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut all = vec!["serve", "--listen", "127.0.0.1:0"];
        all.extend(arguments);
        Self::launch(belfry(folder, &all), folder)
    }

    /// Runs a command that serves, and waits for its ready line.
    #[track_caller]
    pub(crate) fn launch(mut command: Command, folder: &Path) -> Self {
        let log = folder.join("belfry.log");
        let file = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = mpsc::channel();
        let printing = std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.next().map(|ready| sender.send(ready));
            lines.collect()
        });
        let ready = lines.recv_timeout(PATIENCE);
        let ready = ready.unwrap_or_else(|_| panic!("not ready: {}", read(&log)));
        let url = ready.strip_prefix("belfry listening on ").unwrap_or_else(|| panic!("{ready}"));
        Self { child, printing: Some(printing), url: url.to_owned(), log }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent =
            Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until the process has ended, and gives its exit code (none after a kill).
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(began.elapsed() < PATIENCE, "it does not end: {}", read(&self.log));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What it has printed after the ready line; to be asked once, when it has ended.
    pub(crate) fn printed(&mut self) -> Vec<String> {
        self.printing.take().unwrap().join().unwrap()
    }

    /// Everything it has logged.
    pub(crate) fn logged(&self) -> String {
        read(&self.log)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
