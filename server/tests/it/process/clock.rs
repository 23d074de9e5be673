//! A clock that was set back while the server was stopped.

use std::time::{Duration, Instant};

use crate::support::process::belfry_command;
use crate::support::{ServerProcess, report_skipped};

/// Far longer than a start takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

#[test]
fn a_clock_that_was_set_back_since_the_last_run_is_logged() {
    let Some(library) = test_engines::programs::find_libfaketime() else {
        return report_skipped("libfaketime", "run `cargo xtask test`, which installs it");
    };
    let dir = tempfile::tempdir().unwrap();
    let wait_until = |is_done: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_done() {
            assert!(start.elapsed() < TIMEOUT, "the condition was not met in time");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let message = "clock was set back";
    let mut server = ServerProcess::start(dir.path(), &[]);
    let database = rusqlite::Connection::open(dir.path().join("data/belfry.db")).unwrap();
    let sweep_count = || database.query_row("select count(*) from sweeps", [], |row| row.get(0));
    wait_until(&|| sweep_count() == Ok(1));
    assert!(!server.log().contains(message), "{}", server.log());
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    drop(database);

    let mut command = belfry_command(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
    command.env("LD_PRELOAD", library).env("FAKETIME", "-2d");
    let server = ServerProcess::launch(command, dir.path());
    wait_until(&|| server.log().contains(message));
}
