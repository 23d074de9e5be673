//! Commands that connect to PostgreSQL over TLS.

use std::fs;

use belfry_store::test::{CertificateAuthority, TlsPostgres};

use crate::support::process::belfry_command;

/// One command is enough, because all commands and `serve` connect with the same parameters.
#[tokio::test]
async fn commands_connect_to_postgres_with_a_private_certificate_authority() {
    let Some(server) = TlsPostgres::start().await else { return };
    let add_account_trusting = |authority: &str| {
        let parameters = format!("sslmode=verify-full&sslrootcert=FILES/{authority}");
        let url = server.url("belfry", "localhost", &parameters);
        let mut command = belfry_command(server.client_files.path(), &["account", "add", "alice"]);
        command.env("BELFRY_DATABASE", url).output().unwrap()
    };
    let output = add_account_trusting("other.pem");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("sslrootcert=PATH") && !output.status.success(), "{message}");
    assert!(add_account_trusting("ca.pem").status.success());
}

#[test]
fn config_check_rejects_invalid_tls_parameters() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ca.pem"), CertificateAuthority::new("Belfry").pem()).unwrap();
    fs::write(dir.path().join("empty.pem"), "").unwrap();
    for (parameters, problem) in [
        ("sslmode=verify-full&sslrootcert=ca.pem", None),
        ("sslmode=verify-full&sslrootcert=none.pem", Some("sslrootcert: cannot use none.pem: ")),
        ("sslmode=verify-ca&sslrootcert=empty.pem", Some("empty.pem contains no certificate")),
        ("sslmode=verify", Some("sslmode must be disable, require, verify-ca or verify-full")),
        ("sslrootcert=ca.pem", Some("have no effect without encryption")),
    ] {
        let mut command = belfry_command(dir.path(), &["config", "check"]);
        command.env("BELFRY_DATABASE", format!("postgres://localhost/belfry?{parameters}"));
        let output = command.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.success(), problem.is_none(), "{parameters}: {message}");
        assert!(message.contains(problem.unwrap_or_default()), "{parameters}: {message}");
    }
}
