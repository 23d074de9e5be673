//! The certificate in `[tls]`.

use belfry_runtime::clock::{Clock, SystemClock};

use super::report::Report;
use crate::config::Config;
use crate::tls::Tls;
use crate::tls::certificate::{Certificate, ValidityProblem};

pub(super) fn check(config: &Config, report: &mut Report) {
    let Some(files) = &config.tls else {
        return report.skip("certificate", "no [tls]: this process serves plain HTTP");
    };
    let path = files.certificate.display();
    let certificate = match (Tls::load(files.clone()), Certificate::read(&files.certificate)) {
        (Ok(_), Ok(certificate)) => certificate,
        // A pair that does not match, or a file that cannot be read.
        (Err(error), _) => {
            let fix = "name a certificate and its key, in PEM, that the server can read";
            return report.fail("certificate", error.to_string(), fix);
        }
        (_, Err(error)) => return report.fail("certificate", format!("{path}: {error}"), ""),
    };
    match certificate.validity_problem(SystemClock.now()) {
        Some(problem @ ValidityProblem::ExpiresSoon(_)) => {
            report.warn("certificate", format!("{path} {problem}"), "");
        }
        Some(problem) => report.fail("certificate", format!("{path} {problem}"), ""),
        None => {
            report.ok("certificate", format!("{path} is valid until {}", certificate.not_after));
        }
    }
    let base_url = config.base_url();
    let host = base_url.host();
    if !certificate.covers(host) {
        let fix = format!("get a certificate for {host}, or correct base_url");
        report.fail(
            "certificate",
            format!("{path} is not valid for {host}, the host of base_url"),
            fix,
        );
    }
}
