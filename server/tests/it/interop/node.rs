//! Clients and a push service from npm.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::run_interpreter;
use crate::support::{npm, report_skipped};

/// Versions that run on Node.js 20. matrix-js-sdk says that it needs 22.
const PACKAGES: [&str; 5] = [
    "@modelcontextprotocol/client@2.4.0",
    "masto@7.12.0",
    "matrix-js-sdk@43.0.0",
    "megalodon@10.0.5",
    "web-push-testing@1.2.2",
];

/// Runs a script that must succeed. Reports it as skipped if Node.js or the packages are not
/// available.
#[track_caller]
pub(super) fn run_script(script: &str, arguments: &[&str]) {
    static PROJECT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match PROJECT.get_or_init(|| npm::install_packages("node", &PACKAGES)) {
        // Node.js looks for packages in the current directory.
        Ok(project) => run_interpreter(
            Command::new("node").arg("--input-type=module").current_dir(project),
            script,
            arguments,
        ),
        Err(reason) => report_skipped("clients from npm", reason),
    }
}
