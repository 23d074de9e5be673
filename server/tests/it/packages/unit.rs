//! The systemd unit, checked by systemd's programs.

use std::fs;
use std::process::Command;

use test_engines::programs;

use super::{expect_success, packages};
use crate::support::report_skipped;

/// Unpacks the Debian package, with the unit and the program, into a temporary directory.
fn unpack_package() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let extract = format!("ar p {} data.tar.gz | tar xz", packages().debian.display());
    expect_success(Command::new("sh").args(["-c", &extract]).current_dir(dir.path()));
    dir
}

const UNIT_PATH: &str = "usr/lib/systemd/system/belfry.service";

#[test]
#[ignore = "long: builds the packages"]
fn systemd_accepts_the_unit_without_warnings() {
    let Some(analyze) = programs::find(&["systemd-analyze"]) else {
        return report_skipped("systemd-analyze", "it is not installed");
    };
    let dir = unpack_package();
    // The manual page is compressed and the user does not exist here.
    let unit = fs::read_to_string(dir.path().join(UNIT_PATH)).unwrap();
    let program = dir.path().join("usr/lib/belfry/belfry").display().to_string();
    let unit = unit.replace("/usr/lib/belfry/belfry", &program);
    let path = dir.path().join("belfry.service");
    fs::write(&path, unit).unwrap();
    let mut verify = Command::new(analyze);
    let output = verify.args(["verify", "--man=no"]).arg(&path).output().unwrap();
    let warnings = String::from_utf8(output.stderr).unwrap();
    let belfry_warnings: Vec<&str> =
        warnings.lines().filter(|line| line.contains("belfry")).collect();
    assert_eq!(belfry_warnings, [""; 0]);
}

/// The exposure of a process without any restriction is 10.
#[test]
#[ignore = "long: builds the packages"]
fn the_units_exposure_is_below_1_5() {
    let Some(analyze) = programs::find(&["systemd-analyze"]) else {
        return report_skipped("systemd-analyze", "it is not installed");
    };
    let dir = unpack_package();
    let mut security = Command::new(analyze);
    security.args(["security", "--offline=yes", "--threshold=15", "--no-pager"]);
    expect_success(security.arg(dir.path().join(UNIT_PATH)));
}

#[test]
#[ignore = "long: builds the packages"]
fn the_watchdog_and_restarts_are_configured() {
    let unit = fs::read_to_string(unpack_package().path().join(UNIT_PATH)).unwrap();
    for line in [
        "Type=notify",
        "WatchdogSec=30s",
        "Restart=on-failure",
        "RestartSec=2s",
        "StateDirectory=belfry",
        "LoadCredential=belfry.database",
        "LoadCredential=belfry.redis",
        "ExecStart=/usr/lib/belfry/belfry serve --config /etc/belfry/belfry.toml",
        "WantedBy=multi-user.target",
    ] {
        assert!(unit.lines().any(|unit_line| unit_line == line), "{line}");
    }
}
