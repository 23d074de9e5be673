//! Loading a server with wrk, and reading what wrk says.

use std::fs;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use xtask::group::{Ending, Group};
use xtask::programs;

/// What wrk saw.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Seen {
    pub calls: f64,
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Answers that were no success, and calls without an answer.
    pub refused: u64,
    pub broken: u64,
}

/// Loads the server with the script.
pub(super) fn load(
    address: SocketAddr,
    script: &Path,
    connections: u16,
    seconds: u32,
) -> io::Result<Seen> {
    let program = programs::find(&["wrk"]).ok_or_else(|| io::Error::other("wrk is missing"))?;
    let mut wrk = Command::new(program);
    wrk.args(["--threads", "2", "--latency", "--connections", &connections.to_string()]);
    wrk.args(["--duration", &format!("{seconds}s"), "--script"]).arg(script);
    wrk.arg(format!("http://{address}/")).stdout(Stdio::piped());
    let mut group = Group::spawn(wrk, &Ending::default())?;
    let mut output = String::new();
    if let Some(mut stdout) = group.stdout() {
        stdout.read_to_string(&mut output)?;
    }
    let status = group.wait()?;
    read(&output).filter(|_| status.success()).ok_or_else(|| {
        let script = fs::read_to_string(script).unwrap_or_default();
        io::Error::other(format!("wrk: {status}\n{output}\n{script}"))
    })
}

fn read(output: &str) -> Option<Seen> {
    let mut seen = Seen::default();
    let mut complete = false;
    for line in output.lines().map(str::trim) {
        if let Some(latency) = line.strip_prefix("50% ") {
            seen.p50_ms = milliseconds(latency.trim())?;
        } else if let Some(latency) = line.strip_prefix("99% ") {
            seen.p99_ms = milliseconds(latency.trim())?;
        } else if let Some(count) = line.strip_prefix("Non-2xx or 3xx responses: ") {
            seen.refused = count.parse().ok()?;
        } else if let Some(counts) = line.strip_prefix("Socket errors: ") {
            let counts = counts.split(", ").filter_map(|count| count.split_once(' '));
            seen.broken = counts.filter_map(|(_, count)| count.parse::<u64>().ok()).sum();
        } else if let Some((calls, _)) = line.split_once(" requests in ") {
            seen.calls = calls.parse().ok()?;
        } else if let Some(rate) = line.strip_prefix("Requests/sec:") {
            seen.per_second = rate.trim().parse().ok()?;
            complete = true;
        }
    }
    complete.then_some(seen)
}

/// `830.00us`, `1.20ms`, `2.01s`, `1.50m`.
fn milliseconds(text: &str) -> Option<f64> {
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let number: f64 = text[..unit].parse().ok()?;
    let factor = match &text[unit..] {
        "us" => 0.001,
        "ms" => 1.0,
        "s" => 1000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        _ => return None,
    };
    Some(number * factor)
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
  Latency Distribution
     50%  250.00us
     75%  291.00us
     90%  604.00us
     99%    2.25ms
  141127 requests in 2.10s, 17.36MB read
  Socket errors: connect 0, read 3, write 0, timeout 4
  Non-2xx or 3xx responses: 12
Requests/sec:  67193.55
Transfer/sec:      8.27MB
";

    #[test]
    fn what_wrk_prints_is_read() {
        let seen = read(OUTPUT).unwrap();
        assert_eq!((seen.per_second, seen.p50_ms, seen.p99_ms), (67193.55, 0.25, 2.25));
        assert_eq!((seen.calls, seen.refused, seen.broken), (141_127.0, 12, 7));
    }

    #[test]
    fn half_of_a_report_is_no_report() {
        assert_eq!(read(OUTPUT.split_once("Requests/sec").unwrap().0), None);
        assert_eq!(read("unable to connect to 127.0.0.1:1 Connection refused"), None);
    }

    #[test]
    fn latencies_have_units() {
        for (text, expected) in [
            ("1.00us", Some(0.001)),
            ("2.50s", Some(2500.0)),
            ("1.00m", Some(60_000.0)),
            ("7", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
