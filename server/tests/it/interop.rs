//! Unmodified third-party clients against the real binary.

mod oauth2_crate;
pub(crate) mod python;
mod ruma;

use tempfile::TempDir;

use crate::support::ServerProcess;
use crate::support::process::{add_account, run_successfully};

/// Alice's user ID on a server with the default name.
const ALICE: &str = "@alice:127.0.0.1";

/// A server on which Alice has an account.
struct AliceServer {
    process: ServerProcess,
    password: String,
    dir: TempDir,
}

impl AliceServer {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let password = add_account(dir.path(), "alice");
        Self { process: ServerProcess::start(dir.path(), &[]), password, dir }
    }
}

/// The script logs in, and creates, orders, enables, changes, deletes and reads rules.
#[test]
fn matrix_nio_manages_push_rules() {
    let server = AliceServer::start();
    let script = include_str!("interop/matrix_nio.py");
    python::run_script(script, &[&server.process.url, ALICE, &server.password]);
}

/// The script registers an app, authorises it, logs in with the code, verifies credentials, revokes
/// the token, signs up, and manages accounts.
#[test]
fn mastodon_py_gets_and_revokes_a_token_and_manages_accounts() {
    let server = AliceServer::start();
    run_successfully(server.dir.path(), &["account", "role", "alice", "admin"]);
    let script = include_str!("interop/mastodon_py.py");
    python::run_script(script, &[&server.process.url, "alice", &server.password]);
}
