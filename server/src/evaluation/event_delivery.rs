//! Deliveries of an event to one account's receivers, as `explain` reports them.

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::rules::explain::Explanation;
use belfry_store::{ListedReceiver, LoggedDelivery, Store, StoreError};
use jiff::Timestamp;
use serde::Serialize;

/// Maximum number of deliveries in a response.
const MAX_DELIVERIES: i64 = 100;

/// The response of `explain`: the explanation of an evaluation, and the event's deliveries.
#[derive(Debug, Serialize)]
pub struct ExplainResponse<'a> {
    #[serde(flatten)]
    pub explanation: &'a Explanation<'a>,
    /// The deliveries; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<EventDelivery>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventDelivery {
    /// The receiver; null if it may no longer get messages.
    pub receiver: Option<ReceiverSummary>,
    /// `waiting`, or the outcome.
    pub state: &'static str,
    pub attempts: i64,
    /// The HTTP status of the last response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    /// The reason why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<AttemptError>,
    /// The time of acceptance, in Unix milliseconds like the other times.
    pub accepted_ts: i64,
    /// The due time of the next attempt, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_ts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_ts: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReceiverSummary {
    /// The name of its [`Protocol`](belfry_core::push::receiver::Protocol).
    pub kind: &'static str,
    pub name: String,
}

impl EventDelivery {
    /// Loads an account's newest deliveries of an event; none if the event has no id.
    pub async fn load_all(
        store: &Store,
        account_id: i64,
        event_id: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<Self>, StoreError> {
        let Some(event_id) = event_id else { return Ok(Vec::new()) };
        let deliveries = store.delivery_log(account_id, Some(event_id), MAX_DELIVERIES).await?;
        if deliveries.is_empty() {
            return Ok(Vec::new());
        }
        let receivers = store.live_receivers(account_id, now).await?;
        Ok(deliveries.iter().map(|delivery| Self::new(delivery, &receivers)).collect())
    }

    fn new(delivery: &LoggedDelivery, receivers: &[ListedReceiver]) -> Self {
        let receiver = receivers.iter().find(|listed| listed.receiver.id == delivery.receiver_id);
        Self {
            receiver: receiver.map(|listed| ReceiverSummary {
                kind: listed.receiver.protocol().as_str(),
                name: listed.name(),
            }),
            state: delivery.outcome.map_or("waiting", DeliveryOutcome::as_str),
            attempts: delivery.attempts,
            status: delivery.status,
            error: delivery.error.as_ref().map(AttemptError::for_owner).cloned(),
            accepted_ts: delivery.created_at.as_millisecond(),
            next_attempt_ts: match delivery.outcome {
                None => Some(delivery.due_at.as_millisecond()),
                Some(_) => None,
            },
            finished_ts: delivery.finished_at.map(Timestamp::as_millisecond),
        }
    }
}
