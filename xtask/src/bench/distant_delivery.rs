//! Delivery of an event to many devices of a push service that responds after a delay, over TLS.

use std::error::Error;
use std::process::Command;

use test_engines::Server;

use super::Bench;
use super::delivery::{ACCOUNTS, DEVICES, ROUNDS, notify, run_bench};
use super::line::{ReportLine, Target, median};
use super::setup::{AUTHORITY_FILE, Setup};

/// A push service, whose certificate is issued by an authority of its own.
pub(super) struct DistantOrigin {
    pub delay_ms: u32,
    /// True if it speaks HTTP/1.1 instead of HTTP/2.
    pub is_http1: bool,
    /// It refuses messages beyond this number in flight, with status 429.
    pub max_in_flight: Option<u32>,
}

impl DistantOrigin {
    /// Measures the time from the request until the messages are delivered to all devices, or with
    /// HTTP/1.1, their number per second. The target applies to it.
    pub(super) fn measure(
        &self,
        bench: &Bench,
        setup: &Setup,
        name: &str,
        target: Option<Target>,
    ) -> Result<Vec<ReportLine>, Box<dyn Error>> {
        let mut instance = setup.start(&bench.current)?;
        let mut command = Command::new(&bench.push_service);
        command.args(["--authority-file", AUTHORITY_FILE]);
        command.args(["--delay-ms", &self.delay_ms.to_string()]);
        if self.is_http1 {
            command.arg("--http1");
        }
        if let Some(max) = self.max_in_flight {
            command.args(["--max-in-flight", &max.to_string()]);
        }
        let push_service = Server::start(command, instance.dir())?;
        // Reads the authority.
        instance.restart()?;
        let origin = get(&push_service, "/origin")?;
        run_bench(&bench.current, instance.dir(), &["pushers", &ACCOUNTS.to_string(), &origin])?;
        let mut seconds = vec![];
        let mut refused_shares = vec![];
        let mut repeated = 0.0;
        for round in 0..ROUNDS {
            seconds.push(notify(&instance, round)?.delivery.as_secs_f64());
            let counts = get(&push_service, "/counts")?;
            let counts: Vec<f64> = counts.split(' ').map(str::parse).collect::<Result<_, _>>()?;
            let &[accepted, devices, refused] = &*counts else { return Err("no counts".into()) };
            refused_shares.push(100.0 * refused / (accepted + refused));
            repeated += accepted - devices;
        }
        let main_line = if self.is_http1 {
            ReportLine::metric(name, DEVICES / median(seconds), "/s", target)
        } else {
            ReportLine::metric(name, median(seconds), "s", target)
        };
        let mut lines = vec![
            main_line,
            ReportLine::metric(
                &format!("{name}: sent more than once"),
                repeated,
                "messages",
                Some(Target::AtMost(0.0)),
            ),
        ];
        if self.max_in_flight.is_some() {
            let name = format!("{name}: refused requests");
            lines.push(ReportLine::metric(&name, median(refused_shares), "%", None));
        }
        Ok(lines)
    }
}

fn get(push_service: &Server, path: &str) -> Result<String, minreq::Error> {
    let url = format!("http://{}{path}", push_service.address);
    Ok(minreq::get(url).with_timeout(10).send()?.as_str()?.to_owned())
}
