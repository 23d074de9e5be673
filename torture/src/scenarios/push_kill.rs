//! `kill -9` while messages are accepted and delivered.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::Value;
use test_engines::Postgres;

use crate::Result;
use crate::client::Client;
use crate::load::{Load, OnFailure};
use crate::node::Node;
use crate::outcome::{Outcome, Run};
use crate::push::{
    self, DeliveryCounts, accepted_count, add_users, delivery_counts, notify_request,
};
use crate::push_gateway::{MessageKey, PushGateway};

/// The number of clients that send events concurrently.
const SENDERS: usize = 16;

/// The number of users, each with one pusher. After a kill on PostgreSQL, messages that were being
/// sent wait for half a minute. With this number of pushers, none reaches 100 waiting deliveries.
const USERS: usize = 160;

const POSTGRES_NODES: usize = 3;

/// The sealing key in the data directory of each node, as in [`push::SETTINGS`].
const KEY_FILE: &str = "belfry.key";

/// Number of push gateways. Each has its own lane.
const GATEWAYS: usize = 2;

/// Number of events that must be acknowledged before a kill.
const EVENTS: u64 = 16;

/// Maximum time for which the load continues after [`EVENTS`] acknowledgements, in milliseconds.
const MAX_LOAD_MS: u64 = 200;

/// Number of users whose delivery log is read after each kill.
const LOGS: usize = 4;

/// Time to live of a message, far longer than the scenario.
const TTL_MS: u64 = 7 * 24 * 3_600_000;

/// The maximum time until all messages are delivered. Some wait for a lease of 30 seconds to
/// expire.
const DELIVERY_TIMEOUT: Duration = Duration::from_mins(3);

pub(crate) fn kill_on_sqlite(run: &mut Run) -> Result<()> {
    let node = Node::start_new(run, &["--limits", "off"], push::SETTINGS)?;
    kill_repeatedly(run, vec![node], &[])
}

pub(crate) fn kill_on_postgres(run: &mut Run) -> Result<()> {
    let postgres = Postgres::start()?;
    let database = ["--database", &postgres.url()];
    let arguments = ["--limits", "off", database[0], database[1]];
    let new_node = |_| Node::new(run, &arguments, push::SETTINGS);
    let mut nodes: Vec<Node> = (0..POSTGRES_NODES).map(new_node).collect::<Result<_>>()?;
    nodes[0].run_command(&["key", "new", KEY_FILE])?;
    for node in &nodes[1..] {
        fs::copy(nodes[0].dir().join(KEY_FILE), node.dir().join(KEY_FILE))?;
    }
    for node in &mut nodes {
        node.start()?;
    }
    kill_repeatedly(run, nodes, &database)
}

/// Kills the nodes in each round: first one of them, and after some time the others. `database` are
/// the flags that select their database.
fn kill_repeatedly(run: &mut Run, mut nodes: Vec<Node>, database: &[&str]) -> Result<()> {
    let gateways = (0..GATEWAYS).map(|_| PushGateway::start()).collect::<Result<Vec<_>>>()?;
    let url = |user: usize| {
        format!("http://{}/_matrix/push/v1/notify", gateways[user % GATEWAYS].address)
    };
    add_users(nodes[0].address, &(0..USERS).map(url).collect::<Vec<_>>())?;
    let new_sender =
        |number| Sender::new(number, nodes[number % nodes.len()].address, run.rng.fork());
    let mut senders: Vec<Sender> = (0..SENDERS).map(new_sender).collect();
    let mut stored = HashMap::new();
    while let Some(round) = run.next_round() {
        let delay = Duration::from_millis(run.rng.u64(1..=MAX_LOAD_MS));
        run.rng.shuffle(&mut nodes);
        let load = Load::new(OnFailure::Stop);
        thread::scope(|scope| {
            for sender in &mut senders {
                scope.spawn(|| sender.send_until_stopped(&load));
            }
            let acknowledgements = load.wait_for_acknowledgements(EVENTS);
            let kill_result = acknowledgements.and_then(|()| {
                nodes.iter_mut().try_for_each(|node| {
                    thread::sleep(delay);
                    node.kill()
                })
            });
            load.is_stopped.store(true, Ordering::Relaxed);
            kill_result
        })?;
        for gateway in &gateways {
            gateway.wait_for_killed_process()?;
        }
        for sender in &mut senders {
            run.outcome.add(std::mem::take(&mut sender.outcome));
        }
        for user in run.rng.choose_multiple(0..USERS, LOGS) {
            for key in delivered_messages(&nodes[0], database, user)? {
                stored.entry(key).or_insert(round);
            }
        }
        for node in &mut nodes {
            node.start()?;
        }
        let acknowledged = senders.iter().map(|sender| sender.acknowledged.len()).sum();
        verify_counts(&mut run.outcome, &read_counts(&nodes[0])?, acknowledged);
        run.end_round();
    }
    wait_until_queue_is_empty(run, &nodes[0])?;
    let mut arrived = HashMap::new();
    for gateway in &gateways {
        arrived.extend(gateway.take_messages());
    }
    verify_messages(&mut run.outcome, &senders, &arrived);
    verify_stored_results(&mut run.outcome, &stored, &arrived);
    let counts = read_counts(&nodes[0])?;
    run.outcome.check(counts.ended.get("delivered") == Some(&(arrived.len() as u64)), || {
        format!("{} messages arrived: {counts:?}", arrived.len())
    });
    Ok(())
}

/// Returns the messages for a user whose delivery was stored as finished.
fn delivered_messages(node: &Node, database: &[&str], user: usize) -> Result<Vec<MessageKey>> {
    let name = format!("user{user}");
    let log = node.run_command(&[&["push", "log", &name, "--json"], database].concat())?;
    let mut keys = vec![];
    for line in log.lines() {
        let delivery: Value = serde_json::from_str(line)?;
        if delivery["outcome"] == "delivered" {
            let event_id = delivery["event_id"].as_str().ok_or("no event id in the log")?;
            keys.push((event_id.to_owned(), name.clone()));
        }
    }
    Ok(keys)
}

fn read_counts(node: &Node) -> Result<DeliveryCounts> {
    let mut counts = delivery_counts(node.address)?;
    Ok(counts.remove("gateway").ok_or("no metrics of push gateways")?)
}

/// Checks that every accepted delivery is counted: it has ended or waits.
fn verify_counts(outcome: &mut Outcome, counts: &DeliveryCounts, acknowledged: usize) {
    outcome.check(counts.is_complete(), || format!("deliveries are missing: {counts:?}"));
    outcome.check(counts.accepted >= acknowledged as u64, || {
        format!("{acknowledged} deliveries were acknowledged: {counts:?}")
    });
}

fn wait_until_queue_is_empty(run: &mut Run, node: &Node) -> Result<()> {
    let start = Instant::now();
    loop {
        let counts = read_counts(node)?;
        if counts.waiting == 0 {
            return Ok(());
        }
        if start.elapsed() > DELIVERY_TIMEOUT {
            run.outcome.record_loss(format!("deliveries wait after the last round: {counts:?}"));
            return Ok(());
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Checks that every acknowledged message has arrived, and that no message was sent twice between two
/// kills, not even by two nodes. Only after a kill may a message be sent again.
fn verify_messages(
    outcome: &mut Outcome,
    senders: &[Sender],
    arrived: &HashMap<MessageKey, Vec<u32>>,
) {
    for key in senders.iter().flat_map(|sender| &sender.acknowledged) {
        outcome.check(arrived.contains_key(key), || format!("{key:?} did not arrive"));
    }
    for (key, processes) in arrived {
        let mut distinct_processes = processes.clone();
        distinct_processes.sort_unstable();
        distinct_processes.dedup();
        outcome.check(distinct_processes.len() == processes.len(), || {
            format!("{key:?} was sent twice without a kill between: {processes:?}")
        });
        outcome.duplicates += u64::from(processes.len() > 1);
    }
}

/// Checks that only messages in flight are sent again after a kill. `stored` contains messages
/// whose result had been stored, with the number of the process that was killed then.
fn verify_stored_results(
    outcome: &mut Outcome,
    stored: &HashMap<MessageKey, u32>,
    arrived: &HashMap<MessageKey, Vec<u32>>,
) {
    for (key, process) in stored {
        let processes = arrived.get(key).map(Vec::as_slice).unwrap_or_default();
        let is_sent_before = processes.iter().all(|sender| sender <= process);
        outcome.check(is_sent_before && !processes.is_empty(), || {
            format!("{key:?} was delivered by process {process}, but sent by {processes:?}")
        });
    }
}

/// A client that sends events and records which messages were acknowledged.
struct Sender {
    number: usize,
    client: Client,
    rng: Rng,
    event_count: u64,
    /// The last event, if its request failed. It is retried, as a product would do.
    failed_event: Option<Event>,
    acknowledged: Vec<MessageKey>,
    outcome: Outcome,
}

struct Event {
    id: String,
    users: Vec<usize>,
}

impl Sender {
    fn new(number: usize, address: SocketAddr, rng: Rng) -> Self {
        Self {
            number,
            client: Client::new(address),
            rng,
            event_count: 0,
            failed_event: None,
            acknowledged: vec![],
            outcome: Outcome::default(),
        }
    }

    /// Sends events until the load is stopped, or until one fails.
    fn send_until_stopped(&mut self, load: &Load) {
        while !load.is_stopped.load(Ordering::Relaxed) {
            let event = self.failed_event.take().unwrap_or_else(|| self.new_event());
            let result = self.client.send(&notify_request(&event.id, &event.users, TTL_MS));
            match result {
                Ok(response) if response.status == 200 => {
                    load.acknowledged_writes.fetch_add(1, Ordering::Relaxed);
                    self.outcome.acknowledged += 1;
                    let is_complete = accepted_count(&response) == Some(event.users.len() as u64);
                    self.outcome.check(is_complete, || {
                        format!("{} for {} users: {}", event.id, event.users.len(), response.body)
                    });
                    let key = |user: &usize| (event.id.clone(), format!("user{user}"));
                    self.acknowledged.extend(event.users.iter().map(key));
                }
                failure => {
                    if let Ok(response) = failure
                        && response.status < 500
                    {
                        let status = response.status;
                        let body = response.body;
                        self.outcome.record_loss(format!("{} {status} {body}", event.id));
                    }
                    self.outcome.failed += 1;
                    self.failed_event = Some(event);
                    return;
                }
            }
        }
    }

    fn new_event(&mut self) -> Event {
        self.event_count += 1;
        let id = format!("${}-{}", self.number, self.event_count);
        let count = self.rng.usize(1..=4);
        Event { id, users: self.rng.choose_multiple(0..USERS, count) }
    }
}
