//! Starting an engine and waiting until it is ready.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{io, thread};

use tempfile::TempDir;

use crate::EngineError;
use crate::process_group::{ProcessGroup, SpawnOptions};
use crate::programs;

/// Far longer than an engine takes to start, even on a busy machine.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Creates a temporary directory that only its owner can read.
pub(crate) fn temp_dir(name: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(&format!("belfry-{name}-")).tempdir()
}

/// Returns the path of the first of these programs that is installed.
pub(crate) fn find_program(names: &'static [&'static str]) -> Result<PathBuf, EngineError> {
    programs::find(names).ok_or(EngineError::Missing(names))
}

/// Starts the command with its output in `dir/log` and waits until `is_ready` returns true.
pub(crate) fn launch(
    mut command: Command,
    dir: &Path,
    options: &SpawnOptions,
    mut is_ready: impl FnMut() -> bool,
) -> Result<ProcessGroup, EngineError> {
    let log = dir.join("log");
    let output = File::options().create(true).append(true).open(&log)?;
    let name = command.get_program().to_string_lossy().into_owned();
    command.current_dir(dir).stdout(output.try_clone()?).stderr(output);
    let mut group = ProcessGroup::spawn(command, options)?;

    let deadline = Instant::now() + START_TIMEOUT;
    while !is_ready() {
        let reason = match group.try_wait()? {
            Some(status) => status.to_string(),
            None if Instant::now() > deadline => {
                format!("not ready after {} s", START_TIMEOUT.as_secs())
            }
            None => {
                thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let log = fs::read_to_string(&log).unwrap_or_default();
        return Err(EngineError::Failed { name, reason, log });
    }
    Ok(group)
}
