//! Delivery metrics.

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::receiver::Protocol;
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
    /// Writes the metrics, and those of the queue.
    pub fn write(&self, queue: &QueueStatus, out: &mut Exposition) {
        let total = |protocol: Protocol, event: &str| {
            let key = (protocol.as_str().to_owned(), event.to_owned());
            queue.totals.get(&key).copied().unwrap_or_default()
        };
        for (family, event) in
            [(&families::DELIVERY_WAITING, "waiting"), (&families::DELIVERY_ACCEPTED, "accepted")]
        {
            let mut numbers = out.family(family);
            for &protocol in Protocol::ALL {
                numbers.value(&[protocol.as_str()], total(protocol, event));
            }
        }
        let mut ended = out.family(&families::DELIVERY_ENDED);
        for &protocol in Protocol::ALL {
            for &outcome in DeliveryOutcome::ALL {
                let labels = [protocol.as_str(), outcome.as_str()];
                ended.value(&labels, total(protocol, outcome.as_str()));
            }
        }
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
        DELIVERY_ACCEPTED = Counter "belfry_deliveries_accepted_total" ["protocol"]
            "Deliveries that all nodes have accepted when they were last counted; the sum of the ended and the waiting ones";
        DELIVERY_ENDED = Counter "belfry_deliveries_ended_total" ["protocol" "outcome"]
            "Deliveries that all nodes have ended when they were last counted";
        DELIVERY_WAITING = Gauge "belfry_deliveries_waiting" ["protocol"]
            "Waiting deliveries of all nodes when they were last counted";
        DELIVERY_OLDEST_WAITING = Gauge "belfry_delivery_oldest_waiting_timestamp_seconds" []
            "Unix time at which the message of the oldest waiting delivery was accepted; 0 if none waits";
    }
}
