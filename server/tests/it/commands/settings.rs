//! Flags, environment variables, the configuration file and `belfry config check`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use super::Workspace;
use crate::support::ServerProcess;
use crate::support::files::{days_from_now, write_certificate_with};
use crate::support::process::belfry_command;

#[test]
fn global_flags_are_accepted_before_and_after_the_command() {
    let workspace = Workspace::sqlite();
    workspace.run(&["--data", "here", "account", "add", "alice"]);
    assert!(workspace.run(&["account", "list", "--data", "here"]).starts_with("alice\t"));
    let message = workspace.run_failing(&["account", "list", "--data", "there"]);
    assert!(message.contains("there/belfry.db: it does not exist"), "{message}");

    std::fs::write(workspace.path().join("other.toml"), "data = 'here'").unwrap();
    assert!(workspace.run(&["--config", "other.toml", "account", "list"]).starts_with("alice\t"));
    assert!(workspace.run(&["account", "--config", "other.toml", "list"]).starts_with("alice\t"));
}

/// Without this error, `belfry restore FILE --data test` would write into the service's database.
#[test]
fn a_data_flag_without_effect_is_reported() {
    let workspace = Workspace::sqlite();
    let url = "postgres://me@127.0.0.1:1/belfry";
    workspace.configure(&format!("database = '{url}'"));
    for command in
        [&["account", "list"][..], &["restore", "x.db"], &["serve"], &["config", "check"]]
    {
        let message = workspace.run_failing(&[command, &["--data", "new"]].concat());
        let expected = "belfry: --data new has no effect, because database in belfry.toml names \
                        PostgreSQL; omit --data, or use a different file (--config /dev/null for \
                        none) for SQLite in new\n";
        assert_eq!(message, expected, "{command:?}");
    }
    let arguments = ["account", "add", "alice", "--data", "new", "--config", "/dev/null"];
    workspace.run(&arguments);
    assert!(workspace.path().join("new/belfry.db").exists());
}

#[test]
fn config_check_prints_every_effective_setting_as_toml_and_changes_nothing() {
    let workspace = Workspace::sqlite();
    workspace.configure("base_url = 'https://ring.example'\n[http]\nmax_connections = 50");
    let mut command =
        belfry_command(workspace.path(), &["config", "check", "--listen", "localhost:81"]);
    let output = command.env("BELFRY_REDIS", "redis://:hunter2@127.0.0.1").output().unwrap();
    assert!(output.status.success());
    let stdout = String::from_utf8(output.stdout).unwrap();
    for line in [
        "listen = \"localhost:81\"                         # --listen",
        "base_url = \"https://ring.example\"               # belfry.toml",
        "server_name = \"ring.example\"                    # default, from base_url",
        "redis = \"redis://:***@127.0.0.1\"                # BELFRY_REDIS",
        "max_connections = 50                            # belfry.toml",
        "shutdown_delay = \"0s\"                           # default",
    ] {
        assert!(stdout.lines().any(|output_line| output_line == line), "{line}\n{stdout}");
    }
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.contains("belfry: warning: base_url is https"), "{messages}");
    assert!(messages.ends_with("the settings are valid\n"), "{messages}");
    assert!(!workspace.path().join("data").exists());

    // The output is a configuration file with the same effective settings.
    workspace.configure(&stdout);
    let second_stdout = workspace.run(&["config", "check"]);
    let setting_values = |text: &str| {
        let strip_origin = |line: &str| line.rsplit_once("# ").unwrap_or((line, "")).0.to_owned();
        text.lines().map(strip_origin).collect::<Vec<_>>()
    };
    assert_eq!(setting_values(&second_stdout), setting_values(&stdout));
}

#[test]
fn config_example_prints_a_file_that_changes_nothing() {
    let workspace = Workspace::sqlite();
    let settings_before = workspace.run(&["config", "check"]);
    let example = workspace.run(&["config", "example"]);
    workspace.configure(&example);
    assert_eq!(workspace.run(&["config", "check"]), settings_before);
    // The command needs no valid configuration.
    workspace.configure("lisen = 1");
    assert_eq!(workspace.run(&["config", "example"]), example);
}

/// Writes a certificate for localhost that is valid until this many days from now, and its key.
fn write_certificate(workspace: &Workspace, days: i64) {
    write_certificate_with(workspace.path(), "localhost", |params| {
        params.not_after = days_from_now(days).into();
    });
}

const TLS_SETTINGS: &str =
    "base_url = 'https://localhost'\ntls = { certificate = 'certificate.pem', key = 'key.pem' }";

#[test]
fn config_check_reads_the_certificate() {
    let workspace = Workspace::sqlite();
    workspace.configure(TLS_SETTINGS);
    let message = workspace.run_failing(&["config", "check"]);
    assert!(message.contains("tls.certificate: cannot use certificate.pem: "), "{message}");
    for (days, warning) in [
        (-1, Some("warning: the certificate certificate.pem expired at ")),
        (13, Some("warning: the certificate certificate.pem expires at ")),
        (15, None),
    ] {
        write_certificate(&workspace, days);
        let output = belfry_command(workspace.path(), &["config", "check"]).output().unwrap();
        assert!(output.status.success());
        let messages = String::from_utf8(output.stderr).unwrap();
        match warning {
            Some(warning) => assert!(messages.contains(warning), "{days}: {messages}"),
            None => assert!(!messages.contains("the certificate"), "{days}: {messages}"),
        }
    }
    workspace.configure(&TLS_SETTINGS.replace("localhost", "ring.example"));
    let output = belfry_command(workspace.path(), &["config", "check"]).output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.contains("is not valid for ring.example, the host of base_url"), "{messages}");
    let other_key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(workspace.path().join("key.pem"), other_key.serialize_pem()).unwrap();
    let message = workspace.run_failing(&["config", "check"]);
    let problem =
        "tls.key: cannot use key.pem: it is not the key of the certificate certificate.pem";
    assert!(message.contains(problem), "{message}");
    std::fs::copy(workspace.path().join("certificate.pem"), workspace.path().join("key.pem"))
        .unwrap();
    let message = workspace.run_failing(&["config", "check"]);
    let problem = "tls.key: cannot use key.pem: it contains no private key in PEM";
    assert!(message.contains(problem), "{message}");
}

#[tokio::test]
async fn the_server_can_listen_on_a_host_name() {
    let workspace = Workspace::sqlite();
    let command = belfry_command(workspace.path(), &["serve", "--listen", "localhost:0"]);
    let server = ServerProcess::launch(command, workspace.path());
    let port = server.url.strip_prefix("http://localhost:").unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let response = reqwest::get(format!("http://{host}:{port}/healthz")).await.unwrap();
        assert_eq!(response.status(), 200, "{host}");
    }
    let message =
        workspace.run_failing(&["serve", "--data", "other", "--listen", "nowhere.invalid:0"]);
    assert!(message.contains("cannot listen on nowhere.invalid:0: "), "{message}");
}

#[test]
fn config_check_reports_what_is_wrong_and_where() {
    let workspace = Workspace::sqlite();
    std::fs::write(workspace.path().join("belfry.toml"), "\nlisen = '0.0.0.0:80'").unwrap();
    let message = workspace.run_failing(&["config", "check"]);
    let expected = "belfry: unknown key `lisen`; did you mean `listen`? (belfry.toml, line 2)\n";
    assert_eq!(message, expected);
    assert_eq!(workspace.run_failing(&["serve"]), expected, "serve rejects it, too");
    let message = workspace.run_failing(&["config", "check", "--config", "nowhere.toml"]);
    assert!(message.starts_with("belfry: cannot read nowhere.toml: "), "{message}");
}

#[test]
fn environment_variables_that_are_not_unicode_do_not_panic() {
    let workspace = Workspace::sqlite();
    let not_unicode = OsStr::from_bytes(b"\xff");
    let check_with_variable = |variable: &OsStr| {
        let mut command = belfry_command(workspace.path(), &["config", "check"]);
        command.env(variable, not_unicode).output().unwrap()
    };
    assert!(check_with_variable(OsStr::new("X")).status.success());
    assert!(check_with_variable(not_unicode).status.success());
    let output = check_with_variable(OsStr::new("BELFRY_DATA"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// As in `belfry config check 2>&1 | head -1`: no panic, and the exit status of the command.
#[test]
fn a_command_does_not_panic_if_its_output_is_closed() {
    let workspace = Workspace::sqlite();
    let run_with_closed_output = |arguments: &[&str]| {
        let mut command = belfry_command(workspace.path(), arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        child.wait().unwrap().code()
    };
    workspace.configure("base_url = 'https://ring.example'");
    for arguments in [
        &["config", "check"][..],
        &["config", "example"],
        &["completions", "bash"],
        &["--help"],
        &["account", "add", "alice"],
        &["account", "list"],
    ] {
        assert_eq!(run_with_closed_output(arguments), Some(0), "{arguments:?}");
    }
    assert_eq!(run_with_closed_output(&["account", "show", "bob"]), Some(1));
    assert_eq!(run_with_closed_output(&["no", "such", "command"]), Some(2));
    workspace.configure("lisen = 1");
    assert_eq!(run_with_closed_output(&["config", "check"]), Some(1));
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let workspace = Workspace::sqlite();
    let mut command = belfry_command(workspace.path(), &["config", "check"]);
    let output = command.env("BELFRY_LISTEN", "").output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("listen = \"127.0.0.1:8080\" "), "{stdout}");
}
