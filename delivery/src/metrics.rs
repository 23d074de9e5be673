//! Delivery metrics.

pub mod families;

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::metrics::{Counter, Histogram};
use belfry_store::QueueStatus;
use jiff::Timestamp;

/// Metrics of the attempts to send messages.
#[derive(Debug)]
pub struct DeliveryMetrics {
    /// Attempts whose message the push service or gateway accepted.
    pub delivered: Counter,
    /// Attempts whose message is sent again later.
    pub retried: Counter,
    /// Attempts that push services denied (401 or 403), which are sent again later, too.
    pub denied: Counter,
    /// Attempts whose message is not sent again, because it would be rejected again.
    pub dropped: Counter,
    /// Attempts whose response, or lost keys, showed that the receiver can no longer be reached.
    pub receiver_gone: Counter,
    /// Receivers that were deleted because their push service or gateway no longer accepts them.
    pub removed_receivers: Counter,
    /// Times from the acceptance of a message to its delivery.
    pub durations: Histogram,
}

impl Default for DeliveryMetrics {
    fn default() -> Self {
        Self {
            delivered: Counter::default(),
            retried: Counter::default(),
            denied: Counter::default(),
            dropped: Counter::default(),
            receiver_gone: Counter::default(),
            removed_receivers: Counter::default(),
            durations: Histogram::long_durations(),
        }
    }
}

impl DeliveryMetrics {
    /// Writes the metrics, and those of the queue: the number of waiting deliveries, and when the
    /// oldest was accepted.
    pub fn write(&self, queue: QueueStatus, out: &mut Exposition) {
        out.value(&families::DELIVERY_WAITING, queue.waiting);
        let oldest_at = queue.oldest_at.map_or(0, Timestamp::as_second);
        out.value(&families::DELIVERY_OLDEST_WAITING, oldest_at);
        let mut attempts = out.family(&families::DELIVERY_ATTEMPTS);
        attempts.value(&["delivered"], self.delivered.get());
        attempts.value(&["retried"], self.retried.get());
        attempts.value(&["denied"], self.denied.get());
        attempts.value(&["dropped"], self.dropped.get());
        attempts.value(&["receiver_gone"], self.receiver_gone.get());
        out.value(&families::DELIVERY_REMOVED_RECEIVERS, self.removed_receivers.get());
        out.histogram(&families::DELIVERY_DURATION, &self.durations);
    }
}
