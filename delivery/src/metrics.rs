//! Delivery metrics.

use belfry_runtime::metrics::exposition::Exposition;
use belfry_runtime::metrics::{Counter, Histogram};
use belfry_store::QueueStatus;
use jiff::Timestamp;
use smart_default::SmartDefault;

/// Metrics of the attempts to send messages.
#[derive(Debug, SmartDefault)]
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
    #[default(Histogram::long_durations())]
    pub durations: Histogram,
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

pub mod families {
    belfry_runtime::families! {
        DELIVERY_ATTEMPTS = Counter "belfry_delivery_attempts_total" ["outcome"]
            "Attempts to send a message to a receiver";
        DELIVERY_REMOVED_RECEIVERS = Counter "belfry_delivery_removed_receivers_total" []
            "Receivers deleted because their push service or gateway no longer accepts them";
        DELIVERY_DURATION = Histogram "belfry_delivery_duration_seconds" []
            "Time from the acceptance of a message to its delivery";
        DELIVERY_WAITING = Gauge "belfry_deliveries_waiting" []
            "Waiting deliveries of all nodes when they were last counted";
        DELIVERY_OLDEST_WAITING = Gauge "belfry_delivery_oldest_waiting_timestamp_seconds" []
            "Unix time at which the message of the oldest waiting delivery was accepted; 0 if none waits";
    }
}
