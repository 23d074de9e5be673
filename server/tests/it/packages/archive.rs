//! The archive, installed and used by the commands in the guide.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use test_engines::free_port;

use super::machine::Machine;
use super::{
    GUIDE, VERSION, can_install, console_commands, expect_success, packages, repository_dir,
};

/// Returns a directory that contains the archive, and the name of the directory in the archive.
fn copy_archive() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let archive = &packages().archive;
    let name = archive.file_name().unwrap().to_str().unwrap();
    fs::copy(archive, dir.path().join(name)).unwrap();
    (dir, name.trim_end_matches(".tar.gz").to_owned())
}

#[test]
#[ignore = "long: builds the packages"]
fn three_commands_unpack_start_and_store_a_rule() {
    let (dir, archive_dir) = copy_archive();
    let port = free_port().unwrap();
    let command_lines: Vec<String> = console_commands(GUIDE, "Archive")
        .into_iter()
        .map(|command| command.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}")))
        .map(|command| command.replace(&format!("belfry-{VERSION}-x86_64-linux"), &archive_dir))
        .collect();
    let [unpack_command, start_command, store_command] = command_lines.as_slice() else {
        panic!("{command_lines:#?}")
    };
    // A person types the third command when the server has printed its address.
    let script = format!(
        "set -e\ntrap 'kill $!' EXIT\n{unpack_command}\n{start_command}\n\
         until ./belfry health >/dev/null 2>&1; do sleep 0.1; done\n{store_command}\n"
    );
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(dir.path());
    // The environment of a machine without Rust.
    shell.env_clear().env("PATH", "/usr/bin:/bin");
    let output = expect_success(shell.env("BELFRY_LISTEN", format!("127.0.0.1:{port}")));
    let (listening, rest) = output.split_once('\n').unwrap();
    assert_eq!(listening, format!("belfry listening on http://127.0.0.1:{port}"));
    assert!(rest.contains("account alice added") && rest.ends_with("{}"), "{output}");
}

#[test]
#[ignore = "long: builds the packages"]
fn the_archive_has_documents_licences_completions_and_service_files() {
    let (dir, archive_dir) = copy_archive();
    expect_success(
        Command::new("tar").arg("xzf").arg(format!("{archive_dir}.tar.gz")).current_dir(&dir),
    );
    let root = dir.path().join(archive_dir);
    let read_file = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    for (path, text) in [
        ("README.md", "# Belfry"),
        ("CHANGELOG.md", "# Changelog"),
        ("docs/install.md", "# Installing Belfry"),
        ("docs/examples/compose.yaml", "valkey"),
        ("LICENSE-MIT", "Permission is hereby granted"),
        ("LICENSE-APACHE", "Apache License"),
        ("THIRD-PARTY-LICENSES.txt", "\ntokio 1."),
        ("share/bash-completion/completions/belfry", "_belfry"),
        ("share/zsh/site-functions/_belfry", "#compdef belfry"),
        ("share/fish/vendor_completions.d/belfry.fish", "complete -c belfry"),
        ("systemd/belfry.service", "ExecStart=/usr/local/bin/belfry serve"),
        ("systemd/sysusers.conf", "u belfry"),
        ("systemd/belfry.toml", "data = \"/var/lib/belfry\""),
        ("belfry.example.toml", "#listen = \"127.0.0.1:8080\""),
    ] {
        assert!(read_file(path).contains(text), "{path} contains {text}");
    }
    // `./belfry` would read it.
    assert!(!root.join("belfry.toml").exists());
}

#[test]
fn the_example_settings_are_valid_even_with_every_comment_enabled() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("belfry.toml");
    let settings =
        fs::read_to_string(repository_dir().join("packaging/files/belfry.toml")).unwrap();
    let is_setting = |line: &&str| {
        let key = line.split_once(" = ").map_or("", |(key, _)| key);
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let uncomment = |line| str::strip_prefix(line, "# ").filter(is_setting).unwrap_or(line);
    let uncommented_lines: Vec<&str> = settings.lines().map(uncomment).collect();
    assert_ne!(settings.trim_end(), uncommented_lines.join("\n"));
    for text in [settings.clone(), uncommented_lines.join("\n")] {
        fs::write(&path, text).unwrap();
        assert_valid_settings(Path::new(env!("CARGO_BIN_EXE_belfry")), &path);
    }
}

/// Returns the commands in the guide that install the unpacked archive, except `systemctl`.
fn installation_commands() -> Vec<String> {
    let (_, section) = GUIDE.split_once("\n## Archive\n").unwrap();
    let block = section.split("```console\n").nth(2).unwrap().split("```").next().unwrap();
    let lines = block.lines().map(|line| line.strip_prefix("# ").unwrap());
    let commands = lines.flat_map(|line| line.split(" && "));
    commands.filter(|command| !command.starts_with("systemctl ")).map(str::to_owned).collect()
}

#[test]
#[ignore = "long: builds the packages"]
fn the_archive_can_be_installed_as_a_service() {
    if !can_install() {
        return;
    }
    let machine = Machine::new();
    machine.add_installed_packages(&["libc6", "libgcc-s1"]);
    for directory in ["usr/local/bin", "usr/local/share", "etc/systemd/system"] {
        fs::create_dir_all(machine.path(directory)).unwrap();
    }
    let mut tar = Command::new("tar");
    let options = ["--strip-components=1", "--no-same-owner", "-C"];
    expect_success(tar.arg("xzf").arg(&packages().archive).args(options).arg(machine.path("tmp")));
    let command_lines = installation_commands();
    assert_eq!(command_lines.len(), 6, "{command_lines:#?}");
    for command in command_lines {
        expect_success(&mut machine.command(&["sh", "-c", &format!("cd /tmp && {command}")]));
    }

    let unit = fs::read_to_string(machine.path("etc/systemd/system/belfry.service")).unwrap();
    let start_command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    assert!(
        start_command.starts_with("/usr/local/bin/belfry serve --config /etc/belfry/belfry.toml")
    );
    expect_success(&mut machine.command(&[
        "sh",
        "-c",
        "install -d -m 700 -o belfry /var/lib/belfry",
    ]));
    let run_as_belfry = ["setpriv", "--reuid=belfry", "--regid=belfry", "--init-groups"];
    let command = GUIDE.split("`sudo -u belfry ").nth(1).unwrap().split('`').next().unwrap();
    let command: Vec<&str> = command.split_whitespace().collect();
    let mut add_account = machine.command(&[&run_as_belfry[..], &command].concat());
    let output = expect_success(add_account.env("PATH", "/usr/local/bin:/usr/bin"));
    assert!(output.contains("account alice added"), "{output}");
}

/// Runs `belfry config check`, which must succeed.
fn assert_valid_settings(belfry: &Path, settings: &Path) {
    let mut config_check = Command::new(belfry);
    let output = expect_success(
        config_check.env_clear().args(["config", "check", "--config"]).arg(settings),
    );
    assert!(output.contains("127.0.0.1:8080"), "{output}");
}
