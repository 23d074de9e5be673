//! Discovery of the servers that count: detects whether the configured server is in a cluster, and
//! which nodes own its slots.
//!
//! The slots are read again when a node fails, when a node redirects a request, and every minute.
//! While a node is unavailable they are read repeatedly, until a replica has replaced it.

use std::sync::Arc;
use std::time::Duration;

use redis::{ConnectionInfo, ErrorKind, RedisError, RedisResult, Value};
use tokio::time::{sleep, timeout};

use super::connection::{Connection, tcp_host, with_address, with_timeout};
use super::node::{CONNECT_TIMEOUT, log_unavailable};
use super::slots::{ALL_SLOTS, NodeAddress, SlotRange, parse_slots};
use super::topology::{ClusterShard, Servers, Topology};

/// The time limit for reading the slots from a connected node.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// The time between two reads of the slots while all nodes are available.
const REFRESH_INTERVAL: Duration = Duration::from_mins(1);
/// The shortest delay between two reads while a node is unavailable, unless a refresh is requested.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The longest delay between two reads while a node is unavailable.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(1);
const READ_PAUSE: Duration = Duration::from_millis(10);

/// The servers that count, as one of them reports them.
#[derive(Debug)]
pub(super) enum TopologyView {
    /// The reporting server is not in a cluster.
    Single(ConnectionInfo),
    Cluster(ConnectionInfo, Vec<SlotRange>),
}

/// The state of discovery between two reads.
#[derive(Debug, Default)]
struct Discovery {
    /// All nodes of the cluster, which are queried if no connected node responds.
    cluster_nodes: Vec<ConnectionInfo>,
    /// The number of reads so far. It determines which connected node is queried first.
    reads: usize,
}

/// Keeps the topology up to date.
pub(super) async fn refresh_loop(servers: Arc<Servers>) {
    let mut delay = MIN_RETRY_DELAY;
    let mut discovery = Discovery::default();
    loop {
        let (unavailable_shards, node_count) = servers.unavailable_shards();
        if unavailable_shards.is_empty() && node_count > 0 {
            delay = MIN_RETRY_DELAY;
            let _notified_or_elapsed = timeout(REFRESH_INTERVAL, servers.refresh.notified()).await;
        } else {
            let _notified_or_elapsed = timeout(delay, servers.refresh.notified()).await;
            delay = MAX_RETRY_DELAY.min(delay * 2);
        }
        if let Err(error) = servers.update_topology(&mut discovery).await {
            tracing::debug!(%error, "cannot read the slots of Redis");
        }
        sleep(READ_PAUSE).await;
    }
}

impl Servers {
    /// Finds the servers that count, at startup. A failure is logged.
    pub(super) async fn update_at_startup(&self) {
        if let Err(error) = self.update_topology(&mut Discovery::default()).await {
            let seeds: Vec<_> = self.seeds.iter().map(|seed| seed.addr().to_string()).collect();
            log_unavailable(&seeds.join(","), &error.to_string());
        }
    }

    /// Replaces the topology with the one that the first responding server reports.
    async fn update_topology(&self, discovery: &mut Discovery) -> RedisResult<()> {
        let topology = match self.discover(discovery).await? {
            TopologyView::Single(info) => Topology::Single(self.node_at(info, Some(ALL_SLOTS))),
            TopologyView::Cluster(info, mut ranges) => {
                // Test writes use a node's last range. The largest comes last, because a
                // hash tag in it is found quickly.
                ranges.sort_by_key(|range| range.slots.len());
                let to_info = |address: &NodeAddress| with_address(&info, address);
                discovery.cluster_nodes = ranges
                    .iter()
                    .flat_map(|range| range.replicas.iter().chain([&range.primary]))
                    .filter_map(to_info)
                    .collect();
                let mut shards: Vec<ClusterShard> = ranges
                    .into_iter()
                    .filter_map(|range| {
                        let primary =
                            self.node_at(to_info(&range.primary)?, Some(range.slots.clone()));
                        Some(ClusterShard { slots: range.slots, primary })
                    })
                    .collect();
                shards.sort_by_key(|shard| *shard.slots.start());
                Topology::Cluster(shards)
            }
        };
        self.replace_topology(topology);
        Ok(())
    }

    /// Queries the connected nodes, then the other known nodes and the configured addresses, and
    /// returns the first valid view. If there is none, returns the last error.
    async fn discover(&self, discovery: &mut Discovery) -> RedisResult<TopologyView> {
        let mut last_error = RedisError::from((ErrorKind::Client, "no address"));
        // In varying order, because a node that is cut off reports outdated slots.
        let topology = self.topology();
        let mut nodes = topology.nodes();
        let first_node = discovery.reads % nodes.len().max(1);
        nodes.rotate_left(first_node);
        discovery.reads += 1;
        for node in nodes {
            let Some(live_connection) = node.get() else { continue };
            let mut connection = live_connection.connection.clone();
            let Ok(response) = timeout(RESPONSE_TIMEOUT, connection.cluster_slots()).await else {
                continue;
            };
            match view_from_response(&node.info, self.seeds.len(), response) {
                Ok(view) => return Ok(view),
                Err(error) => last_error = error,
            }
        }
        for info in discovery.cluster_nodes.iter().chain(&self.seeds) {
            match with_timeout(CONNECT_TIMEOUT, read_view(info, self.seeds.len())).await {
                Ok(view) => return Ok(view),
                Err(error) => last_error = error,
            }
        }
        Err(last_error)
    }
}

/// Connects to a server and returns its view. `address_count` is the number of configured addresses.
pub(super) async fn read_view(
    info: &ConnectionInfo,
    address_count: usize,
) -> RedisResult<TopologyView> {
    let mut connection = Connection::open(info).await?;
    view_from_response(info, address_count, connection.cluster_slots().await)
}

/// Returns a server's view from its response to `CLUSTER SLOTS`.
fn view_from_response(
    info: &ConnectionInfo,
    address_count: usize,
    response: RedisResult<Value>,
) -> RedisResult<TopologyView> {
    let client_error =
        |reason, detail: String| RedisError::from((ErrorKind::Client, reason, detail));
    match response {
        Ok(response) => {
            let ranges = parse_slots(&response, tcp_host(info));
            if ranges.is_empty() {
                let detail = format!("create it with redis-cli --cluster create ({})", info.addr());
                return Err(client_error("the cluster has no slots", detail));
            }
            Ok(TopologyView::Cluster(info.clone(), ranges))
        }
        // The error may also mean that the Redis user may not read the slots, a permission that is
        // not needed outside a cluster.
        Err(error) if is_error_response(&error) && address_count == 1 => {
            Ok(TopologyView::Single(info.clone()))
        }
        Err(error) if is_error_response(&error) => {
            let detail = format!(
                "several addresses must be nodes of one cluster, but {} reports: {error}; \
                 configure a single address",
                info.addr()
            );
            Err(client_error("not a cluster", detail))
        }
        Err(error) => Err(error),
    }
}

/// Returns whether the server responded with an error, as opposed to a failed connection.
fn is_error_response(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension)
}
