//! Secrets in separate files and in systemd credentials.

use std::fs::write;
use std::process::Output;

use super::Workspace;
use crate::support::ServerProcess;
use crate::support::process::belfry_command;

/// Runs `config check` with the given variables and flags. Returns its output, or its messages if
/// it fails.
fn run_config_check(
    workspace: &Workspace,
    variables: &[(&str, &str)],
    flags: &[&str],
) -> Result<String, String> {
    let mut command = belfry_command(workspace.path(), &[&["config", "check"], flags].concat());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let to_text = |bytes| String::from_utf8(bytes).unwrap();
    let Output { status, stdout, stderr } = output;
    if status.success() { Ok(to_text(stdout)) } else { Err(to_text(stderr)) }
}

/// Returns the line of a setting in the output of `config check`.
fn setting_line(output: &str, setting: &str) -> String {
    let line =
        output.lines().find(|line| line.starts_with(setting)).unwrap_or_else(|| panic!("{output}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn database_url(host: &str) -> String {
    format!("postgres://me:hunter2@{host}/belfry\n")
}

#[test]
fn a_database_url_can_come_from_a_file_named_by_a_flag_a_variable_or_a_key() {
    let workspace = Workspace::sqlite();
    for name in ["flag", "variable", "key", "belfry.database"] {
        write(workspace.path().join(name), database_url(name)).unwrap();
    }
    let dir = workspace.path().to_str().unwrap();
    let credentials = ("CREDENTIALS_DIRECTORY", dir);
    let file_variable = ("BELFRY_DATABASE_FILE", "variable");
    let url_variable = ("BELFRY_DATABASE", "postgres://plain/belfry");
    let database_line = |variables: &[(&str, &str)], flags: &[&str]| {
        setting_line(&run_config_check(&workspace, variables, flags).unwrap(), "database")
    };

    let expected_line = |path: &str, origin: &str, host: &str| {
        let url = format!("postgres://me:***@{host}/belfry");
        format!("database_file = {path:?} # {origin}, contains {url}")
    };
    let path = format!("{dir}/belfry.database");
    let credential_line = expected_line(&path, "systemd credential", "belfry.database");
    assert_eq!(database_line(&[credentials], &[]), credential_line);

    write(workspace.path().join("belfry.toml"), "database_file = 'key'").unwrap();
    let key_line = expected_line("key", "belfry.toml", "key");
    assert_eq!(database_line(&[credentials], &[]), key_line);
    let line = database_line(&[credentials, file_variable], &[]);
    assert_eq!(line, expected_line("variable", "BELFRY_DATABASE_FILE", "variable"));
    let line = database_line(&[url_variable], &[]);
    assert_eq!(line, "database = \"postgres://plain/belfry\" # BELFRY_DATABASE");
    let flag_line = expected_line("flag", "--database-file", "flag");
    assert_eq!(database_line(&[file_variable], &["--database-file", "flag"]), flag_line);
    assert_eq!(database_line(&[url_variable], &["--database-file", "flag"]), flag_line);
    let line = database_line(&[file_variable], &["--database", "postgres://plain/belfry"]);
    assert_eq!(line, "database = \"postgres://plain/belfry\" # --database");
    let empty_variable = ("BELFRY_DATABASE_FILE", "");
    assert_eq!(
        database_line(&[empty_variable], &[]),
        key_line,
        "an empty variable counts as unset"
    );
}

#[test]
fn an_error_names_the_secret_file_and_never_shows_its_content() {
    let workspace = Workspace::sqlite();
    for content in ["hunter2", "hunter2:x", "hunter2://db/belfry", "", "postgres://db?port=hunter2"]
    {
        write(workspace.path().join("secret"), content).unwrap();
        for variable in ["BELFRY_DATABASE_FILE", "BELFRY_REDIS_FILE"] {
            let error = run_config_check(&workspace, &[(variable, "secret")], &[]).unwrap_err();
            assert!(!error.contains("hunter2"), "{variable} {content}: {error}");
            assert!(error.contains("secret") || error.contains("`port`"), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_the_server_use_the_database_url_in_the_file() {
    let Some(workspace) = Workspace::postgres().await else { return };
    let other_workspace = Workspace::sqlite();
    let url = workspace.database.as_ref().unwrap().url().unwrap();
    write(other_workspace.path().join("database"), format!("{url}\n")).unwrap();
    let flags = ["--database-file", "database"];
    let output = other_workspace.run(&[&["account", "add", "alice"], &flags[..]].concat());
    assert!(output.starts_with("account alice added"), "{output}");
    let _server = ServerProcess::start(other_workspace.path(), &flags);
    assert!(workspace.run(&["account", "list"]).starts_with("alice\t"));
    assert!(!other_workspace.path().join("data").exists());
}
