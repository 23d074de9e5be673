//! Push rule evaluation: its thread pool, the cache of users' compiled rules, and the deliveries of an
//! event.

pub mod event_delivery;
pub mod pool;
pub mod rule_index;

use std::sync::Arc;

use belfry_runtime::clock::Clock;
use belfry_store::Store;

use self::pool::EvaluationPool;
use self::rule_index::RuleIndexCache;
use crate::metrics::EvaluationMetrics;

/// The part of the state that evaluates push rules.
pub struct Evaluator {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) server_name: String,
    pub pool: EvaluationPool,
    /// The push rules of recently evaluated accounts.
    pub(crate) rule_index_cache: RuleIndexCache,
    pub metrics: EvaluationMetrics,
}
