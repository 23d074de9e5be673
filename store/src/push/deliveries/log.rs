//! The delivery log of an account, and the state of the queue.

use std::collections::BTreeMap;

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::message::DeliveryDetails;
use jiff::Timestamp;

use crate::engine::{from_row, sql};
use crate::error::StoreError;
use crate::store::Store;
use crate::store::event_source::id_time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedDelivery {
    pub receiver_id: i64,
    pub event_id: String,
    /// The kind of message, rule, tweaks and counts.
    pub details: DeliveryDetails,
    pub created_at: Timestamp,
    /// Time after which it is not sent.
    pub expires_at: Timestamp,
    /// While it waits, the time at which its receiver gets the next message: after the pauses of the
    /// receiver and its lane.
    pub due_at: Timestamp,
    pub attempts: i64,
    /// The outcome; `None` while it waits.
    pub outcome: Option<DeliveryOutcome>,
    /// The HTTP status of the last response.
    pub status: Option<i64>,
    /// Why the last attempt failed, or the delivery was removed.
    pub error: Option<AttemptError>,
    pub finished_at: Option<Timestamp>,
}

from_row!(
    LoggedDelivery: receiver_id, event_id, details, created_at, expires_at, due_at, attempts,
    outcome, status, error, finished_at
);

/// The state of the queue at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueStatus {
    pub waiting: u64,
    /// Time at which the oldest of them was stored.
    pub oldest_at: Option<Timestamp>,
    /// The number of deliveries of a protocol that wait (`waiting`), were ever accepted
    /// (`accepted`), or have ended with an outcome. The accepted ones are the sum of the others.
    pub totals: BTreeMap<(String, String), u64>,
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
                select receiver_id, event_id, details, created_at, expires_at, coalesce((
                    select case
                        when l.paused_until > r.due_at and l.paused_until <= r.due_at + 90000
                            then l.paused_until
                        when r.claim is not null then deliveries.created_at
                        else r.due_at end
                    from receivers r
                    join lanes l on l.origin = r.origin
                    where r.account_id = deliveries.account_id
                      and r.id = deliveries.receiver_id
                      and deliveries.finished_at is null
                ), created_at), attempts, outcome, status, error, finished_at
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

    pub async fn queue_status(&self) -> Result<QueueStatus, StoreError> {
        // One statement, so that the numbers belong together. Ids begin with the time, and are in
        // the index of waiting deliveries.
        let rows: Vec<(String, String, i64, Option<String>)> = self
            .read_all(sql!(
                r"
                    select protocol, event, cast(sum(number) as bigint), cast(null as text)
                    from delivery_totals
                    group by protocol, event
                    union all
                    select protocol, 'waiting', count(*), min(id)
                    from deliveries
                    where finished_at is null
                    group by protocol
                "
            ))
            .await?;
        let mut status = QueueStatus::default();
        for (protocol, event, number, oldest_id) in rows {
            let number = u64::try_from(number).unwrap_or_default();
            if let Some(oldest_id) = oldest_id {
                let ages = status.oldest_at.into_iter().chain(id_time(&oldest_id));
                status.oldest_at = ages.min();
                status.waiting += number;
            }
            status.totals.insert((protocol, event), number);
        }
        Ok(status)
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
