//! A server with HTTPS, whose certificate is replaced.

use std::path::Path;

use rcgen::date_time_ymd;

use super::Observer;
use crate::support::Process;
use crate::support::files::write_certificate_with;

const EXPIRY: &str = "belfry_tls_certificate_expiry_timestamp_seconds";

/// Writes a certificate that expires at the beginning of a year.
fn write_certificate(dir: &Path, year: i32) {
    write_certificate_with(dir, "localhost", |params| {
        params.not_after = date_time_ymd(year, 1, 1);
    });
}

/// Replaces the certificate while the observer records metrics.
pub(super) async fn drive(observer: &mut Observer) {
    let dir = tempfile::tempdir().unwrap();
    write_certificate(dir.path(), 2040);
    let address = format!("127.0.0.1:{}", test_engines::free_port().unwrap());
    let flags = ["--tls-certificate", "certificate.pem", "--tls-key", "key.pem"];
    let flags = [&flags[..], &["--metrics-listen", &address]].concat();
    let _server = Process::start(dir.path(), &flags);
    let scrape = async || {
        let response = reqwest::get(format!("http://{address}/metrics")).await.unwrap();
        response.text().await.unwrap()
    };
    let mut watch = observer.watch();
    let first = watch.observe(&scrape().await);
    assert_eq!(first.value(EXPIRY, &[]), Some(2_208_988_800.0));
    write_certificate(dir.path(), 2041);
    let is_replaced = |scrape: &super::Scrape| scrape.value(EXPIRY, &[]) == Some(2_240_611_200.0);
    watch.observe_until("the new certificate", scrape, is_replaced).await;
}
