//! `cargo xtask bench cost`: the cost of the most expensive valid request of each kind.
//!
//! Each request is sent several times to a server on SQLite without rate limits. The CPU time is
//! the total of all server threads. The share of the async worker threads is listed separately,
//! because it delays other requests.

mod cases;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use test_engines::Server;

use self::cases::Installation;
use super::Build;
use super::request::Request;
use super::setup::belfry_command;
use crate::table::format_table;

/// Number of measured requests for each case.
const REPETITIONS: u32 = 10;

/// Maximum CPU time of a request on worker threads, in milliseconds.
const MAX_WORKER_MS: f64 = 100.0;
/// Maximum size of a page, in bytes.
const MAX_PAGE_BYTES: usize = 1_000_000;

/// The cost of a request.
struct Cost {
    cpu_ms: f64,
    worker_ms: f64,
    /// Bytes written to disk.
    written_bytes: f64,
    /// The size of the response body.
    response_bytes: usize,
    /// True if the response is an HTML page.
    is_page: bool,
}

/// Measures all requests and prints the table; returns whether all are within the bounds.
pub(super) fn run(build: &Build) -> Result<bool, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    fs::write(dir.path().join("belfry.toml"), cases::SETTINGS)?;
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--limits", "off"];
    let server = Server::start(belfry_command(&build.belfry, dir.path(), &arguments), dir.path())?;
    let installation =
        Installation { bench: &build.bench, dir: dir.path(), address: server.address };
    let worker_threads = find_worker_threads(&server)?;
    let mut table_rows = vec![];
    let mut all_passed = true;
    for case in installation.prepare_cases()? {
        let cost = measure(&server, &worker_threads, &case.requests)
            .map_err(|error| format!("{}: {error}", case.name))?;
        let is_within_bounds = cost.worker_ms <= MAX_WORKER_MS
            && (!cost.is_page || cost.response_bytes <= MAX_PAGE_BYTES);
        all_passed &= is_within_bounds;
        let kilobytes = |bytes: f64| format!("{:.1} kB", bytes / 1000.0);
        #[expect(clippy::cast_precision_loss, reason = "responses are small")]
        let response_bytes = cost.response_bytes as f64;
        table_rows.push(vec![
            case.name.to_owned(),
            case.client.to_owned(),
            format!("{:.1} ms", cost.cpu_ms),
            format!("{:.1} ms", cost.worker_ms),
            kilobytes(cost.written_bytes),
            kilobytes(response_bytes),
            if is_within_bounds { "ok" } else { "FAILED" }.to_owned(),
        ]);
    }
    let header = ["request", "client", "CPU", "on workers", "written", "response", ""];
    println!("\n{}", format_table(&header, &table_rows));
    println!(
        "bounds: {MAX_WORKER_MS} ms on worker threads per request, {} MB per page",
        MAX_PAGE_BYTES / 1_000_000
    );
    println!(
        "{}",
        if all_passed { "all requests are within the bounds" } else { "FAILED: see above" }
    );
    Ok(all_passed)
}

/// Sends a request to warm up, then [`REPETITIONS`] requests in turn, and returns the mean cost of
/// one.
fn measure(
    server: &Server,
    worker_threads: &BTreeSet<u32>,
    requests: &[Request],
) -> io::Result<Cost> {
    let mut requests = requests.iter().cycle();
    let mut send = || match requests.next() {
        Some(request) => request.send(server.address),
        None => Err(io::Error::other("no request")),
    };
    let response = send()?;
    let content_type = response.headers.iter().find(|(name, _)| name == "content-type");
    pause_for_background_work();
    let before = Usage::read(server.id())?;
    for _ in 0..REPETITIONS {
        send()?;
    }
    pause_for_background_work();
    let after = Usage::read(server.id())?;
    let repetitions = f64::from(REPETITIONS);
    Ok(Cost {
        cpu_ms: after.cpu_ms_since(&before, |_| true) / repetitions,
        worker_ms: after.cpu_ms_since(&before, |thread| worker_threads.contains(&thread))
            / repetitions,
        written_bytes: (after.written_bytes - before.written_bytes) / repetitions,
        response_bytes: response.body.len(),
        is_page: content_type.is_some_and(|(_, value)| value.starts_with("text/html")),
    })
}

/// Gives the server 200 ms to finish background work, such as a database checkpoint.
fn pause_for_background_work() {
    thread::sleep(Duration::from_millis(200));
}

/// Finds the worker threads by sending health requests and selecting the threads that used CPU
/// time. Thread names do not suffice: the threads for blocking work have the same name.
fn find_worker_threads(server: &Server) -> io::Result<BTreeSet<u32>> {
    let before = Usage::read(server.id())?;
    thread::scope(|scope| {
        let client = || (0..100).try_for_each(|_| health_request().send(server.address).map(drop));
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(client)).collect();
        clients.into_iter().try_for_each(|client| {
            client.join().map_err(|_| io::Error::other("a client panicked"))?
        })
    })?;
    let after = Usage::read(server.id())?;
    let has_worked = |thread: &u32| after.cpu_ms_since(&before, |other| other == *thread) > 1.0;
    Ok(after.thread_cpu_ms.keys().copied().filter(has_worked).collect())
}

fn health_request() -> Request {
    Request::new("GET", "/healthz")
}

/// The resources that a process has used so far.
struct Usage {
    /// CPU time by thread id.
    thread_cpu_ms: BTreeMap<u32, f64>,
    /// Bytes written to disk.
    written_bytes: f64,
}

impl Usage {
    fn read(process: u32) -> io::Result<Self> {
        let io_stats = fs::read_to_string(format!("/proc/{process}/io"))?;
        let written_bytes = io_stats
            .lines()
            .find_map(|line| line.strip_prefix("write_bytes: "))
            .and_then(|bytes| bytes.parse().ok())
            .unwrap_or(f64::NAN);
        let mut thread_cpu_ms = BTreeMap::new();
        for entry in fs::read_dir(format!("/proc/{process}/task"))? {
            let path = entry?.path();
            let id = path.file_name().and_then(|name| name.to_str()?.parse().ok());
            // The thread may have exited meanwhile.
            let schedstat = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            let nanoseconds = schedstat.split(' ').next().and_then(|time| time.parse::<f64>().ok());
            thread_cpu_ms.extend(Option::zip(id, nanoseconds.map(|time| time / 1e6)));
        }
        Ok(Self { thread_cpu_ms, written_bytes })
    }

    /// Returns the CPU time of some threads since an earlier reading, in milliseconds.
    fn cpu_ms_since(&self, before: &Self, is_counted: impl Fn(u32) -> bool) -> f64 {
        let counted_threads = self.thread_cpu_ms.iter().filter(|(thread, _)| is_counted(**thread));
        counted_threads
            .map(|(thread, cpu_ms)| cpu_ms - before.thread_cpu_ms.get(thread).unwrap_or(&0.0))
            .sum()
    }
}
