//! The certificate in `[tls]`.

use belfry_runtime::clock::{Clock, SystemClock};

use super::report::Report;
use crate::config::Config;
use crate::tls::Tls;

pub(super) fn check(config: &Config, report: &mut Report) {
    let Some(files) = &config.tls else {
        return report.skip("certificate", "no [tls]: this process serves plain HTTP");
    };
    if let Err(error) = Tls::load(files.clone()) {
        let fix = "name a certificate and its key, in PEM, that the server can read";
        return report.fail("certificate", error.to_string(), fix);
    }
    let warnings = config.certificate_warnings(&config.base_url(), SystemClock.now());
    if warnings.is_empty() {
        report.ok("certificate", format!("{} is valid", files.certificate.display()));
    }
    for (is_rejected, warning) in warnings {
        if is_rejected {
            report.fail("certificate", warning, "");
        } else {
            report.warn("certificate", warning, "");
        }
    }
}
