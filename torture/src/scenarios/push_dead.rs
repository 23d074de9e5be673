//! No push gateway accepts connections for more than a day.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use test_engines::free_port;

use super::clock::find_libfaketime;
use crate::Result;
use crate::client::Client;
use crate::node::Node;
use crate::outcome::Run;
use crate::push::{self, accepted_count, add_users, notify_request};

/// The number of simulated seconds per second.
const SPEED: u64 = 240;

/// The number of rounds, each a simulated hour. More than a day, because the delivery log keeps all
/// entries for a day.
pub(crate) const ROUNDS: u32 = 30;

/// The interval between two events: a simulated minute.
const EVENT_INTERVAL: Duration = Duration::from_millis(60_000 / SPEED);

/// Users with one pusher each. Half of them get events that expire soon, so that their delivery log
/// grows, and half of them get events that do not expire, so that their queue becomes full.
const USERS: usize = 8;

/// Number of push gateways. Each has its own lane.
const GATEWAYS: usize = 2;

const SHORT_TTL_MS: u64 = 30 * 60_000;
const LONG_TTL_MS: u64 = 7 * 24 * 3_600_000;

/// Maximum number of waiting deliveries per pusher.
const MAX_WAITING: u64 = 100;
/// The maximum number of log entries per account for deliveries that finished more than a day ago.
const MAX_OLD_LOG_ENTRIES: u64 = 100;

/// The maximum number of messages without a waiting delivery. The next sweep deletes them.
const MAX_UNSWEPT_MESSAGES: u64 = 60;

/// Maximum memory of the server process.
const MAX_MEMORY_MB: f64 = 100.0;

/// Maximum number of log lines in a simulated hour.
const MAX_LOG_LINES_PER_HOUR: usize = 60;

/// A long timeout, because timers run as fast as the clock.
const SLOW_SETTINGS: &str = "[store]\ntimeout = \"1h\"\n";

/// Sends events while all push gateways refuse connections and the server's clocks run fast, with
/// libfaketime.
pub(crate) fn dead_gateways(run: &mut Run) -> Result<()> {
    let library = find_libfaketime().ok_or("libfaketime is not installed")?;
    let settings = format!("{}{SLOW_SETTINGS}", push::SETTINGS);
    let mut node = Node::start_new(run, &["--limits", "off"], &settings)?;
    let gateway_urls = (0..GATEWAYS)
        .map(|_| Ok(format!("http://127.0.0.1:{}/_matrix/push/v1/notify", free_port()?)))
        .collect::<Result<Vec<_>>>()?;
    let urls: Vec<String> = gateway_urls.iter().cycle().take(USERS).cloned().collect();
    add_users(node.address, &urls)?;
    node.terminate()?;
    node.environment =
        vec![("LD_PRELOAD", library.into()), ("FAKETIME", format!("+0 x{SPEED}").into())];
    node.start()?;
    let log_lines_at_start = node.log().lines().count();
    let mut event_count = 0;
    while run.next_round().is_some() {
        let start = Instant::now();
        for number in 0..60 {
            event_count += 1;
            send_event(run, &node, event_count)?;
            thread::sleep((EVENT_INTERVAL * number).saturating_sub(start.elapsed()));
        }
        let memory = node.server()?.resident_memory_mb();
        run.outcome.check(memory < MAX_MEMORY_MB, || format!("the server has {memory:.1} MB"));
        check_tables(run, &node)?;
        run.end_round();
    }
    let log_lines = node.log().lines().count() - log_lines_at_start;
    let max_lines = MAX_LOG_LINES_PER_HOUR * usize::try_from(run.outcome.rounds)?;
    run.outcome.check(log_lines <= max_lines, || format!("{log_lines} log lines"));
    let is_reported = node.log().contains("push service does not respond, pausing");
    run.outcome.check(is_reported, || "the log does not report the outage".to_owned());
    let memory = node.server()?.resident_memory_mb();
    run.outcome.figures.push(format!("{memory:.1} MB of memory, {log_lines} log lines"));
    report_rows(run, &node)
}

/// Sends an event with a short time to live to the first half of the users, and one with a long
/// time to live to the others.
fn send_event(run: &mut Run, node: &Node, number: u64) -> Result<()> {
    let users: Vec<usize> = (0..USERS).collect();
    let (first_half, second_half) = users.split_at(USERS / 2);
    for (kind, half, ttl) in
        [("short", first_half, SHORT_TTL_MS), ("long", second_half, LONG_TTL_MS)]
    {
        let request = notify_request(&format!("${kind}-{number}"), half, ttl);
        // Timeouts pass as fast as the clock, so a request may fail on a busy machine.
        let response = Client::new(node.address).send_until_available(&request)?;
        let accepted = accepted_count(&response).unwrap_or_default();
        run.outcome.acknowledged += u64::from(accepted > 0);
        run.outcome.failed += u64::from(accepted == 0);
    }
    Ok(())
}

/// Checks that the numbers of rows are within their bounds.
fn check_tables(run: &mut Run, node: &Node) -> Result<()> {
    let max_waiting = select_number(
        node,
        "coalesce(max(n), 0) from (select count(*) as n from deliveries where finished_at is null \
         group by account_id, receiver_id)",
    )?;
    // Sweeps delete nothing for an hour if one was late.
    let max_old = select_number(
        node,
        "coalesce(max(n), 0) from (select count(*) as n from deliveries where finished_at < \
         (select max(created_at) from messages) - 26 * 3600 group by account_id)",
    )?;
    let orphans = select_number(
        node,
        "count(*) from messages where not exists (select 1 from deliveries where message_id = \
         messages.id)",
    )?;
    // Sweeps finish expired deliveries, and may be late as well.
    let expired = select_number(
        node,
        "count(*) from deliveries where finished_at is null and expires_at < (select \
         max(created_at) from messages) - 3 * 3600",
    )?;
    let lanes = select_number(node, "count(*) from lanes")?;
    for (name, count, bound) in [
        ("deliveries wait for one pusher", max_waiting, MAX_WAITING),
        ("log entries of an account are older than a day", max_old, MAX_OLD_LOG_ENTRIES),
        ("messages have no waiting delivery", orphans, MAX_UNSWEPT_MESSAGES),
        ("deliveries wait that expired hours ago", expired, 0),
        ("lanes exist", lanes, GATEWAYS as u64),
    ] {
        run.outcome.check(count <= bound, || format!("{count} {name}, at most {bound} allowed"));
    }
    Ok(())
}

fn report_rows(run: &mut Run, node: &Node) -> Result<()> {
    for (name, query) in [
        ("waiting deliveries", "count(*) from deliveries where finished_at is null"),
        ("finished deliveries", "count(*) from deliveries where finished_at is not null"),
        ("messages", "count(*) from messages"),
        ("lanes", "count(*) from lanes"),
        ("attempts", "coalesce(sum(attempts), 0) from deliveries"),
    ] {
        let count = select_number(node, query)?;
        run.outcome.figures.push(format!("{count} {name}"));
    }
    Ok(())
}

/// Returns the number that a query on the node's database selects.
fn select_number(node: &Node, query: &str) -> Result<u64> {
    let mut sqlite = Command::new("sqlite3");
    sqlite.arg("-readonly").arg(node.dir().join("data/belfry.db")).arg(format!("select {query}"));
    let output = sqlite.output()?;
    if !output.status.success() {
        return Err(format!("sqlite3: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}
