//! Unmodified third-party clients against the real binary.

mod firefox;
mod node;
mod oauth2_crate;
mod public_clients;
pub(crate) mod python;
mod ruma;

use std::io::Write;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::delivery::PUSH_SETTINGS;
use crate::evaluation::APPLICATION_SERVICE_SETTINGS;
use crate::support::process::{add_account, run_successfully};
use crate::support::{Browser, ServerProcess, TestResponse, pypi};

/// Alice's user ID on a server with the default name.
const ALICE: &str = "@alice:127.0.0.1";

const SERVICE_TOKEN: &str = "token of product";

struct AliceServer {
    process: ServerProcess,
    password: String,
    dir: TempDir,
}

impl AliceServer {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(arguments: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let password = add_account(dir.path(), "alice");
        Self { process: ServerProcess::start(dir.path(), arguments), password, dir }
    }
}

/// Signs in as Alice in a new browser and approves the authorization request at this URL. Returns
/// the redirect to the client.
async fn approve(server_url: &str, password: &str, url: &str) -> TestResponse {
    let mut browser = Browser::over_http(server_url);
    let page = browser.get(url.strip_prefix(server_url).unwrap()).await;
    let fields = [("username", "alice"), ("password", password)];
    let response = browser.submit(&page, "/oauth/sign_in", &fields).await;
    let page = browser.follow(&response).await;
    // An earlier consent may imply this one.
    if page.status == 303 { page } else { browser.decide(&page, "allow").await }
}

/// A server that delivers notifications to this machine, and the token of an app of Alice.
struct DeliveringServer {
    process: ServerProcess,
    token: String,
    _dir: TempDir,
}

impl DeliveringServer {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = format!("{APPLICATION_SERVICE_SETTINGS}{PUSH_SETTINGS}");
        std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
        add_account(dir.path(), "alice");
        let arguments = ["token", "issue", "alice", "--scopes", "read write push"];
        let token = run_successfully(dir.path(), &arguments).trim().to_owned();
        Self { process: ServerProcess::start(dir.path(), &[]), token, _dir: dir }
    }
}

/// The script logs in, and creates, orders, enables, changes, deletes and reads rules.
#[test]
fn matrix_nio_manages_push_rules() {
    let server = AliceServer::start();
    let script = include_str!("interop/matrix_nio.py");
    python::run_script(script, &[&server.process.url, ALICE, &server.password]);
}

/// The script registers an app, authorizes it, logs in with the code, verifies credentials, revokes
/// the token, signs up, and manages accounts.
#[test]
fn mastodon_py_gets_and_revokes_a_token_and_manages_accounts() {
    let server = AliceServer::start();
    run_successfully(server.dir.path(), &["account", "role", "alice", "admin"]);
    let script = include_str!("interop/mastodon_py.py");
    python::run_script(script, &[&server.process.url, "alice", &server.password]);
}

/// The script subscribes with Mastodon.py and as a Matrix client. It receives messages in both
/// encodings, decrypts them, and verifies the VAPID tokens.
#[test]
fn mastodon_py_and_http_ece_decrypt_push_messages() {
    let server = DeliveringServer::start();
    let script = include_str!("interop/push.py");
    python::run_script(script, &[&server.process.url, &server.token, ALICE, SERVICE_TOKEN]);
}

/// The script creates, reads, changes and deletes a subscription with each client.
#[test]
fn masto_and_megalodon_manage_push_subscriptions() {
    let server = DeliveringServer::start();
    let script = include_str!("interop/subscriptions.mjs");
    node::run_script(script, &[&server.process.url, &server.token]);
}

/// The script sets, lists, changes and deletes pushers for a push gateway and for Web Push.
#[test]
fn matrix_js_sdk_manages_pushers() {
    let server = DeliveringServer::start();
    let script = include_str!("interop/pushers.mjs");
    node::run_script(script, &[&server.process.url, &server.token, ALICE]);
}

/// The script subscribes at web-push-testing, which verifies the VAPID tokens and decrypts messages
/// in both encodings, and lets the subscriptions expire.
#[test]
fn web_push_testing_accepts_both_encodings() {
    let server = DeliveringServer::start();
    let script = include_str!("interop/web_push_testing.mjs");
    let port = test_engines::free_port().unwrap().to_string();
    let arguments = [&server.process.url, &server.token, ALICE, SERVICE_TOKEN, &port];
    node::run_script(script, &arguments);
}

/// The script relays messages through sygnal to a push service, which reports one receiver as gone.
/// sygnal is not on `PyPI`: `BELFRY_TEST_SYGNAL` names a directory with its source, version 0.17.0.
#[test]
#[ignore = "needs the source of sygnal"]
fn sygnal_relays_messages_and_rejects_a_push_key() {
    let Ok(source) = std::env::var("BELFRY_TEST_SYGNAL") else {
        return eprintln!("skipped: set BELFRY_TEST_SYGNAL");
    };
    // With newer versions of its dependencies, sygnal fails or sends no body.
    let requirements =
        format!("{source}\nhttp_ece==1.2.0\npy-vapid==1.9.1\npywebpush==2.0.0\ntwisted==24.7.0\n");
    let programs = pypi::install_programs("sygnal", &requirements).unwrap();
    let server = DeliveringServer::start();
    let script = include_str!("interop/sygnal.py");
    let port = test_engines::free_port().unwrap().to_string();
    let arguments = [&server.process.url, &server.token, ALICE, SERVICE_TOKEN, &port];
    run_interpreter(&mut Command::new(programs.join("python")), script, &arguments);
}

/// The script generates a client from the OpenAPI document, registers an app, inspects a token, and
/// stores and reads a rule.
#[test]
fn openapi_python_client_generates_a_working_client() {
    let server = DeliveringServer::start();
    let dir = tempfile::tempdir().unwrap();
    let script = include_str!("interop/openapi_python_client.py");
    python::run_script(script, &[&server.process.url, &server.token, dir.path().to_str().unwrap()]);
}

/// The package contains the generator, which needs Java 11 or newer.
#[test]
#[ignore = "long: generates a client"]
fn openapi_generator_generates_a_working_python_client() {
    let requirements = "openapi-generator-cli==7.26.0\npydantic>=2.11\npython-dateutil\nurllib3\n";
    let programs = pypi::install_programs("openapi-generator", requirements).unwrap();
    let server = DeliveringServer::start();
    let dir = tempfile::tempdir().unwrap();
    let script = include_str!("interop/openapi_generator.py");
    let arguments = [&server.process.url, &server.token, dir.path().to_str().unwrap()];
    run_interpreter(&mut Command::new(programs.join("python")), script, &arguments);
}

/// Runs a script with an interpreter that reads it from stdin. The script must succeed.
#[track_caller]
fn run_interpreter(interpreter: &mut Command, script: &str, arguments: &[&str]) {
    let mut child = interpreter
        .arg("-")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}");
}
