//! What becomes of tests whose engine, browser or client is not on this machine.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;

/// At a desk they are left out, loudly; in CI that is a failure.
#[track_caller]
pub(crate) fn left_out(what: &str, why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!in_ci, "{what} must not be left out in CI: {why}");
    if SAID.lock().unwrap().insert(what.to_owned()) {
        // Not eprintln!, which the test harness would swallow.
        let note = format!("\nnote: tests of {what} are left out: {why}\n");
        std::io::stderr().write_all(note.as_bytes()).unwrap();
    }
}
