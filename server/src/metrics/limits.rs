//! What is counted of limits, each by its name.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::striped::Count;
use crate::limits::{Place, State};

/// How many calls there were.
pub(super) type Calls = Counter<u64, Count>;

/// The metrics of limits.
#[derive(Debug, Default)]
pub struct LimitMetrics {
    allowed: Family<ByLimit, Calls>,
    refused: Family<ByLimit, Calls>,
    near: Family<ByLimit, Calls>,
    keys: Gauge,
    evicted: Counter<u64, AtomicU64>,
    alone: Counter<u64, AtomicU64>,
    /// Whether Redis counts; where none is configured there is no such metric.
    pub(crate) redis_up: Option<Gauge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByLimit {
    limit: String,
}

/// The counters of one limit.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Calls that were admitted and counted.
    pub allowed: Calls,
    /// Calls that were refused by this limit.
    pub refused: Calls,
    /// Calls that were admitted, with four fifths of the limit or more used.
    pub near: Calls,
}

impl LimitMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("limit_allowed", "Calls counted by a limit", self.allowed.clone());
        registry.register("limit_refused", "Calls refused by a limit", self.refused.clone());
        let near = "Calls counted by a limit with four fifths or more of it used";
        registry.register("limit_near", near, self.near.clone());
        registry.register("limit_keys", "Keys held in this process", self.keys.clone());
        let evicted = "Keys given up before their window ended, for lack of room";
        registry.register("limit_keys_evicted", evicted, self.evicted.clone());
        let alone = "Calls counted in this process because Redis could not be asked";
        registry.register("limit_counted_alone", alone, self.alone.clone());
    }

    /// The counters of a limit. They outlive a change of the limit.
    #[must_use]
    pub fn tally(&self, limit: &str) -> Tally {
        let of = |family: &Family<ByLimit, Calls>| {
            family.get_or_create(&ByLimit { limit: limit.to_owned() }).clone()
        };
        Tally { allowed: of(&self.allowed), refused: of(&self.refused), near: of(&self.near) }
    }

    /// Takes over how the counters fare.
    pub fn observe(&self, state: State) {
        use std::sync::atomic::Ordering::Relaxed;
        self.keys.set(i64::try_from(state.keys).unwrap_or(i64::MAX));
        self.evicted.inner().store(state.evicted, Relaxed);
        self.alone.inner().store(state.alone, Relaxed);
        if let Some(up) = &self.redis_up {
            up.set((state.place == Place::Redis).into());
        }
    }
}
