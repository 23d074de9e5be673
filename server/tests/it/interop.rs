//! Unmodified clients against the real binary.

mod oauth2_crate;
mod python;
mod ruma;

use tempfile::TempDir;

use crate::support::Process;
use crate::support::process::add_account;

/// Alice, where a server has no other name.
const ALICE: &str = "@alice:127.0.0.1";

/// A server on which Alice has an account.
struct Home {
    server: Process,
    password: String,
    _folder: TempDir,
}

impl Home {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let password = add_account(folder.path(), "alice");
        Self { server: Process::start(folder.path(), &[]), password, _folder: folder }
    }
}

/// Log in, set, place, enable, change actions, delete, read back.
#[test]
fn matrix_nio_keeps_its_push_rules_here() {
    let home = Home::start();
    let script = include_str!("interop/matrix_nio.py");
    python::run(script, &[&home.server.url, ALICE, &home.password]);
}

/// Create an app, authorize, log in with the code, verify credentials, revoke, sign up.
#[test]
fn mastodon_py_gets_a_token_and_gives_it_back() {
    let home = Home::start();
    let script = include_str!("interop/mastodon_py.py");
    python::run(script, &[&home.server.url, "alice", &home.password]);
}
