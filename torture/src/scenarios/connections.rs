//! Clients that abuse their connections.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::app::App;
use crate::client::{Client, Request};
use crate::http2;
use crate::load::OnFailure;
use crate::node::Node;
use crate::outcome::{Outcome, Run};
use crate::workers::Workers;

/// Number of concurrent connections in each attack.
const CONNECTIONS: usize = 8;

/// A trusted proxy: each token request of an ordinary client has a different
/// forwarded address, so the limits of the attackers' address do not apply to it.
const SETTINGS: &str = "trusted_proxies = ['127.0.0.1']\n";

/// The maximum time until an abused connection is closed: twice the idle timeout.
const MAX_CLOSE_DELAY: Duration = Duration::from_mins(2);

/// The maximum growth of the server's memory during the attacks.
const MAX_MEMORY_GROWTH_MB: f64 = 100.0;

type Attack = fn(SocketAddr) -> io::Result<TcpStream>;

/// The attacks, used in rotation. The server must close the connection of each.
const ATTACKS: &[(&str, Attack)] = &[
    ("rapid reset", http2::rapid_reset),
    ("continuation flood", http2::continuation_flood),
    ("empty continuations", http2::empty_continuations),
    ("header bomb", http2::header_bomb),
    ("settings flood", http2::settings_flood),
    ("line breaks in headers", http2::line_breaks_in_headers),
    ("zero window", http2::zero_window),
    ("unread HTTP/2 responses", http2::unread_responses),
    ("unread HTTP/1 responses", unread_responses),
    ("slow head", slow_head),
    ("slow body", slow_body),
    ("idle", |address| TcpStream::connect(address)),
];

/// Rounds of the scenario: one for each attack.
pub(crate) const ROUNDS: u32 = 12;
const _: () = assert!(ATTACKS.len() == ROUNDS as usize);

pub(crate) fn connection_abuse(run: &mut Run) -> Result<()> {
    let mut node = Node::start_new(run, &[], SETTINGS)?;
    let app = App::register(node.address)?;
    // Warm-up, so that allocator growth is not attributed to the attacks.
    send_ordinary_requests(&mut run.outcome, node.address, &app, &AtomicBool::new(true));
    let memory_before_mb = node.server()?.resident_memory_mb();
    while let Some(round) = run.next_round() {
        let (name, attack) = ATTACKS[round as usize % ATTACKS.len()];
        let closed_count = attack_while_observed(run, node.address, &app, attack)?;
        run.outcome.check(closed_count == CONNECTIONS, || {
            format!("{name}: only {closed_count} of {CONNECTIONS} connections were closed")
        });
        let memory_mb = node.server()?.resident_memory_mb();
        run.outcome.check(memory_mb < memory_before_mb + MAX_MEMORY_GROWTH_MB, || {
            format!("{name}: {memory_mb:.0} MB of memory, {memory_before_mb:.0} MB before")
        });
        if !node.server()?.is_running()? {
            return Err(format!("{name}: the server has exited: {}", node.log()).into());
        }
        run.end_round();
    }
    Ok(())
}

/// Opens more connections than the process may open files. The server recovers when they time out.
pub(crate) fn file_limit(run: &mut Run) -> Result<()> {
    let mut node = Node::new(run, &["--limits", "off"], SETTINGS)?;
    node.command_prefix =
        ["sh", "-c", "ulimit -n 128; exec \"$@\"", "sh"].map(OsString::from).into();
    node.start()?;
    let mut workers = Workers::set_up(run, &[node.address])?;
    while run.next_round().is_some() {
        let connect = |_| TcpStream::connect(node.address);
        let connections: Vec<_> = (0..300).map(connect).collect::<io::Result<_>>()?;
        workers.run_load(run, OnFailure::Continue, |load| load.wait_for_acknowledgements(100))?;
        drop(connections);
        workers.verify(run)?;
        let is_running = node.server()?.is_running()?;
        run.outcome.check(is_running, || format!("the server has exited: {}", node.log()));
        run.end_round();
    }
    workers.verify_all(run)
}

/// Runs an attack over several connections while an ordinary client uses the server, and returns
/// how many of the connections the server closed.
fn attack_while_observed(
    run: &mut Run,
    address: SocketAddr,
    app: &App,
    attack: Attack,
) -> Result<usize> {
    let has_ended = AtomicBool::new(false);
    let (results, observer_outcome) = thread::scope(|scope| {
        let observer = scope.spawn(|| {
            let mut outcome = Outcome::default();
            send_ordinary_requests(&mut outcome, address, app, &has_ended);
            outcome
        });
        let attackers: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                scope.spawn(move || http2::is_closed_within(attack(address)?, MAX_CLOSE_DELAY))
            })
            .collect();
        let results: Vec<_> = attackers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        has_ended.store(true, Ordering::Relaxed);
        (results, observer.join())
    });
    run.outcome.add(observer_outcome.map_err(|_| "the observer panicked")?);
    // A connection that could not be opened or written to counts as closed.
    Ok(results.into_iter().flatten().filter(|result| !matches!(result, Ok(false))).count())
}

/// Sends requests as an ordinary client until the attack has ended, but at least once. All of them
/// must succeed.
fn send_ordinary_requests(
    outcome: &mut Outcome,
    address: SocketAddr,
    app: &App,
    has_ended: &AtomicBool,
) {
    let client = Client::new(address);
    for number in 0..=u16::MAX {
        // Each token request has a different forwarded address and therefore its own limits.
        let [high, low] = number.to_be_bytes();
        let client_address = format!("198.18.{high}.{low}");
        let token_request =
            app.token_request("read").with_header("x-forwarded-for", &client_address);
        for request in [&Request::get("/healthz"), &token_request] {
            let start = Instant::now();
            let status = client.send(request).map(|response| response.status);
            outcome.check(matches!(status, Ok(200)), || {
                format!("an ordinary client got {status:?} after {:?}", start.elapsed())
            });
        }
        outcome.acknowledged += 1;
        if has_ended.load(Ordering::Relaxed) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Pipelines requests and reads no response.
fn unread_responses(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    let requests = b"GET /oauth/sign_in HTTP/1.1\r\nhost: a\r\n\r\n".repeat(100);
    for _ in 0..1000 {
        if stream.write_all(&requests).is_err() {
            break;
        }
    }
    http2::wait_without_reading(&mut stream);
    Ok(stream)
}

/// Sends the start of a request head, then one byte every 100 ms.
fn slow_head(address: SocketAddr) -> io::Result<TcpStream> {
    write_slowly(address, "GET /healthz HTTP/1.1\r\nx: ")
}

/// Sends a request head, then one byte of the body every 100 ms.
fn slow_body(address: SocketAddr) -> io::Result<TcpStream> {
    let head = "POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\
                content-type: application/x-www-form-urlencoded\r\n\r\n";
    write_slowly(address, head)
}

fn write_slowly(address: SocketAddr, beginning: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(beginning.as_bytes())?;
    for _ in 0..100 {
        if stream.write_all(b"x").is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(stream)
}
