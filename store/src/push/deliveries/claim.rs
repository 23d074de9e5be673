//! Claims: a node takes due receivers of a lane for the time of a lease, and sends each its next
//! message.

use std::time::Duration;

use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::message::DeliveryDetails;
use belfry_core::secret::Sha256Digest;
use jiff::Timestamp;

use crate::engine::{FromRow, Row, Statement, read_known_rows, sql};
use crate::error::StoreError;
use crate::push::receivers::Receiver;
use crate::store::event_source::id_time;
use crate::store::{Change, Store, lock_statement};

/// Identifies a delivery to a claimed receiver, and its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryKey {
    /// The id of the delivery, which begins with the time at which it was stored.
    pub id: String,
    /// The random string of the claim. Results are stored only while the receiver has it.
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
    /// The digest of its topic.
    pub topic: Option<String>,
    /// Time at which it was stored, to the millisecond.
    pub created_at: Timestamp,
    /// Time after which it is not sent.
    pub expires_at: Timestamp,
    /// The content of the message, sealed.
    pub content: String,
    pub receiver: Receiver,
}

impl FromRow for ClaimedDelivery {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let (id, claim, message_id): (String, _, _) = (row.take()?, row.take()?, row.take()?);
        let created_second = row.take()?;
        let created_at = id_time(&id).unwrap_or(created_second);
        let (details, topic, expires_at, content) =
            (row.take()?, row.take()?, row.take()?, row.take()?);
        let receiver = Receiver::take_from(&mut row)?;
        let Receiver { account_id, id: receiver_id, .. } = receiver;
        let key = DeliveryKey { id, claim, account_id, receiver_id, message_id };
        Ok(Self { key, details, topic, created_at, expires_at, content, receiver })
    }
}

impl Store {
    /// Time for which a claim lasts, by the clock of the database.
    pub const LEASE: Duration = Duration::from_secs(30);

    /// Claims at most `limit` due receivers of a lane, unless it is paused: first proven ones, then
    /// at most `max_unproven` others, the longest due first. `claim` is a new random string. The
    /// deliveries to claimed receivers that may not get messages are removed, and those that have
    /// expired are finished, if there was an attempt or the receiver or the lane fails. Of the
    /// others, the next delivery to each receiver is returned: the one with the fewest attempts, so
    /// that a message which fails does not delay the others.
    pub async fn claim_deliveries(
        &self,
        origin: &str,
        claim: &str,
        limit: usize,
        max_unproven: usize,
        now: Timestamp,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let max_unproven = i64::try_from(max_unproven).unwrap_or(i64::MAX);
        let lease = Self::LEASE.as_secs().cast_signed();
        // Claims of a lane run one after the other, so each finds receivers that the previous one
        // has left. The row of the lane is not locked, because `enqueue` locks it after receivers.
        let lock_name = format!("claim {}", &Sha256Digest::compute(origin).to_text()[..1]);
        let lock = lock_statement(&lock_name);
        // Rows are locked in the order of their ids, as in `record_attempts`, to avoid deadlocks.
        let update = sql!(
            r"
                update receivers
                set claim = $claim,
                    lease_until = unixepoch() + $lease,
                    due_at = $now + $lease,
                    in_flight = null
                from (
                    select due.account_id, due.id
                    from (
                        select *
                        from (
                            select account_id, id, is_proven, due_at
                            from receivers
                            where is_proven = 1 and {is_due}
                            order by due_at, account_id, id
                            limit $limit
                        ) as proven
                        union all
                        select *
                        from (
                            select account_id, id, is_proven, due_at
                            from receivers
                            where is_proven = 0 and {is_due}
                            order by due_at, account_id, id
                            limit $max_unproven
                        ) as others
                        order by is_proven desc, due_at
                        limit $limit
                    ) as due
                    order by due.account_id, due.id
                ) as chosen
                where receivers.account_id = chosen.account_id
                  and receivers.id = chosen.id
                  and receivers.due_at <= $now
                  and {is_unleased}
                  and not exists (
                      select 1
                      from lanes
                      where lanes.origin = $origin
                        and {lane_is_paused}
                  )
            ",
            [origin, claim, limit, max_unproven, now, lease],
            { is_due = "origin = $origin and due_at <= $now and {is_unleased}" }
        );
        let remove = remove_statement(claim, now);
        let expire = expire_statement(claim, now, now);
        let release_empty = sql!(
            r"
                update receivers
                set claim = null, lease_until = null, due_at = null
                where claim = $claim
                  and waiting = 0
            ",
            [claim]
        );
        // Only now, because the deliveries that would have been the next ones may have ended.
        let mark = sql!(
            r"
                update receivers
                set in_flight = (
                    select n.id
                    from deliveries n
                    where n.account_id = receivers.account_id
                      and n.receiver_id = receivers.id
                      and n.finished_at is null
                    order by n.attempts, n.id
                    limit 1
                )
                where claim = $claim
            ",
            [claim]
        );
        let select = next_deliveries_statement(claim);
        let statements = [lock, update, remove, expire, release_empty, mark, select];
        let [.., claimed_rows]: [_; 7] = self.write_rows(Change::unaudited(statements)).await?;
        Ok(read_known_rows(claimed_rows))
    }

    /// Releases the receivers of a claim that have no result yet, so that they can be claimed
    /// immediately.
    pub async fn release_claim(&self, claim: &str, now: Timestamp) -> Result<(), StoreError> {
        let update =
            sql!("update receivers set {release} where claim = $claim", [claim, due_at = now]);
        self.write(Change::unaudited(update)).await.map(drop)
    }

    /// Releases all claims. Only for a server that starts and is the only node.
    pub async fn release_all_claims(&self, now: Timestamp) -> Result<(), StoreError> {
        let release =
            sql!("update receivers set {release} where claim is not null", [due_at = now]);
        self.write(Change::unaudited([release, wake_lanes_statement(now)])).await.map(drop)
    }
}

/// Returns the statement that selects the next delivery to each receiver of a claim.
fn next_deliveries_statement(claim: &str) -> Statement {
    sql!(
        r"
            select d.id, r.claim, d.message_id, d.created_at, d.details, d.topic, d.expires_at,
                m.content, {receiver_columns}
            from receivers r
            join deliveries d on d.id = r.in_flight
            join messages m on m.id = d.message_id
            where r.claim = $claim
        ",
        [claim]
    )
}

/// Returns the statement that makes lanes due whose receivers are due. A lane that a node leaves
/// while another one accepts a message may not see it.
pub(crate) fn wake_lanes_statement(now: Timestamp) -> Statement {
    sql!(
        r"
            update lanes
            set due_at = $now
            where (due_at is null or due_at > $now)
              and not {lane_is_paused}
              and exists (
                  select 1
                  from receivers
                  where receivers.origin = lanes.origin
                    and receivers.is_proven in (0, 1)
                    and receivers.due_at <= $now
              )
        ",
        [now]
    )
}

/// Returns the statement that removes the deliveries to claimed receivers that may not get messages.
fn remove_statement(claim: &str, now: Timestamp) -> Statement {
    sql!(
        r"
            {remove_deliveries}
              and (account_id, receiver_id) in (
                  select r.account_id, r.id
                  from receivers r
                  where r.claim = $claim
                    and not ({is_live})
              )
        ",
        [claim, error = None::<AttemptError>, now]
    )
}

/// Returns the statement that finishes the deliveries to claimed receivers that expired before
/// `expired_before`, if there was an attempt or their receiver or lane fails.
fn expire_statement(claim: &str, expired_before: Timestamp, now: Timestamp) -> Statement {
    sql!(
        r"
            update deliveries
            set outcome = 'expired', finished_at = $now, message_id = null
            from receivers r
            where r.claim = $claim
              and deliveries.account_id = r.account_id
              and deliveries.receiver_id = r.id
              and deliveries.finished_at is null
              and deliveries.expires_at <= $expired_before
              and {has_failed}
            returning deliveries.id
        ",
        [claim, expired_before, now]
    )
}

/// Returns the statements that finish one batch of expired deliveries like a claim, because those of
/// a pause would otherwise wait until it ends. The second one returns them. Their receivers are
/// claimed for this transaction.
pub(crate) fn expire_statements(expired_before: Timestamp, now: Timestamp) -> [Statement; 3] {
    let claim = "sweep";
    let update = sql!(
        r"
            update receivers
            set claim = $claim
            from (
                select distinct oldest.account_id, oldest.id
                from (
                    select r.account_id, r.id
                    from deliveries
                    join receivers r on r.account_id = deliveries.account_id
                      and r.id = deliveries.receiver_id
                    where deliveries.finished_at is null
                      and deliveries.expires_at <= $expired_before
                      and {has_failed}
                    order by deliveries.expires_at
                    limit 1000
                ) as oldest
                order by oldest.account_id, oldest.id
            ) as expired
            where receivers.account_id = expired.account_id
              and receivers.id = expired.id
              and {is_unleased}
        ",
        [claim, expired_before]
    );
    let release = sql!(
        r"
            update receivers
            set claim = null, lease_until = null, due_at = case when waiting > 0 then due_at end
            where claim = $claim
        ",
        [claim]
    );
    [update, expire_statement(claim, expired_before, now), release]
}
