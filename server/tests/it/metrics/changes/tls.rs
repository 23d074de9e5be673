//! A server with HTTPS, whose certificate is replaced.

use std::path::Path;

use rcgen::date_time_ymd;

use super::Observer;
use crate::support::ServerProcess;
use crate::support::files::write_certificate_with;

const EXPIRY_METRIC: &str = "belfry_tls_certificate_expiry_timestamp_seconds";

fn write_expiring_certificate(dir: &Path, expiry_year: i32) {
    write_certificate_with(dir, "localhost", |params| {
        params.not_after = date_time_ymd(expiry_year, 1, 1);
    });
}

/// Replaces the certificate while the observer records metrics.
pub(super) async fn observe_new_certificate(observer: &mut Observer) {
    let dir = tempfile::tempdir().unwrap();
    write_expiring_certificate(dir.path(), 2040);
    let metrics_address = format!("127.0.0.1:{}", test_engines::free_port().unwrap());
    let flags = ["--tls-certificate", "certificate.pem", "--tls-key", "key.pem"];
    let flags = [&flags[..], &["--metrics-listen", &metrics_address]].concat();
    let _server = ServerProcess::start(dir.path(), &flags);
    let scrape = async || {
        let response = reqwest::get(format!("http://{metrics_address}/metrics")).await.unwrap();
        response.text().await.unwrap()
    };
    let mut watch = observer.watch();
    let scrape_before = watch.observe(&scrape().await);
    assert_eq!(scrape_before.value(EXPIRY_METRIC, &[]), Some(2_208_988_800.0));
    write_expiring_certificate(dir.path(), 2041);
    let is_replaced =
        |scrape: &super::Scrape| scrape.value(EXPIRY_METRIC, &[]) == Some(2_240_611_200.0);
    watch.observe_until("the new certificate", scrape, is_replaced).await;
}
