//! A system clock that jumps during concurrent writes.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::Value;

use crate::Result;
use crate::app::App;
use crate::client::Client;
use crate::load::OnFailure;
use crate::node::Node;
use crate::outcome::Run;
use crate::workers::Workers;

/// The number of writes that must be acknowledged before and after each jump.
const WRITES: u64 = 50;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Clock offsets in seconds, used in rotation. Large forward jumps expire codes but not sessions.
const OFFSETS: &[i64] = &[HOUR, -HOUR, 0, 6 * DAY, -6 * DAY, 240, -5, DAY, -DAY, 0];

/// Changes the server's clock under load. The server runs with libfaketime, which reads the
/// offset from a file. As with a real change of the clock, timers are not affected.
pub(crate) fn clock_jumps(run: &mut Run) -> Result<()> {
    let library = find_libfaketime().ok_or("libfaketime is not installed")?;
    let mut node = Node::new(run, &["--limits", "shadow"], "")?;
    let offset_file = node.dir().join("offset");
    fs::write(&offset_file, "+0")?;
    node.environment = vec![
        ("LD_PRELOAD", library.into()),
        ("FAKETIME_TIMESTAMP_FILE", offset_file.clone().into()),
        ("FAKETIME_NO_CACHE", "1".into()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ("DONT_FAKE_MONOTONIC", "1".into()),
    ];
    node.start()?;
    let mut workers = Workers::set_up(run, &[node.address])?.with_expiring_codes();
    while let Some(round) = run.next_round() {
        let offset_seconds = OFFSETS[round as usize % OFFSETS.len()];
        workers.run_load(run, OnFailure::Continue, |load| {
            load.wait_for_acknowledgements(WRITES)?;
            fs::write(&offset_file, format!("{offset_seconds:+}"))?;
            load.wait_for_acknowledgements(WRITES)
        })?;
        let difference = server_time(&node)? - (system_time()? + offset_seconds);
        run.outcome.check(difference.abs() < 60, || {
            format!("the server's clock is not at offset {offset_seconds} s: it differs by {difference} s")
        });
        workers.verify(run)?;
        // A server that starts at the new time must accept the data.
        if run.rng.bool() {
            node.kill()?;
            node.start()?;
        }
        run.end_round();
    }
    let failed = run.outcome.failed;
    run.outcome.check(failed == 0, || format!("{failed} writes failed after a clock jump"));
    workers.verify_all(run)
}

/// Returns the server's Unix time in seconds, from a new token's `created_at`.
fn server_time(node: &Node) -> Result<i64> {
    let app = App::register(node.address)?;
    let response = Client::new(node.address).send_successfully(&app.token_request("read"))?;
    let token: Value = serde_json::from_str(&response.body)?;
    token["created_at"].as_i64().ok_or_else(|| "the token has no created_at".into())
}

#[expect(clippy::disallowed_methods, reason = "compared with the server's clock")]
fn system_time() -> Result<i64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(i64::try_from(now.as_secs())?)
}

/// Finds libfaketime, which distributions install in different directories.
pub(crate) fn find_libfaketime() -> Option<PathBuf> {
    let mut dirs = vec![PathBuf::from("/usr/lib64"), PathBuf::from("/usr/lib")];
    dirs.extend(fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path()));
    dirs.iter().map(|dir| dir.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists())
}
