//! Removal of waiting deliveries that no one needs any more.

use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::read_request::ReadMessages;
use belfry_core::push::receiver::Protocol;
use jiff::Timestamp;

use crate::engine::{CHUNK_LEN, Statement, list_sql, sql};
use crate::error::StoreError;
use crate::store::event_source::event_id;
use crate::store::{Change, Store};

impl Store {
    /// Removes the waiting deliveries of messages that the user of an account has read, except those
    /// in flight. Returns their number.
    pub async fn remove_read_deliveries(
        &self,
        account_id: i64,
        messages: &ReadMessages,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        // Before the deliveries and in the order of their ids, as in a claim, to avoid deadlocks.
        let lock_receivers = sql!(
            r"
                update receivers
                set claim = claim
                from (
                    select account_id, id
                    from receivers
                    where account_id = $account_id
                      and waiting > 0
                    order by account_id, id
                ) as locked
                where receivers.account_id = locked.account_id
                  and receivers.id = locked.id
            ",
            [account_id]
        );
        let mut change = Change::unaudited(lock_receivers);
        let error = AttemptError::ReadElsewhere;
        match messages {
            ReadMessages::Room { room_id, up_to_ms } => {
                // Ids begin with the time. `||` prevents a search in the log by id.
                let unread_from_ms = i64::try_from(*up_to_ms).unwrap_or(i64::MAX).saturating_add(1);
                let unread_from = event_id(unread_from_ms, 0);
                change = change.and(sql!(
                    r"
                        {remove_read_deliveries}
                          and room_id = $room_id
                          and id || '' < $unread_from
                        returning id
                    ",
                    [account_id, room_id = room_id.as_str(), unread_from, error, now]
                ));
            }
            ReadMessages::Events { room_id, event_ids } => {
                for chunk in event_ids.chunks(CHUNK_LEN) {
                    change = change.and(list_sql!(
                        chunk,
                        r"
                            {remove_read_deliveries}
                              and room_id = $room_id
                              and event_id in ({list})
                            returning id
                        ",
                        [account_id, room_id = room_id.as_str(), error = error.clone(), now]
                    ));
                }
            }
            ReadMessages::Notifications(ids) => {
                for chunk in ids.chunks(CHUNK_LEN) {
                    change = change.and(list_sql!(
                        chunk,
                        r"
                            {remove_read_deliveries}
                              and protocol = $protocol
                              and event_id in ({list})
                            returning id
                        ",
                        [account_id, protocol = Protocol::Mastodon, error = error.clone(), now]
                    ));
                }
            }
        }
        let removed_rows = self.write(change).await?;
        Ok(removed_rows.iter().map(Vec::len).sum())
    }
}

/// Returns the statement that removes the waiting deliveries that a new message replaces: those of
/// its topic for the same receivers, except those in flight. The statement that inserts the new
/// deliveries has locked these receivers. Apart from one in flight, at most one older delivery of a
/// topic waits for a receiver; it is found by a subquery, because PostgreSQL joins slowly without
/// statistics.
pub(super) fn remove_replaced_statement(message_id: &str, now: Timestamp) -> Statement {
    sql!(
        r"
            {remove_deliveries}
              and id in (
                  select (
                      select older.id
                      from deliveries older
                      where older.account_id = n.account_id
                        and older.receiver_id = n.receiver_id
                        and older.topic = n.topic
                        and older.topic is not null
                        and older.finished_at is null
                        and older.id <> n.id
                      order by older.id desc
                      limit 1
                  )
                  from deliveries n
                  where n.message_id = $message_id
                    and n.topic is not null
              )
              and not {is_in_flight}
        ",
        [message_id, error = AttemptError::Replaced, now]
    )
}

/// Returns the statement that removes a delivery whose attempt has failed, if a newer message of its
/// topic waits. Otherwise, the receiver would get the older one last.
pub(super) fn remove_if_replaced_statement(delivery_id: &str, now: Timestamp) -> Statement {
    sql!(
        r"
            {remove_deliveries}
              and id = $delivery_id
              and exists (
                  select 1
                  from deliveries newer
                  where newer.topic = deliveries.topic
                    and newer.account_id = deliveries.account_id
                    and newer.receiver_id = deliveries.receiver_id
                    and newer.topic is not null
                    and newer.finished_at is null
                    and newer.id > deliveries.id
              )
        ",
        [delivery_id, error = AttemptError::Replaced, now]
    )
}
