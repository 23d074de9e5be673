//! The Redis servers with counters: one, or the primaries of a cluster by the slots they own.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use belfry_core::limits::Bucket;
use redis::ConnectionInfo;
use smallvec::SmallVec;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::node::{NodeSettings, RedisNode};
use super::script::RedisCounter;
use crate::metrics::RedisMetrics;

/// The time for which the target of a redirect stays connected although it owns no slot yet.
const REDIRECT_LIFETIME: Duration = Duration::from_mins(1);

/// The Redis servers with counters.
#[derive(Debug)]
pub(super) enum Topology {
    /// No server has responded yet.
    Unknown,
    /// One server, which is not in a cluster.
    Single(Arc<RedisNode>),
    /// The primaries of a cluster, ordered by their slots.
    Cluster(Vec<ClusterShard>),
}

/// A range of slots and the primary that owns it.
#[derive(Debug)]
pub(super) struct ClusterShard {
    pub(super) slots: RangeInclusive<u16>,
    pub(super) primary: Arc<RedisNode>,
}

impl Topology {
    /// Returns the node with the counters of a slot; `None` if no node owns the slot.
    pub(super) fn node(&self, slot: u16) -> Option<&Arc<RedisNode>> {
        match self {
            Self::Unknown => None,
            Self::Single(node) => Some(node),
            Self::Cluster(shards) => {
                let index = shards.partition_point(|shard| *shard.slots.end() < slot);
                let shard = shards.get(index)?;
                shard.slots.contains(&slot).then_some(&shard.primary)
            }
        }
    }

    /// Returns all nodes with counters, each once.
    pub(super) fn nodes(&self) -> Vec<&Arc<RedisNode>> {
        let mut nodes: Vec<&Arc<RedisNode>> = match self {
            Self::Unknown => Vec::new(),
            Self::Single(node) => vec![node],
            Self::Cluster(shards) => shards.iter().map(|shard| &shard.primary).collect(),
        };
        nodes.sort_unstable_by_key(|node| Arc::as_ptr(node));
        nodes.dedup_by(|a, b| Arc::ptr_eq(a, b));
        nodes
    }
}

/// The buckets of a request that one run of the script counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BucketGroup {
    pub(super) slot: u16,
    pub(super) indices: SmallVec<[usize; 4]>,
    pub(super) counters: Vec<RedisCounter>,
}

/// Groups buckets by their slot; in a single group for a server that is not in a cluster.
pub(super) fn group_buckets(
    buckets: &[Bucket<'_>],
    prefix: &str,
    is_cluster: bool,
) -> SmallVec<[BucketGroup; 2]> {
    let mut groups: SmallVec<[BucketGroup; 2]> = SmallVec::new();
    for (index, bucket) in buckets.iter().enumerate() {
        let counter = RedisCounter::new(bucket, prefix);
        let slot = if is_cluster { counter.slot() } else { 0 };
        if let Some(group) = groups.iter_mut().find(|group| group.slot == slot) {
            group.indices.push(index);
            group.counters.push(counter);
        } else {
            let mut counters = Vec::with_capacity(buckets.len());
            counters.push(counter);
            groups.push(BucketGroup { slot, indices: SmallVec::from_slice(&[index]), counters });
        }
    }
    groups
}

/// The servers, and the settings to connect to them.
#[derive(Debug)]
pub(super) struct Servers {
    pub(super) seeds: Vec<ConnectionInfo>,
    pub(super) settings: NodeSettings,
    topology: ArcSwap<Topology>,
    /// All nodes with a connection, or with attempts to connect, by address.
    nodes: Mutex<HashMap<String, Arc<RedisNode>>>,
    pub(super) refresh: Arc<Notify>,
    pub(super) metrics: RedisMetrics,
}

impl Servers {
    pub(super) fn new(seeds: Vec<ConnectionInfo>, prefix: &str, timeout: Duration) -> Self {
        let refresh = Arc::new(Notify::new());
        let failure = Arc::clone(&refresh);
        Self {
            seeds,
            settings: NodeSettings { prefix: prefix.into(), timeout, failure },
            topology: ArcSwap::from_pointee(Topology::Unknown),
            nodes: Mutex::default(),
            refresh,
            metrics: RedisMetrics::default(),
        }
    }

    pub(super) fn topology(&self) -> Arc<Topology> {
        self.topology.load_full()
    }

    /// Returns the node at an address, and starts connecting to it if it is new. `slots` is a range
    /// that the node owns; `None` if none is known.
    pub(super) fn node_at(
        &self,
        info: ConnectionInfo,
        slots: Option<RangeInclusive<u16>>,
    ) -> Arc<RedisNode> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = &self.settings;
        let node = nodes
            .entry(info.addr().to_string())
            .or_insert_with(|| RedisNode::start(info, slots.clone(), settings.clone()));
        if let Some(slots) = slots {
            node.set_slots(slots);
        }
        Arc::clone(node)
    }

    /// Replaces the topology, and closes connections to nodes that are not part of it. A new node
    /// stays connected for `REDIRECT_LIFETIME`, unless it is unavailable: requests that are
    /// redirected there later wait for a new connection.
    pub(super) fn replace_topology(&self, topology: Topology) {
        let topology = Arc::new(topology);
        self.topology.store(Arc::clone(&topology));
        let topology_nodes = topology.nodes();
        let is_needed = |node: &Arc<RedisNode>| {
            topology_nodes.iter().any(|topology_node| Arc::ptr_eq(topology_node, node))
                || node.created_at.elapsed() < REDIRECT_LIFETIME && !node.is_unavailable()
        };
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|_, node| is_needed(node));
    }

    /// Returns the addresses of the nodes that are not connected, and the number of all nodes,
    /// which is 0 until one has responded.
    pub(super) fn unavailable_shards(&self) -> (Vec<String>, usize) {
        let topology = self.topology();
        let nodes = topology.nodes();
        let unavailable_shards = nodes.iter().filter(|node| node.get().is_none());
        (unavailable_shards.map(|node| node.address()).collect(), nodes.len())
    }

    /// Waits until the first attempt to connect to each node is complete, or until the deadline.
    pub(super) async fn wait_for_connections(&self, deadline: Instant) {
        for node in self.topology().nodes() {
            node.get_or_wait_for_first(deadline).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::limits::{Limit, LimitKey, Network};
    use proptest::prelude::*;

    use super::*;

    fn any_key() -> impl Strategy<Value = LimitKey> {
        let network = any::<std::net::IpAddr>().prop_map(Network::from_address);
        prop_oneof![
            any::<i64>().prop_map(LimitKey::Account),
            any::<i64>().prop_map(LimitKey::App),
            network.clone().prop_map(LimitKey::Network),
            (network, ".*").prop_map(|(network, name)| LimitKey::for_name(network, &name)),
        ]
    }

    proptest! {
        /// Every bucket is in one group, the buckets of one subject are in the same group, and each
        /// group is in one slot.
        #[test]
        fn groups_divide_the_buckets_by_their_slots(
            keys in prop::collection::vec(any_key(), 0..8),
        ) {
            let limit: Arc<Limit> = Limit::new("l", 9, Duration::from_mins(1)).unwrap().into();
            let buckets: Vec<_> = keys.iter().map(|&key| Bucket { limit: &limit, key }).collect();
            let groups = group_buckets(&buckets, "p", true);
            let mut group_numbers = vec![None; buckets.len()];
            for (number, group) in groups.iter().enumerate() {
                for (&index, counter) in group.indices.iter().zip(&group.counters) {
                    prop_assert_eq!(counter, &RedisCounter::new(&buckets[index], "p"));
                    prop_assert_eq!(counter.slot(), group.slot);
                    prop_assert_eq!(group_numbers[index].replace(number), None);
                }
            }
            for (index, key) in keys.iter().enumerate() {
                prop_assert!(group_numbers[index].is_some());
                for (other_index, other_key) in keys.iter().enumerate() {
                    if key.subject() == other_key.subject() {
                        prop_assert_eq!(group_numbers[index], group_numbers[other_index]);
                    }
                }
            }
            let single_group = group_buckets(&buckets, "p", false);
            prop_assert_eq!(single_group.len(), usize::from(!buckets.is_empty()));
        }
    }
}
