//! Failovers of PostgreSQL during concurrent writes on three nodes.

use std::mem::swap;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use test_engines::Postgres;

use crate::Result;
use crate::app::App;
use crate::client::Client;
use crate::load::OnFailure;
use crate::node::Node;
use crate::outcome::Run;
use crate::workers::Workers;

const NODES: usize = 3;

/// Number of writes that must be acknowledged before and after a failover.
const WRITES: u64 = 100;

/// Promotes the standby in each round. In rounds with an even number, the primary is paused, so its
/// connections stay open without responses, and killed after the promotion. In the other rounds it
/// is killed immediately. It returns as the standby.
pub(crate) fn postgres_failover(run: &mut Run) -> Result<()> {
    // Commits need not wait for the disk, because the operating system survives.
    let mut primary = Postgres::start()?;
    let mut standby = primary.start_standby()?;
    primary.replicate_synchronously()?;
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), standby.port());
    let url = format!("postgres://postgres@{hosts}/postgres");
    let arguments = ["--limits", "off", "--database", &url];
    // Started one after another, so that one of them creates the tables.
    let nodes: Vec<Node> =
        (0..NODES).map(|_| Node::start_new(run, &arguments, "")).collect::<Result<_>>()?;
    let addresses: Vec<SocketAddr> = nodes.iter().map(|node| node.address).collect();
    let app = App::register(addresses[0])?;
    let mut workers = Workers::set_up(run, &addresses)?;
    while let Some(round) = run.next_round() {
        let delay = Duration::from_millis(run.rng.u64(1..=100));
        let recoveries = workers.run_load(run, OnFailure::Continue, |load| {
            load.wait_for_acknowledgements(WRITES)?;
            thread::sleep(delay);
            let is_paused = round % 2 == 0;
            if is_paused {
                primary.pause()?;
            } else {
                primary.kill()?;
            }
            standby.promote()?;
            let recoveries = wait_for_writes(&addresses, &app)?;
            if is_paused {
                primary.kill()?;
            }
            load.wait_for_acknowledgements(WRITES)?;
            Ok(recoveries)
        })?;
        run.outcome.recoveries.extend(recoveries);
        workers.verify(run)?;
        swap(&mut primary, &mut standby);
        standby.follow(&primary)?;
        primary.replicate_synchronously()?;
        run.end_round();
    }
    workers.verify_all(run)
}

/// Retries a write on each node until it succeeds, and returns the time that each node took.
fn wait_for_writes(nodes: &[SocketAddr], app: &App) -> Result<Vec<Duration>> {
    let start = Instant::now();
    thread::scope(|scope| {
        let wait = |&node: &SocketAddr| {
            scope.spawn(move || {
                Client::new(node).send_until_available(&app.token_request("read"))?;
                Ok(start.elapsed())
            })
        };
        let threads: Vec<_> = nodes.iter().map(wait).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err("a client panicked".into()))
        };
        threads.into_iter().map(join).collect()
    })
}
