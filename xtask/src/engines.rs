//! Private engines for tests and measurements: each on a free port of 127.0.0.1, with its data in
//! a temporary folder. They stop when they are dropped, and also when the process that started
//! them ends in any other way: by Ctrl-C, by SIGKILL, or with the engine in a `static`.
//!
//! ```no_run
//! use xtask::engines::{Postgres, Redis};
//!
//! let mut postgres = Postgres::start()?;
//! let redis = Redis::start()?;
//! println!("{} {}", postgres.url(), redis.url());
//! postgres.stop()?; // connections are refused
//! postgres.start_again()?; // same port, same data
//! # Ok::<(), xtask::engines::EngineError>(())
//! ```

mod chromedriver;
mod error;
mod port;
mod postgres;
mod proxy;
mod redis;
mod user;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

pub use self::chromedriver::Chromedriver;
pub use self::error::EngineError;
pub use self::port::free_port;
pub use self::postgres::Postgres;
pub use self::proxy::Proxy;
pub use self::redis::Redis;
pub use self::user::User;
use crate::group::{Ending, Group};
use crate::programs;

/// Far beyond what a start takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// The first of the programs that is there.
fn program(names: &'static [&'static str]) -> Result<PathBuf, EngineError> {
    programs::find(names).ok_or(EngineError::Missing(names))
}

/// Starts the command, with what it says in a file, and waits until `ready` says so.
fn launch(
    mut command: Command,
    folder: &Path,
    ending: &Ending,
    mut ready: impl FnMut() -> bool,
) -> Result<Group, EngineError> {
    let log = folder.join("log");
    let output = File::options().create(true).append(true).open(&log)?;
    let name = command.get_program().to_string_lossy().into_owned();
    command.current_dir(folder).stdout(output.try_clone()?).stderr(output);
    let mut group = Group::spawn(command, ending)?;

    let end = Instant::now() + PATIENCE;
    while !ready() {
        let reason = match group.ended()? {
            Some(status) => status.to_string(),
            None if Instant::now() > end => format!("not ready after {} s", PATIENCE.as_secs()),
            None => {
                thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        return Err(EngineError::Failed { name, reason, log });
    }
    Ok(group)
}
