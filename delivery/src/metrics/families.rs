//! The metric families of deliveries.

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
