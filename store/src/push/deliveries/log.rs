//! The delivery log of an account, and the state of the queue.

use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::message::DeliveryDetails;
use jiff::Timestamp;

use crate::engine::{FromValue, Value, from_row, sql};
use crate::error::StoreError;
use crate::store::Store;
use crate::store::event_source::id_time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    Delivered,
    /// The receiver has rejected it, and would reject it again.
    Dropped,
    /// It was not accepted before it expired.
    Expired,
    /// The receiver may not get messages any more.
    Removed,
}

impl DeliveryOutcome {
    pub const ALL: [Self; 4] = [Self::Delivered, Self::Dropped, Self::Expired, Self::Removed];

    /// Returns the stored name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Dropped => "dropped",
            Self::Expired => "expired",
            Self::Removed => "removed",
        }
    }
}

impl From<DeliveryOutcome> for Value {
    fn from(outcome: DeliveryOutcome) -> Self {
        outcome.as_str().into()
    }
}

impl FromValue for DeliveryOutcome {
    fn from_value(value: Value) -> Option<Self> {
        let name = String::from_value(value)?;
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedDelivery {
    pub receiver_id: i64,
    pub event_id: String,
    /// The kind of message, rule, tweaks and counts.
    pub details: DeliveryDetails,
    pub created_at: Timestamp,
    /// Time after which it is not sent.
    pub expires_at: Timestamp,
    /// The time at which the next attempt is due, after the pause of its lane, or the last one was.
    pub due_at: Timestamp,
    pub attempts: i64,
    /// The outcome; `None` while it waits.
    pub outcome: Option<DeliveryOutcome>,
    /// The HTTP status of the last response.
    pub status: Option<i64>,
    /// Why the last attempt failed.
    pub error: Option<AttemptError>,
    pub finished_at: Option<Timestamp>,
}

from_row!(
    LoggedDelivery: receiver_id, event_id, details, created_at, expires_at, due_at, attempts,
    outcome, status, error, finished_at
);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueStatus {
    pub waiting: u64,
    /// Time at which the oldest of them was stored.
    pub oldest_at: Option<Timestamp>,
}

impl Store {
    /// Returns the newest `limit` deliveries of an account, or only those of an event or
    /// notification, finished or not, the newest first.
    pub async fn delivery_log(
        &self,
        account_id: i64,
        event_id: Option<&str>,
        limit: i64,
    ) -> Result<Vec<LoggedDelivery>, StoreError> {
        self.read_all(sql!(
            r"
                select receiver_id, event_id, details, created_at, expires_at, coalesce(
                    (
                        select paused_until
                        from lanes
                        where origin = deliveries.origin
                          and finished_at is null
                          and paused_until between due_at and due_at + 90000
                    ), due_at
                ), attempts, outcome, status, error, finished_at
                from deliveries
                where account_id = $account
                  and event_id = coalesce(cast($event_id as text), event_id)
                order by id desc
                limit $limit
            ",
            [account = account_id, event_id, limit]
        ))
        .await
    }

    /// Returns the number of waiting deliveries, and when the oldest was stored.
    pub async fn queue_status(&self) -> Result<QueueStatus, StoreError> {
        // Ids begin with the time, and are in the index of waiting deliveries.
        let select = sql!("select count(*), min(id) from deliveries where finished_at is null");
        let (waiting, oldest): (i64, Option<String>) =
            self.read_one(select).await?.unwrap_or_default();
        let waiting = u64::try_from(waiting).unwrap_or_default();
        Ok(QueueStatus { waiting, oldest_at: oldest.as_deref().and_then(id_time) })
    }

    /// Returns the origins with at least `min_waiting` waiting deliveries, in order, and the numbers
    /// of these deliveries.
    pub async fn lane_backlogs(&self, min_waiting: i64) -> Result<Vec<(String, i64)>, StoreError> {
        self.read_all(sql!(
            r"
                select origin, count(*)
                from deliveries
                where finished_at is null
                group by origin
                having count(*) >= $min_waiting
                order by origin
            ",
            [min_waiting]
        ))
        .await
    }
}
