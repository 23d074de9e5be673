//! Checks of certificates.

use std::fs::{File, write};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use test_engines::free_port;

use super::fixture::start_server;
use super::{DoctorReport, run_doctor, workspace_with_database};
use crate::commands::Workspace;
use crate::support::files::{days_from_now, set_mode, write_certificate_with};
use crate::support::process::belfry_command;

/// Writes a certificate for localhost that is valid from `from_days` to `until_days` days from now.
pub(super) fn write_certificate(dir: &Path, from_days: i64, until_days: i64) {
    write_certificate_with(dir, "localhost", |params| {
        params.not_before = days_from_now(from_days).into();
        params.not_after = days_from_now(until_days).into();
    });
}

pub(super) const TLS_SETTINGS: &str = "listen = '127.0.0.1:1'\nbase_url = 'https://localhost:1'\n\
                   tls = { certificate = 'certificate.pem', key = 'key.pem' }";

#[test]
fn a_certificate_that_clients_reject_is_reported() {
    let workspace = workspace_with_database();
    workspace.configure(TLS_SETTINGS);
    for (from_days, until_days, status, expected_text) in [
        (-30, 90, "ok", "no warnings"),
        (-30, 10, "warning", "certificate.pem expires at"),
        (-30, -1, "warning", "certificate.pem expired at"),
        (1, 90, "warning", "certificate.pem is not valid before"),
    ] {
        write_certificate(workspace.path(), from_days, until_days);
        set_mode(&workspace.path().join("key.pem"), 0o600);
        run_doctor(&workspace, &[]).assert_status("settings", status, expected_text);
    }
    write_certificate(workspace.path(), -30, 90);
    workspace.configure(&TLS_SETTINGS.replace("localhost", "127.0.0.1"));
    let expected_text =
        "certificate.pem is not valid for 127.0.0.1, the host of base_url: clients reject it; get";
    run_doctor(&workspace, &[]).assert_status("settings", "warning", expected_text);

    let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    write(workspace.path().join("key.pem"), key).unwrap();
    let expected_text = "it is not the key of the certificate certificate.pem";
    run_doctor(&workspace, &[]).assert_failed("settings", expected_text);
    std::fs::remove_file(workspace.path().join("certificate.pem")).unwrap();
    run_doctor(&workspace, &[]).assert_failed("settings", "cannot use certificate.pem: ");
}

#[test]
fn a_certificate_that_is_not_trusted_is_reported() {
    let workspace = Workspace::sqlite();
    let port = free_port().unwrap();
    workspace.configure(&TLS_SETTINGS.replace(":1'", &format!(":{port}'")));
    write_certificate(workspace.path(), -30, 90);
    let _server = start_server(&workspace);
    let run_doctor_trusting = |trusted_file: &str| {
        let mut command = belfry_command(workspace.path(), &["doctor", "--json"]);
        command
            .env("SSL_CERT_FILE", workspace.path().join(trusted_file))
            .env_remove("SSL_CERT_DIR");
        DoctorReport::parse(&command.output().unwrap())
    };
    let trusted_report = run_doctor_trusting("certificate.pem");
    trusted_report.assert_status(
        "server",
        "ok",
        &format!("running at https://127.0.0.1:{port}, and ready"),
    );
    trusted_report.assert_status("base_url", "ok", "reaches this server");
    assert_eq!(trusted_report.exit_code, Some(0), "{:?}", trusted_report.results);

    let other_certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let mut file = File::create(workspace.path().join("other.pem")).unwrap();
    file.write_all(other_certificate.cert.pem().as_bytes()).unwrap();
    let report = run_doctor_trusting("other.pem");
    let expected_text =
        "its certificate was issued by an authority that this machine does not trust";
    report.assert_failed("base_url", expected_text);
    report.assert_failed("base_url", "SSL_CERT_FILE");

    // The server loads a new certificate within a second.
    write_certificate(workspace.path(), -30, -1);
    let expected_text = "its certificate expired at 20";
    let start = Instant::now();
    loop {
        let report = run_doctor_trusting("certificate.pem");
        let results = report.lines("base_url").join(" ");
        if results.contains(expected_text) {
            break;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{results}");
    }
}
