//! Deletion of receivers that have ended, of old deliveries, and of messages and lanes that no
//! delivery needs.

use jiff::{SignedDuration, Timestamp};

use super::{repeat_batches, saturating_add};
use crate::engine::{Statement, sql};
use crate::error::StoreError;
use crate::store::event_source::event_id;
use crate::store::{Change, Store};

/// Time for which all finished deliveries remain, so that a repeated request is recognised.
const DEDUP_TIME: SignedDuration = SignedDuration::from_hours(24);

impl Store {
    /// Deletes the receivers whose account is gone, or whose token is gone or not valid at this
    /// time. Returns their number. There is no audit event: the end of the account or token had one.
    pub(super) async fn delete_ended_receivers(&self, now: Timestamp) -> Result<usize, StoreError> {
        let count = repeat_batches(|| async {
            // In the order in which `record_attempts` locks them, to avoid deadlocks.
            let select = sql!(
                r"
                    select account_id, id
                    from receivers r
                    where (
                        not exists (select 1 from accounts a where a.id = r.account_id)
                          or (
                              r.token is not null
                                and not exists (
                                    select 1
                                    from tokens t
                                    where t.lookup = r.token
                                      and {is_valid}
                                )
                          )
                    )
                    order by account_id, id
                    limit 1000
                ",
                [now]
            );
            let keys: Vec<(i64, i64)> = self.read_all(select).await?;
            let mut change = Change::unaudited([]);
            for &(account_id, id) in &keys {
                change = change.and(sql!(
                    "delete from receivers where account_id = $account_id and id = $id",
                    [account_id, id]
                ));
            }
            if !keys.is_empty() {
                self.write(change).await?;
            }
            Ok(keys.len())
        });
        count.await
    }

    /// Deletes an account's deliveries beyond the newest 100, except those that wait or finished
    /// within [`DEDUP_TIME`]. Returns their number.
    pub(super) async fn delete_excess_deliveries(
        &self,
        account: i64,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let finished_before = saturating_add(now, -DEDUP_TIME);
        // Ids begin with the time at which a delivery was stored, so younger ones are not read.
        let stored_before = event_id(finished_before.as_millisecond(), 0);
        let delete = || {
            Change::unaudited(sql!(
                r"
                    delete from deliveries
                    where id in (
                        select id
                        from deliveries
                        where account_id = $account
                          and id <= (
                              select id
                              from deliveries
                              where account_id = $account
                              order by id desc
                              limit 1 offset 100
                          )
                          and id < $stored_before
                          and finished_at < $finished_before
                        limit 1000
                    )
                    returning id
                ",
                [account, stored_before = stored_before.as_str(), finished_before]
            ))
        };
        self.repeat_change(delete).await
    }
}

/// Returns the statement that makes one batch of receivers due that became due, or were paused, by
/// a clock that was ahead.
pub(super) fn correct_due_times_statement(now: Timestamp) -> Statement {
    sql!(
        r"
            update receivers
            set due_at = $now, paused_until = 0
            where (account_id, id) in (
                select account_id, id
                from receivers
                where due_at > $now
                  and {is_unleased}
                  and (failures = 0 or due_at > $now + 90000)
                limit 1000
            )
            returning id
        ",
        [now]
    )
}

/// Returns the statement that deletes one batch of the deliveries that finished before `before`, or
/// have expired before it while they waited.
///
/// Ids begin with the time at which a delivery was stored, so they limit the rows that are read.
pub(super) fn delete_deliveries_statement(before: Timestamp) -> Statement {
    sql!(
        r"
            delete from deliveries
            where id in (
                select id
                from deliveries
                where id < $id
                  and coalesce(finished_at, expires_at) < $before
                order by id
                limit 1000
            )
            returning id
        ",
        [id = event_id(before.as_millisecond(), 0), before]
    )
}

/// Returns the statement that deletes one batch of the messages without waiting deliveries.
pub(super) fn delete_messages_statement() -> Statement {
    sql!(
        r"
            delete from messages
            where id in (
                select m.id
                from messages m
                where not exists (select 1 from deliveries d where d.message_id = m.id)
                limit 1000
            )
            returning id
        "
    )
}

/// Returns the statement that deletes one batch of the lanes without waiting deliveries that have no
/// success after `before`, and are not paused at `now`.
pub(super) fn delete_lanes_statement(before: Timestamp, now: Timestamp) -> Statement {
    sql!(
        r"
            delete from lanes
            where origin in (
                select l.origin
                from lanes l
                where l.paused_until < $now
                  and coalesce(l.succeeded_at, 0) < $before
                  and l.due_at is null
                  and not exists (
                      select 1
                      from deliveries d
                      where d.origin = l.origin
                        and d.finished_at is null
                  )
                limit 1000
            )
              and due_at is null
            returning origin
        ",
        [before, now]
    )
}
