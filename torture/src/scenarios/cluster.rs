//! Failovers and moved slots of a Redis cluster, while three nodes count requests in it.
//!
//! Each client sends more requests from an address than its limit admits, then continues with a
//! different address. All requests of a round use one account's token, so each is counted for two
//! subjects. For every address, exactly as many requests are admitted as the limit allows, and the
//! account's counter equals the number of admitted requests. A killed primary may lose the counts
//! that it has not yet replicated, so its shard may admit more requests, and an account's counter
//! on that shard is not checked.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use test_engines::{Postgres, RedisCluster};

use crate::Result;
use crate::client::{Client, Request};
use crate::node::Node;
use crate::outcome::Run;

const NODES: usize = 3;
const CLIENTS: usize = 64;
/// Number of requests per address that the limit admits.
const REQUEST_LIMIT: usize = 20;
/// Number of requests that a client sends from each address.
const REQUESTS_PER_ADDRESS: usize = 25;
/// The time after which a primary that does not respond is replaced by its replica: longer than any
/// pause of a busy machine.
const NODE_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum time until a node uses the replaced shard again.
const RECOVERY_TIMEOUT: Duration = Duration::from_mins(1);

/// `redis_timeout` is longer than any failover, so requests wait until the shard has a primary
/// again.
const SETTINGS: &str = "\
trusted_proxies = ['127.0.0.1']
[limits]
redis_timeout = '20s'
rows.ip = { requests = 20, window = '1h' }
rows.account = { requests = 4000000, window = '1h' }
";

/// The events, used in rotation.
#[derive(Debug, Clone, Copy)]
enum ClusterEvent {
    /// A primary is killed and replaced by its replica. It returns as a replica.
    Kill,
    /// Slots with their keys are moved from one primary to another.
    MoveSlots,
    /// A replica takes over from a running primary, which cooperates. Until then the shard does not
    /// respond.
    FailOver,
}

struct RequestSeries {
    address: String,
    admitted: usize,
}

pub(crate) fn failovers_and_moved_slots(run: &mut Run) -> Result<()> {
    let postgres = Postgres::start()?;
    let mut cluster = RedisCluster::start(NODE_TIMEOUT)?;
    let arguments = ["--database", &postgres.url(), "--redis", &cluster.url()];
    let nodes: Vec<Node> =
        (0..NODES).map(|_| Node::start_new(run, &arguments, SETTINGS)).collect::<Result<_>>()?;
    while let Some(round) = run.next_round() {
        let event = [ClusterEvent::Kill, ClusterEvent::MoveSlots, ClusterEvent::FailOver]
            [round as usize % 3];
        let account = format!("account{round}");
        let token = add_account(run, &nodes[0], &account, &postgres.url())?;
        let keys_before = list_account_keys(&cluster)?;
        let load = RoundLoad::new(round, &token);
        let local_before = count_local_decisions(&nodes)?;
        let mut killed_shard = None;
        let all_series = thread::scope(|scope| -> Result<Vec<RequestSeries>> {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let load = &load;
                    let nodes = &nodes;
                    scope.spawn(move || load.send_series(client, nodes))
                })
                .collect();
            let event_result = load.wait_for_responses(500).and_then(|()| {
                killed_shard = cause_event(run, event, &mut cluster)?;
                nodes.iter().try_for_each(wait_until_redis_is_used)?;
                load.wait_for_responses(500)
            });
            load.is_stopped.store(true, Ordering::Relaxed);
            let mut all_series = Vec::new();
            for client in clients {
                all_series.extend(client.join().map_err(|_| "a client panicked")?);
            }
            event_result.map(|()| all_series)
        })?;
        let local_decisions = count_local_decisions(&nodes)? - local_before;
        run.outcome.check(local_decisions == 0 || killed_shard.is_some(), || {
            format!("{event:?}: {local_decisions} requests were not counted in Redis")
        });
        verify_counts(run, &cluster, &load, &all_series, killed_shard, &keys_before)?;
        run.end_round();
    }
    Ok(())
}

/// Causes an event and waits until the cluster is complete again. If the event killed a primary,
/// returns the one that replaced it.
fn cause_event(
    run: &mut Run,
    event: ClusterEvent,
    cluster: &mut RedisCluster,
) -> Result<Option<usize>> {
    let primaries = cluster.primaries()?;
    let primary = primaries[run.rng.usize(..primaries.len())];
    let new_primary = match event {
        ClusterEvent::Kill => {
            let replica = cluster.replica_for_primary(primary)?;
            cluster.node(primary).kill()?;
            let start = Instant::now();
            while !cluster.primaries()?.contains(&replica) {
                if start.elapsed() > RECOVERY_TIMEOUT {
                    return Err("no replica has replaced the killed primary".into());
                }
                thread::sleep(Duration::from_millis(50));
            }
            cluster.node(primary).restart()?;
            Some(replica)
        }
        ClusterEvent::MoveSlots => {
            let other_primary = primaries
                .iter()
                .find(|&&other| other != primary)
                .ok_or("the cluster has only one primary")?;
            cluster.move_slots(primary, *other_primary, 100)?;
            cluster.move_slots(*other_primary, primary, 100)?;
            None
        }
        ClusterEvent::FailOver => {
            cluster.fail_over(primary)?;
            None
        }
    };
    cluster.wait_until_complete()?;
    Ok(new_primary)
}

fn verify_counts(
    run: &mut Run,
    cluster: &RedisCluster,
    load: &RoundLoad,
    all_series: &[RequestSeries],
    killed_shard: Option<usize>,
    keys_before: &[String],
) -> Result<()> {
    let failed_count = load.failed_requests.load(Ordering::Relaxed);
    run.outcome.failed += failed_count;
    let describe_first_failure =
        || load.first_failure.lock().map(|text| text.clone()).unwrap_or_default();
    run.outcome.check(failed_count == 0, || {
        format!("{failed_count} requests failed: {}", describe_first_failure())
    });
    let is_on_killed_shard = |key: &str| -> Result<bool> {
        let Some(shard) = killed_shard else { return Ok(false) };
        Ok(cluster.primary_for_key(key)? == shard)
    };
    let mut admitted_total = 0;
    for RequestSeries { address, admitted } in all_series {
        admitted_total += admitted;
        let is_exact = *admitted == REQUEST_LIMIT;
        // More may be admitted if counts were lost.
        let is_expected = is_exact
            || *admitted > REQUEST_LIMIT
                && is_on_killed_shard(&format!("belfry:{{ip:{address}}}:ip"))?;
        run.outcome.check(is_expected, || format!("{admitted} requests admitted from {address}"));
    }
    run.outcome.acknowledged += admitted_total as u64;

    let keys = list_account_keys(cluster)?;
    let key =
        keys.iter().find(|key| !keys_before.contains(key)).ok_or("the account has no counter")?;
    if !is_on_killed_shard(key)? {
        let count: usize =
            cluster.run_command(cluster.primary_for_key(key)?, &["GET", key])?.trim().parse()?;
        run.outcome.check(count == admitted_total, || {
            format!("{key}: {count}, but {admitted_total} admitted")
        });
    }
    Ok(())
}

/// Returns the number of decisions that the nodes have made without Redis.
fn count_local_decisions(nodes: &[Node]) -> Result<u64> {
    let mut sum = 0;
    for node in nodes {
        let metrics = Client::new(node.address).send_successfully(&Request::get("/metrics"))?.body;
        let mut lines = metrics.lines();
        let count =
            lines.find_map(|line| line.strip_prefix("belfry_rate_limit_local_decisions_total "));
        sum += count.ok_or("no metric for local decisions")?.parse::<u64>()?;
    }
    Ok(sum)
}

fn list_account_keys(cluster: &RedisCluster) -> Result<Vec<String>> {
    let mut keys = Vec::new();
    for primary in cluster.primaries()? {
        let output = cluster.run_command(primary, &["KEYS", "belfry:{account:*"])?;
        keys.extend(output.lines().filter(|line| !line.is_empty()).map(str::to_owned));
    }
    Ok(keys)
}

/// Adds an account and returns an access token for it.
fn add_account(run: &Run, node: &Node, name: &str, database: &str) -> Result<String> {
    let run_belfry = |arguments: &[&str]| -> Result<String> {
        let mut command = Command::new(&run.settings.belfry);
        let output = command
            .args(arguments)
            .args(["--database", database])
            .current_dir(node.dir())
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    run_belfry(&["account", "add", name])?;
    run_belfry(&["token", "issue", name])
}

fn wait_until_redis_is_used(node: &Node) -> Result<()> {
    let start = Instant::now();
    loop {
        let response = Client::new(node.address).send(&Request::get("/readyz"))?;
        if response.body.contains("\"redis\":\"ok\"") {
            return Ok(());
        }
        if start.elapsed() > RECOVERY_TIMEOUT {
            return Err(format!("still {} after a failover: {}", response.body, node.log()).into());
        }
        thread::sleep(Duration::from_millis(50));
    }
}

struct RoundLoad {
    round: u32,
    token: String,
    is_stopped: AtomicBool,
    responses: AtomicU64,
    failed_requests: AtomicU64,
    first_failure: Mutex<String>,
}

impl RoundLoad {
    fn new(round: u32, token: &str) -> Self {
        Self {
            round,
            token: token.to_owned(),
            is_stopped: AtomicBool::new(false),
            responses: AtomicU64::new(0),
            failed_requests: AtomicU64::new(0),
            first_failure: Mutex::default(),
        }
    }

    /// Sends series of requests until the load is stopped.
    fn send_series(&self, client: usize, nodes: &[Node]) -> Vec<RequestSeries> {
        let clients: Vec<Client> = nodes.iter().map(|node| Client::new(node.address)).collect();
        let mut all_series = Vec::new();
        while !self.is_stopped.load(Ordering::Relaxed) {
            let address = format!(
                "{}.{}.{client}.{}",
                20 + self.round / 250,
                self.round % 250,
                all_series.len() % 250
            );
            if all_series.len() >= 250 {
                // All addresses of this client are used.
                break;
            }
            let request = Request::get("/api/v1/apps/verify_credentials")
                .with_bearer(&self.token)
                .with_header("x-forwarded-for", &address);
            let mut admitted = 0;
            for number in 0..REQUESTS_PER_ADDRESS {
                match clients[(client + number) % clients.len()].send(&request) {
                    Ok(response) if response.status == 200 => admitted += 1,
                    Ok(response) if response.status == 429 => {}
                    Ok(response) => {
                        self.record_failure(&format!("{} {}", response.status, response.body));
                    }
                    Err(error) => self.record_failure(&error.to_string()),
                }
                self.responses.fetch_add(1, Ordering::Relaxed);
            }
            all_series.push(RequestSeries { address, admitted });
        }
        all_series
    }

    fn record_failure(&self, reason: &str) {
        if self.failed_requests.fetch_add(1, Ordering::Relaxed) == 0
            && let Ok(mut first) = self.first_failure.lock()
        {
            reason.clone_into(&mut first);
        }
    }

    fn wait_for_responses(&self, count: u64) -> Result<()> {
        let start = Instant::now();
        let before = self.responses.load(Ordering::Relaxed);
        while self.responses.load(Ordering::Relaxed) - before < count {
            if start.elapsed() > RECOVERY_TIMEOUT {
                return Err(format!("fewer than {count} responses in {RECOVERY_TIMEOUT:?}").into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}
