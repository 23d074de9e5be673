//! Claims: a node takes the due deliveries of a lane for the time of a lease.

use std::time::Duration;

use belfry_core::push::message::DeliveryDetails;
use jiff::Timestamp;

use crate::engine::{FromRow, Row, Statement, read_known_rows, sql};
use crate::error::StoreError;
use crate::push::lanes::lock_lane_statement;
use crate::push::receivers::Receiver;
use crate::store::event_source::id_time;
use crate::store::{Change, Store};

/// Identifies a claimed delivery, its receiver and its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryKey {
    /// The id of the delivery, which begins with the time at which it was stored.
    pub id: String,
    /// The random string of the claim. Results are stored only while the delivery has it.
    pub claim: String,
    pub account_id: i64,
    /// The receiver's id, unique within the account.
    pub receiver_id: i64,
    /// The random id of the message, which other deliveries may share.
    pub message_id: String,
}

/// A delivery that a node may send until its lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedDelivery {
    pub key: DeliveryKey,
    /// The kind of message, rule, tweaks and counts.
    pub details: DeliveryDetails,
    /// Time at which it was stored, to the millisecond.
    pub created_at: Timestamp,
    /// Time after which it is not sent.
    pub expires_at: Timestamp,
    pub attempts: i64,
    /// The content of the message, sealed.
    pub content: String,
    pub receiver: Receiver,
}

impl FromRow for ClaimedDelivery {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let (id, claim, message_id): (String, _, _) = (row.take()?, row.take()?, row.take()?);
        let details = row.take()?;
        let created_second = row.take()?;
        let expires_at = row.take()?;
        let attempts = row.take()?;
        let created_at = id_time(&id).unwrap_or(created_second);
        let content = row.take()?;
        let receiver = Receiver::take_from(&mut row)?;
        let account_id = receiver.account_id;
        let receiver_id = receiver.id;
        let key = DeliveryKey { id, claim, account_id, receiver_id, message_id };
        Ok(Self { key, details, created_at, expires_at, attempts, content, receiver })
    }
}

impl Store {
    /// Time for which a claim lasts, by the clock of the database.
    pub const LEASE: Duration = Duration::from_secs(30);

    /// Returns the origins of at most `limit` lanes that are not paused and have a due delivery
    /// that no node has claimed, the longest due first.
    pub async fn due_origins(&self, now: Timestamp, limit: i64) -> Result<Vec<String>, StoreError> {
        // The recursion finds the next origin in the index, instead of reading all deliveries.
        self.read_all(sql!(
            r"
                with recursive origins (origin) as (
                    select min(origin)
                    from deliveries
                    where finished_at is null
                    union all
                    select (
                        select min(deliveries.origin)
                        from deliveries
                        where deliveries.finished_at is null
                          and deliveries.origin > origins.origin
                    )
                    from origins
                    where origins.origin is not null
                )
                select origin
                from (
                    select origins.origin, (
                        select due_at
                        from deliveries
                        where deliveries.origin = origins.origin
                          and finished_at is null
                          and due_at <= $now
                          and {is_unleased}
                        order by due_at
                        limit 1
                    ) as due_since
                    from origins
                    where not exists (
                        select 1
                        from lanes
                        where lanes.origin = origins.origin
                          and {is_paused}
                    )
                ) as due_lanes
                where due_since is not null
                order by due_since, origin
                limit $limit
            ",
            [now, limit]
        ))
        .await
    }

    /// Claims at most `limit` due deliveries of a lane, unless it is paused. `claim` is a new
    /// random string. Of the claimed deliveries, those whose receiver may not get messages are
    /// removed, and those that have expired are finished, if there was an attempt or the lane
    /// fails; the others are returned in the order in which they were due.
    pub async fn claim_deliveries(
        &self,
        origin: &str,
        claim: &str,
        limit: i64,
        now: Timestamp,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        // Rows are locked in the order of their ids, as in `record_attempts`, to avoid deadlocks.
        let update = sql!(
            r"
                update deliveries
                set claim = $claim, lease_until = unixepoch() + $lease
                from (
                    select due.id
                    from (
                        select id
                        from deliveries
                        where origin = $origin
                          and finished_at is null
                          and due_at <= $now
                          and {is_unleased}
                        order by due_at, id
                        limit $limit
                    ) as due
                    order by due.id
                ) as candidates
                where deliveries.id = candidates.id
                  and deliveries.finished_at is null
                  and {is_unleased}
                  and not exists (
                      select 1
                      from lanes
                      where lanes.origin = $origin
                        and {is_paused}
                  )
            ",
            [origin, claim, limit, now, lease = Self::LEASE.as_secs().cast_signed()]
        );
        let remove = sql!(
            // An earlier attempt's error is not the reason.
            r"
                update deliveries
                set status = null,
                    error = null,
                    outcome = 'removed',
                    finished_at = $now,
                    message_id = null,
                    claim = null,
                    lease_until = null
                where claim = $claim
                  and not exists (
                      select 1
                      from receivers r
                      where r.account_id = deliveries.account_id
                        and r.id = deliveries.receiver_id
                        and {is_live}
                  )
            ",
            [claim, now]
        );
        let expire = sql!(
            r"
                update deliveries
                set outcome = 'expired',
                    finished_at = $now,
                    message_id = null,
                    claim = null,
                    lease_until = null
                where claim = $claim
                  and expires_at <= $now
                  and (
                      deliveries.attempts > 0
                        or exists (
                            select 1
                            from lanes
                            where lanes.origin = $origin
                              and lanes.failures > 0
                        )
                  )
            ",
            [claim, origin, now]
        );
        let select = sql!(
            r"
                select d.id, d.claim, d.message_id, d.details, d.created_at, d.expires_at,
                    d.attempts, m.content, {receiver_columns}
                from deliveries d
                join receivers r on r.account_id = d.account_id
                  and r.id = d.receiver_id
                join messages m on m.id = d.message_id
                where d.claim = $claim
                order by d.due_at, d.id
            ",
            [claim]
        );
        // Claims of a lane run one after the other, so each finds deliveries that the previous one
        // has left.
        let statements = [lock_lane_statement(origin), update, remove, expire, select];
        let [.., claimed_rows]: [_; 5] = self.write_rows(Change::unaudited(statements)).await?;
        Ok(read_known_rows(claimed_rows))
    }

    /// Releases the deliveries of a claim that have no result yet, so that they can be claimed
    /// immediately.
    pub async fn release_claim(&self, claim: &str) -> Result<(), StoreError> {
        let update = sql!(
            "update deliveries set claim = null, lease_until = null where claim = $claim",
            [claim]
        );
        self.write(Change::unaudited(update)).await.map(drop)
    }

    /// Releases all claims. Only for a server that starts and is the only node.
    pub async fn release_all_claims(&self) -> Result<(), StoreError> {
        let update = sql!(
            r"
                update deliveries
                set claim = null, lease_until = null
                where claim is not null
            "
        );
        self.write(Change::unaudited(update)).await.map(drop)
    }
}

/// Returns the statement that finishes one batch of the deliveries that expired before
/// `expired_before` and that no node has claimed, if there was an attempt or their lane fails.
/// Those of a paused lane would otherwise wait until the pause ends.
pub(crate) fn expire_statement(expired_before: Timestamp, now: Timestamp) -> Statement {
    sql!(
        r"
            update deliveries
            set outcome = 'expired',
                finished_at = $now,
                message_id = null,
                claim = null,
                lease_until = null
            from (
                select expired.id
                from (
                    select id
                    from deliveries
                    where finished_at is null
                      and expires_at <= $expired_before
                      and {is_unleased}
                      and (
                          deliveries.attempts > 0
                            or exists (
                                select 1
                                from lanes
                                where lanes.origin = deliveries.origin
                                  and lanes.failures > 0
                            )
                      )
                    order by expires_at, id
                    limit 1000
                ) as expired
                order by expired.id
            ) as candidates
            where deliveries.id = candidates.id
              and deliveries.finished_at is null
              and {is_unleased}
            returning deliveries.id
        ",
        [expired_before, now]
    )
}
