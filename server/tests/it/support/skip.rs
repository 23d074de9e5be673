//! Skips tests whose engine, browser or client is not installed.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;

/// Reports on stderr that tests are skipped, once for each subject. Panics in CI.
#[track_caller]
pub(crate) fn report_skipped(subject: &str, reason: &str) {
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!in_ci, "{subject} must not be skipped in CI: {reason}");
    if REPORTED.lock().unwrap().insert(subject.to_owned()) {
        // Not eprintln!, which the test harness would capture.
        let note = format!("\nnote: tests of {subject} are skipped: {reason}\n");
        std::io::stderr().write_all(note.as_bytes()).unwrap();
    }
}
