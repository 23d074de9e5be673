//! A small Debian system in a directory: the programs that an installation runs, with their
//! libraries and dpkg's database.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use test_engines::programs;

use super::expect_success;

/// The programs that the maintainer scripts, `/usr/bin/belfry` and the guide run.
const PROGRAMS: [&str; 15] = [
    "chgrp",
    "chmod",
    "chown",
    "cp",
    "dash",
    "deb-systemd-helper",
    "id",
    "install",
    "mktemp",
    "perl",
    "rm",
    "rmdir",
    "setpriv",
    "setsid",
    "systemd-sysusers",
];

/// A directory to `chroot` into. It belongs to root.
pub(super) struct Machine {
    root: TempDir,
}

impl Machine {
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let machine = Self { root };
        for directory in
            ["dev", "etc", "run", "tmp", "usr/bin", "usr/lib", "usr/lib64", "usr/sbin", "var/lib"]
        {
            fs::create_dir_all(machine.path(directory)).unwrap();
        }
        for name in ["bin", "lib", "lib64", "sbin"] {
            symlink(format!("usr/{name}"), machine.path(name)).unwrap();
        }
        fs::write(machine.path("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
        fs::write(machine.path("etc/group"), "root:x:0:\n").unwrap();
        // A plain file, because containers may not create devices.
        fs::write(machine.path("dev/null"), "").unwrap();
        fs::set_permissions(machine.path("dev/null"), fs::Permissions::from_mode(0o666)).unwrap();
        for name in PROGRAMS {
            machine.copy_program(&programs::find(&[name]).unwrap());
        }
        symlink("dash", machine.path("usr/bin/sh")).unwrap();
        machine.copy_package_files("perl-base", |path| path.contains("/perl-base/"));
        machine
    }

    /// Returns the path of a file in this system, given without a leading slash.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Returns the user id, group id and mode of a file.
    pub(super) fn owner_and_mode(&self, path: &str) -> (u32, u32, u32) {
        let metadata = fs::metadata(self.path(path)).unwrap();
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
    }

    /// Returns a command that runs in this system as root.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        self.command_as("0:0", words)
    }

    /// Returns a command that runs in this system as `UID:GID`.
    pub(super) fn command_as(&self, user: &str, words: &[&str]) -> Command {
        let mut command = Command::new(programs::find(&["chroot"]).unwrap());
        command.arg(format!("--userspec={user}")).arg("--groups=").arg(self.root.path());
        command.args(words).env_clear().env("PATH", "/usr/sbin:/usr/bin");
        command
    }

    /// Runs dpkg on this system and returns its output.
    pub(super) fn dpkg(&self, arguments: &[&str]) -> String {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", self.root.path().display())).args(arguments);
        expect_success(dpkg.env("PATH", programs::search_path()).env("LC_ALL", "C"))
    }

    /// Marks packages of this machine as installed, and copies their libraries.
    pub(super) fn add_installed_packages(&self, names: &[&str]) {
        let dpkg_status = fs::read_to_string("/var/lib/dpkg/status").unwrap();
        let stanzas = dpkg_status.split("\n\n").filter(|stanza| {
            let name = stanza.lines().find_map(|line| line.strip_prefix("Package: "));
            name.is_some_and(|name| names.contains(&name))
        });
        let database = self.path("var/lib/dpkg");
        for directory in ["info", "updates"] {
            fs::create_dir_all(database.join(directory)).unwrap();
        }
        let package_entries: Vec<String> =
            stanzas.map(|stanza| format!("{}\n\n", stanza.trim())).collect();
        assert_eq!(package_entries.len(), names.len(), "{package_entries:?}");
        fs::write(database.join("status"), package_entries.concat()).unwrap();
        for name in names.iter().filter(|name| name.starts_with("lib")) {
            self.copy_package_files(name, |path| path.contains(".so") && !path.contains("/gconv/"));
        }
    }

    /// Copies a program to the same path, with the libraries that it needs.
    fn copy_program(&self, program: &Path) {
        self.copy_file(program);
        let libraries = Command::new("ldd").arg(program).output().unwrap().stdout;
        for line in String::from_utf8(libraries).unwrap().lines() {
            let path = line.split_whitespace().find(|word| word.starts_with('/'));
            if let Some(path) = path {
                self.copy_file(Path::new(path));
            }
        }
    }

    /// Copies the files of a package that the predicate selects.
    fn copy_package_files(&self, package: &str, is_selected: impl Fn(&str) -> bool) {
        let list = expect_success(Command::new("dpkg-query").args(["--listfiles", package]));
        for path in list.lines().filter(|path| is_selected(path)).map(Path::new) {
            if path.is_file() {
                self.copy_file(path);
            }
        }
    }

    fn copy_file(&self, path: &Path) {
        let target = self.root.path().join(path.strip_prefix("/").unwrap());
        if !target.exists() {
            install_program(path, &target);
        }
    }
}

/// Copies a program in a separate process. If this process wrote it, a child that a different test
/// starts at that moment would inherit the open file, and the program could not run ("text file
/// busy").
pub(super) fn install_program(source: &Path, target: &Path) {
    expect_success(Command::new("install").args(["-D", "-m", "755"]).args([source, target]));
}
