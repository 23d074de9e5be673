//! `cargo xtask schemathesis`: requests generated from the OpenAPI document.

use std::error::Error;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{fs, thread};

use clap::{Args, value_parser};
use test_engines::process_group::{ProcessGroup, SpawnOptions};

use crate::schemathesis_server::SchemathesisServer;
use crate::{cargo, packages, python};

/// Compare the responses to generated requests with the OpenAPI document
///
/// Starts a server on SQLite and sends requests that schemathesis generates from `/openapi.json`:
/// with the boundary values of each parameter, with random valid and invalid data, and in
/// sequences. All checks of schemathesis run: no response has a status of 500 or above, every
/// response conforms to the document, valid data is accepted, and invalid data, missing tokens and
/// unsupported methods are rejected.
///
/// The exceptions, with their reasons, are in `xtask/schemathesis/schemathesis.toml`.
#[derive(Args)]
#[command(after_help = "Examples:\n  cargo xtask schemathesis\n  \
    cargo xtask schemathesis --examples 200 --seed 7")]
pub(crate) struct Options {
    /// Random requests for each operation, in addition to those with boundary values
    #[arg(long, value_name = "N", default_value_t = DEFAULT_EXAMPLES, value_parser = value_parser!(u32).range(1..))]
    examples: u32,
    /// Seed of the random requests; by default each run prints and uses a new one
    #[arg(long)]
    seed: Option<u64>,
    /// Do not install missing packages, only list them
    #[arg(long)]
    no_install: bool,
}

/// The default number of random requests for each operation.
const DEFAULT_EXAMPLES: u32 = 60;

/// The package in the Python Package Index.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

const SETTINGS: &str = include_str!("../schemathesis/schemathesis.toml");
const HOOKS: &str = include_str!("../schemathesis/hooks.py");

/// The requests to send.
struct Plan {
    /// Random requests for each operation.
    examples: u32,
    seed: Option<u64>,
}

/// Operations that are called with the same token.
struct OperationGroup {
    name: &'static str,
    token: fn(&SchemathesisServer) -> &str,
    filters: &'static [&'static str],
    /// True if the operations with a separate token are in other groups.
    excludes_separate_operations: bool,
}

/// The operations that need a separate token: `logout` revokes it, and `signUp` needs an app token.
const SEPARATE_OPERATIONS: &str = "^(logout|signUp)";
const OPERATION_GROUPS: [OperationGroup; 4] = [
    OperationGroup {
        name: "users",
        token: |server| &server.user_token,
        filters: &["--exclude-tag", "Admin API"],
        excludes_separate_operations: true,
    },
    OperationGroup {
        name: "sign-up",
        token: |server| &server.app_token,
        filters: &["--include-operation-id", "signUp"],
        excludes_separate_operations: false,
    },
    OperationGroup {
        name: "log-out",
        token: |server| &server.log_out_token,
        filters: &["--include-operation-id-regex", "^logout"],
        excludes_separate_operations: false,
    },
    // Last, because it disables and deletes accounts.
    OperationGroup {
        name: "admins",
        token: |server| &server.admin_token,
        filters: &["--include-tag", "Admin API"],
        excludes_separate_operations: false,
    },
];

/// Sends the requests. Returns whether all responses conform to the document.
pub(crate) fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    packages::ensure_installed(packages::FOR_SCHEMATHESIS, !options.no_install)?;
    if !cargo::succeeds(cargo::command(&["build", "-p", "belfry"]))? {
        return Err("the build failed".into());
    }
    let examples = options.examples;
    let seed = options.seed;
    send_requests(&Plan { examples, seed })
}

/// Sends requests to the binary that the tests have built: in the long tests as many as [`run`] by
/// default, otherwise a small number with a fixed seed.
pub(crate) fn run_for_tests(runs_long_tests: bool) -> Result<bool, Box<dyn Error>> {
    if runs_long_tests {
        return send_requests(&Plan { examples: DEFAULT_EXAMPLES, seed: None });
    }
    send_requests(&Plan { examples: 3, seed: Some(1) })
}

fn send_requests(plan: &Plan) -> Result<bool, Box<dyn Error>> {
    let program = python::install_program(SCHEMATHESIS, "schemathesis")?;
    let server = SchemathesisServer::start(&cargo::target_dir()?.join("debug").join("belfry"))?;
    fs::write(server.dir().join("schemathesis.toml"), SETTINGS)?;
    fs::write(server.dir().join("hooks.py"), HOOKS)?;
    let mut total = 0;
    let mut all_passed = true;
    for group in &OPERATION_GROUPS {
        let start = Instant::now();
        let (requests, all_conform) = group.run(plan, &program, &server)?;
        // If there are no requests, the filters or the summary have changed.
        let passed = all_conform && requests > 0;
        let result_label = if passed { "no failure" } else { "FAILED" };
        let seconds = start.elapsed().as_secs();
        println!("{}: {requests} requests in {seconds} s, {result_label}", group.name);
        total += requests;
        all_passed &= passed;
    }
    println!("{total} requests");
    Ok(all_passed)
}

impl OperationGroup {
    /// Sends the requests, and returns their number and whether all responses conform. If not,
    /// prints the output.
    fn run(
        &self,
        plan: &Plan,
        program: &Path,
        server: &SchemathesisServer,
    ) -> io::Result<(u32, bool)> {
        let mut command = Command::new(program);
        command.args(["--config-file", "schemathesis.toml", "run", &server.url("/openapi.json")]);
        command.args(["--no-color", "--warnings", "off", "--max-examples"]);
        command.arg(plan.examples.to_string()).args(self.filters);
        if self.excludes_separate_operations {
            command.args(["--exclude-operation-id-regex", SEPARATE_OPERATIONS]);
        }
        if let Some(seed) = plan.seed {
            command.args(["--seed", &seed.to_string()]);
        }
        command.current_dir(server.dir()).stdout(Stdio::piped());
        server.set_credentials(&mut command, (self.token)(server));
        let mut process_group = ProcessGroup::spawn(command, &SpawnOptions::default())?;
        let output = process_group
            .take_stdout()
            .ok_or_else(|| io::Error::other("schemathesis has no output"))?;
        let reader = thread::spawn(move || BufReader::new(output).lines().collect());
        let all_conform = process_group.wait()?.success();
        let result: io::Result<Vec<String>> =
            reader.join().map_err(|_| io::Error::other("reading the output panicked"))?;
        let lines = result?;
        if !all_conform {
            println!("{}", lines.join("\n"));
        }
        Ok((parse_request_count(&lines), all_conform))
    }
}

/// Returns the number of requests in the summary: `  1246 generated, 1246 passed`.
fn parse_request_count(lines: &[String]) -> u32 {
    let counts = lines.iter().filter_map(|line| line.trim().split_once(" generated"));
    counts.filter_map(|(count, _)| count.parse::<u32>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_requests_is_read_from_the_summary() {
        let lines = ["Test cases:", "  1246 generated, 1246 passed, 195 skipped", "Seed: 1"];
        assert_eq!(parse_request_count(&lines.map(str::to_owned)), 1246);
        assert_eq!(parse_request_count(&[]), 0);
    }
}
