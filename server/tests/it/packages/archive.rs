//! The archive, installed and used by the commands in the guide.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use test_engines::free_port;

use super::machine::Machine;
use super::{GUIDE, VERSION, can_install, commands, packages, repository, succeed};

/// Returns a directory that contains the archive, and the name of the directory in the archive.
fn download() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let archive = &packages().archive;
    let name = archive.file_name().unwrap().to_str().unwrap();
    fs::copy(archive, dir.path().join(name)).unwrap();
    (dir, name.trim_end_matches(".tar.gz").to_owned())
}

#[test]
#[ignore = "long: builds the packages"]
fn three_commands_unpack_start_and_store_a_rule() {
    let (dir, directory) = download();
    let port = free_port().unwrap();
    let command_lines: Vec<String> = commands(GUIDE, "Archive")
        .into_iter()
        .map(|command| command.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}")))
        .map(|command| command.replace(&format!("belfry-{VERSION}-x86_64-linux"), &directory))
        .collect();
    let [unpack, start, store] = command_lines.as_slice() else { panic!("{command_lines:#?}") };
    // A person types the third command when the server has printed its address.
    let script = format!(
        "set -e\ntrap 'kill $!' EXIT\n{unpack}\n{start}\n\
         until ./belfry health >/dev/null 2>&1; do sleep 0.1; done\n{store}\n"
    );
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(dir.path());
    // The environment of a machine without Rust.
    shell.env_clear().env("PATH", "/usr/bin:/bin");
    let output = succeed(shell.env("BELFRY_LISTEN", format!("127.0.0.1:{port}")));
    let (listening, rest) = output.split_once('\n').unwrap();
    assert_eq!(listening, format!("belfry listening on http://127.0.0.1:{port}"));
    assert!(rest.contains("account alice added") && rest.ends_with("{}"), "{output}");
}

#[test]
#[ignore = "long: builds the packages"]
fn the_archive_has_documents_licences_completions_and_service_files() {
    let (dir, directory) = download();
    succeed(Command::new("tar").arg("xzf").arg(format!("{directory}.tar.gz")).current_dir(&dir));
    let root = dir.path().join(directory);
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    for (path, text) in [
        ("README.md", "# Belfry"),
        ("CHANGELOG.md", "# Changelog"),
        ("docs/install.md", "# Installing Belfry"),
        ("docs/examples/compose.yaml", "valkey"),
        ("LICENSE-MIT", "Permission is hereby granted"),
        ("LICENSE-APACHE", "Apache License"),
        ("THIRD-PARTY-LICENSES.txt", "\ntokio 1."),
        ("share/man/man1/belfry.1", ".TH BELFRY 1"),
        ("share/bash-completion/completions/belfry", "_belfry"),
        ("share/zsh/site-functions/_belfry", "#compdef belfry"),
        ("share/fish/vendor_completions.d/belfry.fish", "complete -c belfry"),
        ("systemd/belfry.service", "ExecStart=/usr/local/bin/belfry serve"),
        ("systemd/sysusers.conf", "u belfry"),
        ("systemd/belfry.toml", "data = \"/var/lib/belfry\""),
        ("belfry.example.toml", "#listen = \"127.0.0.1:8080\""),
    ] {
        assert!(read(path).contains(text), "{path} contains {text}");
    }
    assert!(!root.join("belfry.toml").exists(), "it would be read by ./belfry");
}

#[test]
fn the_example_settings_are_valid_even_with_every_comment_enabled() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("belfry.toml");
    let settings = fs::read_to_string(repository().join("packaging/files/belfry.toml")).unwrap();
    let is_setting = |line: &&str| {
        let key = line.split_once(" = ").map_or("", |(key, _)| key);
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let uncomment = |line| str::strip_prefix(line, "# ").filter(is_setting).unwrap_or(line);
    let all: Vec<&str> = settings.lines().map(uncomment).collect();
    assert_ne!(settings.trim_end(), all.join("\n"));
    for text in [settings.clone(), all.join("\n")] {
        fs::write(&path, text).unwrap();
        check_settings(Path::new(env!("CARGO_BIN_EXE_belfry")), &path);
    }
}

/// Returns the commands in the guide that install the unpacked archive, except `systemctl`.
fn root_commands() -> Vec<String> {
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
    let unpack = ["--strip-components=1", "--no-same-owner", "-C"];
    succeed(tar.arg("xzf").arg(&packages().archive).args(unpack).arg(machine.path("tmp")));
    let command_lines = root_commands();
    assert_eq!(command_lines.len(), 6, "{command_lines:#?}");
    for command in command_lines {
        succeed(&mut machine.command(&["sh", "-c", &format!("cd /tmp && {command}")]));
    }

    let unit = fs::read_to_string(machine.path("etc/systemd/system/belfry.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    assert!(start.starts_with("/usr/local/bin/belfry serve --config /etc/belfry/belfry.toml"));
    succeed(&mut machine.command(&["sh", "-c", "install -d -m 700 -o belfry /var/lib/belfry"]));
    let user = ["setpriv", "--reuid=belfry", "--regid=belfry", "--init-groups"];
    let command = GUIDE.split("`sudo -u belfry ").nth(1).unwrap().split('`').next().unwrap();
    let command: Vec<&str> = command.split_whitespace().collect();
    let mut add = machine.command(&[&user[..], &command].concat());
    let output = succeed(add.env("PATH", "/usr/local/bin:/usr/bin"));
    assert!(output.contains("account alice added"), "{output}");
}

/// Runs `belfry config check`, which must succeed.
fn check_settings(belfry: &Path, settings: &Path) {
    let mut check = Command::new(belfry);
    let output = succeed(check.env_clear().args(["config", "check", "--config"]).arg(settings));
    assert!(output.contains("127.0.0.1:8080"), "{output}");
}
