//! Deletion of receivers that have ended, of old deliveries, and of messages and lanes that no
//! delivery needs.

use jiff::{SignedDuration, Timestamp};

use super::{repeat_batches, saturating_add};
use crate::engine::{Statement, from_row, sql};
use crate::error::StoreError;
use crate::push::deliveries::expire_statement;
use crate::store::event_source::event_id;
use crate::store::{Change, Store};

/// Time for which all finished deliveries remain, so that a repeated request is recognised.
const DEDUP_TIME: SignedDuration = SignedDuration::from_hours(24);

struct ReceiverKey {
    account_id: i64,
    id: i64,
}

from_row!(ReceiverKey { account_id, id });

impl Store {
    /// Finishes the deliveries that expired before `expired_before`, after an attempt or in a
    /// failing lane.
    pub(super) async fn expire_deliveries(
        &self,
        expired_before: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let count = repeat_batches(|| async {
            let expire = Change::unaudited(expire_statement(expired_before, now));
            let [expired_rows] = self.write_rows(expire).await?;
            Ok(expired_rows.len())
        });
        count.await.map(drop)
    }

    /// Makes deliveries due that were accepted, or wait for a retry, by a clock that was ahead.
    pub(super) async fn correct_due_times(&self, now: Timestamp) -> Result<(), StoreError> {
        let count = repeat_batches(|| async {
            let update = Change::unaudited(sql!(
                r"
                    update deliveries
                    set due_at = $now
                    where id in (
                        select id
                        from deliveries
                        where finished_at is null
                          and due_at > $now
                          and (attempts = 0 or due_at > $now + 90000)
                        order by id
                        limit 1000
                    )
                      and finished_at is null
                    returning id
                ",
                [now]
            ));
            let [corrected_rows] = self.write_rows(update).await?;
            Ok(corrected_rows.len())
        });
        count.await.map(drop)
    }

    /// Deletes the messages without waiting deliveries. Returns their number.
    pub(super) async fn delete_messages(&self) -> Result<usize, StoreError> {
        let count = repeat_batches(|| async {
            let [deleted_rows] =
                self.write_rows(Change::unaudited(delete_messages_statement())).await?;
            Ok(deleted_rows.len())
        });
        count.await
    }

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
                                      and t.revoked_at is null
                                      and (t.expires_at is null or t.expires_at > $now)
                                )
                          )
                    )
                    order by account_id, id
                    limit 1000
                ",
                [now]
            );
            let keys: Vec<ReceiverKey> = self.read_all(select).await?;
            let mut change = Change::unaudited([]);
            for ReceiverKey { account_id, id } in &keys {
                change = change.and(sql!(
                    "delete from receivers where account_id = $account_id and id = $id",
                    [account_id = *account_id, id = *id]
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
        let count = repeat_batches(|| async {
            // Ids begin with the time at which a delivery was stored, so younger ones are not read.
            let select = sql!(
                r"
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
                    order by id
                    limit 1000
                ",
                [
                    account,
                    stored_before = event_id(finished_before.as_millisecond(), 0),
                    finished_before
                ]
            );
            let ids: Vec<String> = self.read_all(select).await?;
            let mut change = Change::unaudited([]);
            for id in &ids {
                let id = id.as_str();
                change = change.and(sql!("delete from deliveries where id = $id", [id]));
            }
            if !ids.is_empty() {
                self.write(change).await?;
            }
            Ok(ids.len())
        });
        count.await
    }
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
fn delete_messages_statement() -> Statement {
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

/// Returns the statement that deletes one batch of the lanes that were not paused at `now` and have
/// no waiting deliveries.
pub(super) fn delete_lanes_statement(now: Timestamp) -> Statement {
    sql!(
        r"
            delete from lanes
            where origin in (
                select l.origin
                from lanes l
                where l.paused_until < $now
                  and not exists (
                      select 1
                      from deliveries d
                      where d.origin = l.origin
                        and d.finished_at is null
                  )
                limit 1000
            )
            returning origin
        ",
        [now]
    )
}
