//! Flags, environment variables, the configuration file and `belfry config check`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::Workspace;
use crate::support::process::belfry;

#[test]
fn global_flags_are_accepted_before_and_after_the_command() {
    let workspace = Workspace::sqlite();
    workspace.run(&["--data", "here", "account", "add", "alice"]);
    assert!(workspace.run(&["account", "list", "--data", "here"]).starts_with("alice\t"));
    let missing = workspace.fail(&["account", "list", "--data", "there"]);
    assert!(missing.contains("there/belfry.db: it does not exist"), "{missing}");

    std::fs::write(workspace.path().join("other.toml"), "data = 'here'").unwrap();
    assert!(workspace.run(&["--config", "other.toml", "account", "list"]).starts_with("alice\t"));
    assert!(workspace.run(&["account", "--config", "other.toml", "list"]).starts_with("alice\t"));
}

#[test]
fn config_check_prints_the_effective_settings_and_changes_nothing() {
    let workspace = Workspace::sqlite();
    std::fs::write(workspace.path().join("belfry.toml"), "base_url = 'https://ring.example'")
        .unwrap();
    let output = workspace.run(&["config", "check"]);
    assert!(output.contains("base_url       https://ring.example\n"), "{output}");
    assert!(output.contains("database       SQLite in data/belfry.db\n"), "{output}");
    assert!(output.ends_with("the settings are valid\n"), "{output}");
    assert!(!workspace.path().join("data").exists());
}

#[test]
fn config_check_prints_who_can_register() {
    let workspace = Workspace::sqlite();
    for (settings, accounts, apps) in [
        ("", "open", "open"),
        ("registration = 'closed'", "closed", "open"),
        ("app_registration = 'closed'", "open", "closed"),
    ] {
        workspace.configure(settings);
        let output = workspace.run(&["config", "check"]);
        let accounts = format!("\nregistration   {accounts}\n");
        let apps = format!("\napps           registration {apps}\n");
        assert!(output.contains(&accounts) && output.contains(&apps), "{output}");
    }
}

#[test]
fn config_check_reports_what_is_wrong_and_where() {
    let workspace = Workspace::sqlite();
    std::fs::write(workspace.path().join("belfry.toml"), "\nlisen = '0.0.0.0:80'").unwrap();
    let message = workspace.fail(&["config", "check"]);
    let expected = "belfry: unknown key `lisen`; did you mean `listen`? (belfry.toml, line 2)\n";
    assert_eq!(message, expected);
    assert_eq!(workspace.fail(&["serve"]), expected, "serve rejects it, too");
    let missing = workspace.fail(&["config", "check", "--config", "nowhere.toml"]);
    assert!(missing.starts_with("belfry: cannot read nowhere.toml: "), "{missing}");
}

#[test]
fn help_names_every_flag_with_its_variable_and_default() {
    let workspace = Workspace::sqlite();
    let help = workspace.run(&["serve", "--help"]);
    for (flag, variable, default) in [
        ("--listen <ADDR>", "BELFRY_LISTEN", "127.0.0.1:8080"),
        ("--data <DIR>", "BELFRY_DATA", "./data"),
        ("--database <URL>", "BELFRY_DATABASE", "SQLite"),
        ("--redis <URL>", "BELFRY_REDIS", "in this process"),
        ("--base-url <URL>", "BELFRY_BASE_URL", "http://LISTEN"),
        ("--limits <MODE>", "BELFRY_LIMITS", "enforce"),
        ("--config <FILE>", "BELFRY_CONFIG", "./belfry.toml"),
    ] {
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [flag, variable, default] {
            assert!(words.contains(part), "{part} is not in the help:\n{help}");
        }
    }
}

#[test]
fn environment_variables_that_are_not_unicode_do_not_panic() {
    let workspace = Workspace::sqlite();
    let not_unicode = OsStr::from_bytes(b"\xff");
    let check = |variable: &OsStr| {
        let mut command = belfry(workspace.path(), &["config", "check"]);
        command.env(variable, not_unicode).output().unwrap()
    };
    assert!(check(OsStr::new("X")).status.success());
    assert!(check(not_unicode).status.success());
    let rejected = check(OsStr::new("BELFRY_DATA"));
    assert_eq!(rejected.status.code(), Some(2), "{rejected:?}");
}

#[test]
fn an_empty_variable_counts_as_unset_and_a_misspelt_one_causes_a_warning() {
    let workspace = Workspace::sqlite();
    let mut command = belfry(workspace.path(), &["config", "check"]);
    let output = command.env("BELFRY_LISTEN", "").env("BELFRY_DATABSE", "x").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("listen         127.0.0.1:8080\n"), "{printed}");
    let expected =
        "belfry: warning: unknown variable BELFRY_DATABSE; did you mean BELFRY_DATABASE?\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
}
