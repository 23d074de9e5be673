//! The release packages: built from the test binary, installed or unpacked, and run.

mod archive;
mod compose;
mod debian;
mod image;
mod machine;
mod name_server;
mod sbom;
mod unit;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use ::packaging::{Packages, build};

use crate::support::report_skipped;

const GUIDE: &str = include_str!("../../../docs/install.md");
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Modification time of all packaged files.
const MODIFICATION_TIME: u64 = 1_700_000_000;

/// Returns the packages, built once.
fn packages() -> &'static Packages {
    static PACKAGES: OnceLock<Packages> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
        fs::create_dir_all(&dir).unwrap();
        // Release builds have no debug information either.
        let binary = dir.join("belfry");
        let mut strip = Command::new("strip");
        strip.arg("--strip-debug").arg("-o").arg(&binary).arg(env!("CARGO_BIN_EXE_belfry"));
        expect_success(&mut strip);
        build(&repository_dir(), &binary, MODIFICATION_TIME, &dir.join("dist")).unwrap()
    })
}

fn repository_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
fn expect_success(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdout = String::from_utf8_lossy(&stdout);
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {status}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// Returns whether packages can be installed into a directory and run there, which requires root
/// for `chroot`, and a Debian system for its libraries. If not, reports the tests as skipped.
fn can_install() -> bool {
    let can_install =
        rustix::process::geteuid().is_root() && Path::new("/var/lib/dpkg/status").exists();
    if !can_install {
        report_skipped("installed packages", "run them as root on a Debian system");
    }
    can_install
}

/// Returns the commands in the first console block after a heading, without prompts. A backslash
/// continues a command on the next line.
fn console_commands(document: &str, heading: &str) -> Vec<String> {
    let (_, section) = document.split_once(&format!("\n## {heading}\n")).unwrap();
    let (_, block) = section.split_once("```console\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let block = block.replace("\\\n", "");
    block.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

#[test]
#[ignore = "long: builds the packages"]
fn checksums_match_the_packages() {
    let packages = packages();
    let mut sha256sum = Command::new("sha256sum");
    sha256sum.args(["--check", "--strict", "SHA256SUMS"]);
    let output = expect_success(sha256sum.current_dir(packages.checksums.parent().unwrap()));
    let files = [&packages.archive, &packages.debian, &packages.image, &packages.sbom];
    let names = files.map(|path| path.file_name().unwrap().to_str().unwrap());
    assert_eq!(output, names.map(|name| format!("{name}: OK\n")).concat());
    for name in names {
        let name = name.replace("aarch64", "x86_64").replace("arm64", "amd64");
        assert!(GUIDE.contains(&format!("`{name}`")), "{name} is in the guide");
    }
}

#[test]
#[ignore = "long: builds the packages"]
fn packages_built_from_the_same_binary_are_identical() {
    let first_build = packages();
    let dir = tempfile::tempdir().unwrap();
    let binary = first_build.checksums.parent().unwrap().with_file_name("belfry");
    let second_build =
        build(&repository_dir(), &binary, MODIFICATION_TIME, &dir.path().join("dist")).unwrap();
    let [first_checksums, second_checksums] =
        [first_build, &second_build].map(|packages| fs::read_to_string(&packages.checksums));
    assert_eq!(first_checksums.unwrap(), second_checksums.unwrap());
}
