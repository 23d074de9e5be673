//! Unmodified third-party clients against the real binary.

mod oauth2_crate;
pub(crate) mod python;
mod ruma;

use tempfile::TempDir;

use crate::support::Process;
use crate::support::process::{add_account, run_successfully};

/// Alice's user ID on a server with the default name.
const ALICE: &str = "@alice:127.0.0.1";

/// A server on which Alice has an account.
struct Home {
    server: Process,
    password: String,
    dir: TempDir,
}

impl Home {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let password = add_account(dir.path(), "alice");
        Self { server: Process::start(dir.path(), &[]), password, dir }
    }
}

/// The script logs in, and creates, orders, enables, changes, deletes and reads rules.
#[test]
fn matrix_nio_manages_push_rules() {
    let home = Home::start();
    let script = include_str!("interop/matrix_nio.py");
    python::run(script, &[&home.server.url, ALICE, &home.password]);
}

/// The script registers an app, authorises it, logs in with the code, verifies credentials, revokes
/// the token, signs up, and manages accounts.
#[test]
fn mastodon_py_gets_and_revokes_a_token_and_manages_accounts() {
    let home = Home::start();
    run_successfully(home.dir.path(), &["account", "role", "alice", "admin"]);
    let script = include_str!("interop/mastodon_py.py");
    python::run(script, &[&home.server.url, "alice", &home.password]);
}
