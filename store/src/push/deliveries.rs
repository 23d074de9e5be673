//! Deliveries: messages that wait for their receivers, and afterwards the delivery log.
//!
//! A node claims a receiver for the time of a lease, sends it its next message, and stores the
//! result. After the lease has expired, the node can no longer store a result, because another node
//! may have claimed the receiver.

mod claim;
mod finish;
mod log;
mod removal;

use std::collections::HashSet;
use std::sync::LazyLock;

use belfry_core::push::message::DeliveryDetails;
use belfry_core::secret::Sha256Digest;
use jiff::Timestamp;

pub use self::claim::{ClaimedDelivery, DeliveryKey};
pub(crate) use self::claim::{expire_statements, wake_lanes_statement};
pub use self::finish::{AttemptRecord, ReceiverResult};
pub use self::log::{LoggedDelivery, QueueStatus};
use self::removal::remove_replaced_statement;
use crate::engine::{
    CHUNK_LEN, FromValue, Statement, Value, list_sql, numbered_sql, read_rows, sql, values,
};
use crate::error::StoreError;
use crate::store::event_source::new_id;
use crate::store::new_rows::RowOwner;
use crate::store::{Change, Store, to_json};

/// Maximum number of waiting deliveries of a receiver. The statement contains it as a literal.
pub const MAX_WAITING_PER_RECEIVER: i64 = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub id: String,
    pub content: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// A digest that recognises the delivery if the request is repeated.
    pub dedup_key: Sha256Digest,
    pub account_id: i64,
    /// The receiver's id, unique within the account.
    pub receiver_id: i64,
    pub event_id: String,
    /// The room of the event.
    pub room_id: Option<String>,
    /// The digest of its topic.
    pub topic: Option<String>,
    /// The kind of message, rule, tweaks and counts.
    pub details: DeliveryDetails,
    /// Time after which it is not sent.
    pub expires_at: Timestamp,
}

/// Which receivers get a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    All,
    /// Only those that do not fail, and whose lane does not: the queue is half full.
    Working,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredDeliveries {
    pub new: HashSet<Sha256Digest>,
    pub repeated: usize,
}

impl FromValue for DeliveryDetails {
    fn from_value(value: Value) -> Option<Self> {
        // A delivery must not block its lane because its details cannot be read.
        Some(serde_json::from_str(&String::from_value(value)?).unwrap_or_default())
    }
}

impl Store {
    /// Stores a message and its deliveries in one transaction. A delivery is omitted if its
    /// receiver may not get messages or is not admitted, if it was stored before, or if the
    /// receiver already had [`MAX_WAITING_PER_RECEIVER`] waiting ones, of other topics. An older
    /// delivery of the same topic to the same receiver is removed, unless it is in flight.
    pub async fn enqueue(
        &self,
        message: &NewMessage,
        deliveries: &[NewDelivery],
        admission: Admission,
        now: Timestamp,
    ) -> Result<StoredDeliveries, StoreError> {
        // In the order of the receivers everywhere, so that concurrent requests do not deadlock.
        let mut sorted_deliveries: Vec<&NewDelivery> = deliveries.iter().collect();
        sorted_deliveries.sort_by_key(|delivery| (delivery.account_id, delivery.receiver_id));
        let mut change = Change::unaudited([]);
        let (chunks, rest) = sorted_deliveries.as_chunks::<CHUNK_LEN>();
        for chunk in chunks {
            change = change.and(insert_statement(&INSERT_CHUNK, message, chunk, admission, now)?);
        }
        for row in rest.chunks(1) {
            change = change.and(insert_statement(&INSERT_ONE, message, row, admission, now)?);
        }
        let id = message.id.as_str();
        let insert_message = sql!(
            r"
                insert into messages (id, content, created_at)
                select cast($id as text), cast($content as text), cast($now as bigint)
                where exists (select 1 from deliveries where message_id = $id)
                on conflict (id) do nothing
            ",
            [id, content = message.content.as_str(), now]
        );
        // A lane that is due already is not locked, because other transactions would wait for it.
        let wake_lanes = sql!(
            r"
                insert into lanes (origin, due_at)
                select new.origin, cast($now as bigint)
                from (select distinct origin from deliveries where message_id = $id) as new
                where not exists (
                    select 1
                    from lanes
                    where lanes.origin = new.origin
                      and lanes.due_at <= case when {lane_is_paused} then lanes.paused_until
                          else $now end
                )
                order by new.origin
                on conflict (origin) do update
                set due_at = case when {lane_is_paused} then lanes.paused_until
                    else excluded.due_at end
            ",
            [id, now]
        );
        if deliveries.iter().any(|delivery| delivery.topic.is_some()) {
            change = change.and(remove_replaced_statement(id, now));
        }
        let change = change.and(insert_message).and(wake_lanes);
        let inserted_rows = self.write(change).await?;
        let new_keys: Vec<Sha256Digest> = read_rows(inserted_rows.into_iter().flatten().collect())?;
        let new: HashSet<Sha256Digest> = new_keys.into_iter().collect();
        let mut omitted_keys = Vec::new();
        for delivery in deliveries {
            if new.contains(&delivery.dedup_key) {
                self.new_rows.record(RowOwner::Deliveries(delivery.account_id));
            } else {
                omitted_keys.push(delivery.dedup_key);
            }
        }
        let repeated = self.stored_deliveries(&omitted_keys).await?.len();
        Ok(StoredDeliveries { new, repeated })
    }

    /// Returns those of the deduplication keys whose deliveries are stored, waiting or finished.
    pub async fn stored_deliveries(
        &self,
        keys: &[Sha256Digest],
    ) -> Result<HashSet<Sha256Digest>, StoreError> {
        let mut stored_keys = HashSet::new();
        for chunk in keys.chunks(CHUNK_LEN) {
            let select = list_sql!(
                chunk,
                "select dedup_key from deliveries where dedup_key in ({list})",
                []
            );
            stored_keys.extend(self.read_all::<Sha256Digest>(select).await?);
        }
        Ok(stored_keys)
    }
}

static INSERT_ONE: LazyLock<String> = LazyLock::new(|| insert_sql(1));

static INSERT_CHUNK: LazyLock<String> = LazyLock::new(|| insert_sql(CHUNK_LEN));

/// The columns of a delivery that are parameters of its insert, with their types.
const PARAMETERS: [(&str, &str); 9] = [
    ("id", "text"),
    ("dedup_key", "text"),
    ("account_id", "bigint"),
    ("receiver_id", "bigint"),
    ("event_id", "text"),
    ("room_id", "text"),
    ("topic", "text"),
    ("details", "text"),
    ("expires_at", "bigint"),
];

/// Returns the SQL that inserts `count` deliveries. The first three parameters are the message, the
/// time and the admission; those of the deliveries follow.
fn insert_sql(count: usize) -> String {
    let mut number = 3;
    let mut row = || {
        let casts = PARAMETERS.map(|(_, kind)| {
            number += 1;
            format!("cast(${number} as {kind})")
        });
        format!("({})", casts.join(", "))
    };
    let rows: Vec<String> = (0..count).map(|_| row()).collect();
    let columns = PARAMETERS.map(|(column, _)| column);
    format!("with new ({}) as (values {}) {INSERT_NEW}", columns.join(", "), rows.join(", "))
}

const INSERT_NEW: &str = numbered_sql!(
    0,
    r"
        insert into deliveries (
            id, dedup_key, account_id, receiver_id, protocol, origin, message_id, event_id, room_id,
            topic, details, created_at, expires_at
        )
        select
            n.id, n.dedup_key, n.account_id, n.receiver_id, r.protocol, r.origin,
            cast($message as text), n.event_id, n.room_id, n.topic, n.details,
            cast($now as bigint), n.expires_at
        from new n
        join receivers r on r.account_id = n.account_id and r.id = n.receiver_id
        where {is_live}
          and (
              r.waiting < 100
              or exists (
                  select 1
                  from deliveries older
                  where older.topic = n.topic
                    and older.account_id = n.account_id
                    and older.receiver_id = n.receiver_id
                    and older.topic is not null
                    and older.finished_at is null
              )
          )
          and (
              cast($admits_all as bigint) = 1
              or (
                  r.failures = 0
                  and not exists (
                      select 1
                      from lanes l
                      where l.origin = r.origin and l.failures > 0
                  )
              )
          )
        order by n.account_id, n.receiver_id
        on conflict (dedup_key) do nothing
        returning dedup_key
    ",
    [message, now, admits_all],
    {}
);

fn insert_statement(
    sql: &'static str,
    message: &NewMessage,
    deliveries: &[&NewDelivery],
    admission: Admission,
    now: Timestamp,
) -> Result<Statement, StoreError> {
    let admits_all = i64::from(admission == Admission::All);
    let mut values = values![message = message.id.as_str(), now = now, admits_all = admits_all];
    for delivery in deliveries {
        values.extend(values![
            id = new_id(now),
            dedup_key = delivery.dedup_key,
            account_id = delivery.account_id,
            receiver_id = delivery.receiver_id,
            event_id = delivery.event_id.as_str(),
            room_id = delivery.room_id.as_deref(),
            topic = delivery.topic.as_deref(),
            details = to_json(&delivery.details)?,
            expires_at = delivery.expires_at
        ]);
    }
    Ok(Statement::new(sql, values))
}
