//! The archive, as a new user follows the README and the guide.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use test_engines::free_port;

use super::{GUIDE, VERSION, commands, packages, succeed};

const README: &str = include_str!("../../../../README.md");

/// A directory that contains the archive, and the archive's directory when it is unpacked.
fn download() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let archive = &packages().archive;
    let name = archive.file_name().unwrap().to_str().unwrap();
    fs::copy(archive, folder.path().join(name)).unwrap();
    (folder, name.trim_end_matches(".tar.gz").to_owned())
}

#[test]
fn three_commands_unpack_start_and_store_a_rule() {
    for (document, heading) in [(README, "Install"), (GUIDE, "Archive")] {
        let (folder, directory) = download();
        let port = free_port().unwrap();
        let typed: Vec<String> = commands(document, heading)
            .into_iter()
            .map(|command| command.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}")))
            .map(|command| command.replace(&format!("belfry-{VERSION}-x86_64-linux"), &directory))
            .collect();
        let [unpack, start, store] = typed.as_slice() else { panic!("{typed:#?}") };
        // A person types the third command when the server has printed its address.
        let script = format!(
            "set -e\ntrap 'kill $!' EXIT\n{unpack}\n{start}\n\
             until ./belfry health >/dev/null 2>&1; do sleep 0.1; done\n{store}\n"
        );
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).current_dir(folder.path());
        // A machine without Rust.
        shell.env_clear().env("PATH", "/usr/bin:/bin");
        let output = succeed(shell.env("BELFRY_LISTEN", format!("127.0.0.1:{port}")));
        let (listening, rest) = output.split_once('\n').unwrap();
        assert_eq!(listening, format!("belfry listening on http://127.0.0.1:{port}"));
        assert!(rest.contains("account alice added") && rest.ends_with("{}"), "{output}");
    }
}

#[test]
fn the_archive_has_documents_licences_completions_and_the_files_of_a_service() {
    let (folder, directory) = download();
    succeed(Command::new("tar").arg("xzf").arg(format!("{directory}.tar.gz")).current_dir(&folder));
    let root = folder.path().join(directory);
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
    ] {
        assert!(read(path).contains(text), "{path} contains {text}");
    }
    assert!(!root.join("belfry.toml").exists(), "it would be read by ./belfry");
}

#[test]
fn the_example_settings_are_valid_also_with_every_comment_enabled() {
    let (folder, directory) = download();
    succeed(Command::new("tar").arg("xzf").arg(format!("{directory}.tar.gz")).current_dir(&folder));
    let root = folder.path().join(directory);
    let path = root.join("systemd/belfry.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let all: Vec<&str> = settings
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
        .collect();
    assert_ne!(settings.trim_end(), all.join("\n"));
    for text in [settings.clone(), all.join("\n")] {
        fs::write(&path, text).unwrap();
        check_settings(&root.join("belfry"), &path);
    }
}

/// Runs `belfry config check`, which must succeed.
fn check_settings(belfry: &Path, settings: &Path) {
    let mut check = Command::new(belfry);
    let checked = succeed(check.env_clear().args(["config", "check", "--config"]).arg(settings));
    assert!(checked.contains("127.0.0.1:8080"), "{checked}");
}
