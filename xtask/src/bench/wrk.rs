//! Loading a server with wrk and reading its report.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use test_engines::programs;

/// Number of threads that send requests, each with separate Lua state.
pub(super) const THREADS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Report {
    pub requests: f64,
    pub per_second: f64,
    /// Responses with a status of 400 or above.
    pub error_responses: u64,
    /// Requests without a response.
    pub unanswered_requests: u64,
}

pub(super) fn run_load(
    address: SocketAddr,
    script: &Path,
    connections: u16,
    seconds: u32,
) -> io::Result<Report> {
    let wrk = programs::find(&["wrk"]).ok_or_else(|| io::Error::other("wrk is not installed"))?;
    let output = Command::new(wrk)
        .args(["--threads", &THREADS.to_string(), "--connections", &connections.to_string()])
        .args(["--duration", &format!("{seconds}s"), "--timeout", "5s"])
        .arg("--script")
        .arg(script)
        .arg(format!("http://{address}/"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let report = parse_report(&text).filter(|_| output.status.success());
    report.ok_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!("wrk: {}\n{text}{errors}", output.status))
    })
}

fn parse_report(output: &str) -> Option<Report> {
    let mut report = Report::default();
    let mut is_complete = false;
    for line in output.lines().map(str::trim) {
        if let Some(count) = line.strip_prefix("Non-2xx or 3xx responses: ") {
            report.error_responses = count.parse().ok()?;
        } else if let Some(counts) = line.strip_prefix("Socket errors: ") {
            let counts =
                counts.split(", ").map(|count| count.split_once(' ')?.1.parse::<u64>().ok());
            report.unanswered_requests = counts.sum::<Option<_>>()?;
        } else if let Some((requests, _)) = line.split_once(" requests in ") {
            report.requests = requests.parse().ok()?;
        } else if let Some(rate) = line.strip_prefix("Requests/sec:") {
            report.per_second = rate.trim().parse().ok()?;
            is_complete = true;
        }
    }
    is_complete.then_some(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
Running 2s test @ http://127.0.0.1:8080/healthz
  2 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   303.49us  448.62us  12.59ms   92.82%
    Req/Sec    34.61k     3.41k   41.37k    70.73%
  141127 requests in 2.10s, 17.36MB read
  Socket errors: connect 0, read 3, write 0, timeout 4
  Non-2xx or 3xx responses: 12
Requests/sec:  67193.55
Transfer/sec:      8.27MB
";

    #[test]
    fn the_report_is_parsed() {
        let expected = Report {
            requests: 141_127.0,
            per_second: 67193.55,
            error_responses: 12,
            unanswered_requests: 7,
        };
        assert_eq!(parse_report(OUTPUT), Some(expected));
    }
}
