//! Loading a server with wrk, and reading what wrk says.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use test_engines::process_group::{OnDrop, ProcessGroup, Signal};
use test_engines::programs;

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

/// What is to be loaded, and with what.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub address: SocketAddr,
    pub script: &'a Path,
    pub connections: u16,
}

/// Loads the server with the script.
pub(super) fn load(target: Target<'_>, seconds: u32) -> io::Result<Seen> {
    Wrk::start(target, seconds, PATIENCE)?.finish()
}

/// Loads two servers in turns, until each has had its seconds. Turns are so short that whatever else
/// slows the machine down slows both down.
pub(super) fn load_in_turns(targets: [Target<'_>; 2], seconds: u32) -> io::Result<[Seen; 2]> {
    // Longer than all turns take: it ends when it is woken after that.
    let life = 3 * seconds;
    let began = Instant::now();
    let start = |target| {
        // Calls that are under way while it is asleep are not lost.
        let mut wrk = Wrk::start(target, life, life)?;
        wrk.pause()?;
        io::Result::Ok(wrk)
    };
    let [one, other] = targets.map(start);
    let (mut one, mut other) = (one?, other?);
    for _ in 0..seconds * TURNS_A_SECOND {
        one.take_turn()?;
        other.take_turn()?;
    }
    thread::sleep(Duration::from_secs(life.into()).saturating_sub(began.elapsed()) + STARTING);
    Ok([one.finish_turns()?, other.finish_turns()?])
}

/// How many seconds an answer may take before its call counts as lost.
const PATIENCE: u32 = 2;

const TURNS_A_SECOND: u32 = 20;

/// More than it takes to start.
const STARTING: Duration = Duration::from_millis(200);

/// A wrk at work.
struct Wrk {
    group: ProcessGroup,
    /// For how long it had its turns.
    worked: Duration,
    since: Instant,
}

impl Wrk {
    fn start(target: Target<'_>, seconds: u32, patience: u32) -> io::Result<Self> {
        let program = programs::find(&["wrk"]).ok_or_else(|| io::Error::other("wrk is missing"))?;
        let mut wrk = Command::new(program);
        wrk.args(["--threads", "2", "--latency"]);
        wrk.args(["--connections", &target.connections.to_string()]);
        wrk.args(["--duration", &format!("{seconds}s"), "--timeout", &format!("{patience}s")]);
        wrk.arg("--script").arg(target.script);
        wrk.arg(format!("http://{}/", target.address)).stdout(Stdio::piped());
        let group = ProcessGroup::spawn(wrk, &OnDrop::default())?;
        Ok(Self { group, worked: Duration::ZERO, since: Instant::now() })
    }

    fn pause(&mut self) -> io::Result<()> {
        self.group.signal(Signal::SIGSTOP)?;
        self.worked += self.since.elapsed();
        Ok(())
    }

    fn go_on(&mut self) -> io::Result<()> {
        self.since = Instant::now();
        self.group.signal(Signal::SIGCONT)
    }

    fn take_turn(&mut self) -> io::Result<()> {
        self.go_on()?;
        thread::sleep(Duration::from_secs(1) / TURNS_A_SECOND);
        self.pause()
    }

    /// What it saw, when it has ended.
    fn finish(mut self) -> io::Result<Seen> {
        let mut output = String::new();
        if let Some(mut stdout) = self.group.stdout() {
            stdout.read_to_string(&mut output)?;
        }
        let status = self.group.wait()?;
        let seen = read(&output).filter(|_| status.success());
        seen.ok_or_else(|| io::Error::other(format!("wrk: {status}\n{output}")))
    }

    /// What it saw in its turns; it was asleep in between.
    fn finish_turns(mut self) -> io::Result<Seen> {
        self.go_on()?;
        let (since, worked) = (self.since, self.worked);
        let seen = self.finish()?;
        let per_second = seen.calls / (worked + since.elapsed()).as_secs_f64();
        // Calls that were under way when it fell asleep tell nothing.
        Ok(Seen { per_second, p50_ms: f64::NAN, p99_ms: f64::NAN, ..seen })
    }
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
