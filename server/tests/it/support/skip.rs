//! Skips tests whose engine, browser or client is not installed.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;

/// Notes on stderr that tests are skipped; fails in CI.
#[track_caller]
pub(crate) fn report_skipped(what: &str, reason: &str) {
    static NOTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!in_ci, "{what} must not be skipped in CI: {reason}");
    if NOTED.lock().unwrap().insert(what.to_owned()) {
        // Not eprintln!, which the test harness would capture.
        let note = format!("\nnote: tests of {what} are skipped: {reason}\n");
        std::io::stderr().write_all(note.as_bytes()).unwrap();
    }
}
