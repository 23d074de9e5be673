//! Deliveries: messages that wait for their receivers, and afterwards the delivery log.
//!
//! A node claims a waiting delivery for the time of a lease, sends it, and stores the result. After
//! the lease has expired, the node can no longer store a result, because another node may have
//! claimed the delivery.

mod claim;
mod finish;
mod log;

use std::collections::HashSet;
use std::sync::LazyLock;

use belfry_core::push::message::DeliveryDetails;
use belfry_core::secret::Sha256Digest;
use jiff::Timestamp;

pub(crate) use self::claim::expire_statement;
pub use self::claim::{ClaimedDelivery, DeliveryKey};
pub use self::finish::{AttemptRecord, DeliveryResult};
pub use self::log::{DeliveryOutcome, LoggedDelivery, QueueStatus};
use crate::engine::{
    CHUNK_LEN, FromValue, Statement, Value, list_sql, numbered_sql, read_rows, sql, values,
};
use crate::error::StoreError;
use crate::store::event_source::new_id;
use crate::store::new_rows::RowOwner;
use crate::store::{Change, Store, to_json};

/// Maximum number of waiting deliveries of a receiver.
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
    /// The kind of message, rule, tweaks and counts.
    pub details: DeliveryDetails,
    /// Time after which it is not sent.
    pub expires_at: Timestamp,
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
    /// receiver may not get messages, if it was stored before, or if the receiver already had
    /// [`MAX_WAITING_PER_RECEIVER`] waiting ones.
    pub async fn enqueue(
        &self,
        message: &NewMessage,
        deliveries: &[NewDelivery],
        now: Timestamp,
    ) -> Result<StoredDeliveries, StoreError> {
        let full_receivers = self.receivers_with_full_queue(deliveries).await?;
        // Ids are in the order of the receivers, so deliveries that are claimed together change
        // neighbouring rows.
        let mut sorted_deliveries: Vec<&NewDelivery> = deliveries.iter().collect();
        sorted_deliveries.sort_by_key(|delivery| (delivery.account_id, delivery.receiver_id));
        let mut new_rows: Vec<NewRow<'_>> = sorted_deliveries
            .into_iter()
            .map(|delivery| NewRow {
                id: new_id(now),
                dedup_key: delivery.dedup_key.to_text(),
                delivery,
            })
            .collect();
        // In the same order everywhere, so that concurrent requests with the same keys do not
        // deadlock.
        new_rows.sort_by(|left, right| left.dedup_key.cmp(&right.dedup_key));
        let accepted_rows: Vec<&NewRow<'_>> = new_rows
            .iter()
            .filter(|NewRow { delivery, .. }| {
                !full_receivers.contains(&(delivery.account_id, delivery.receiver_id))
            })
            .collect();
        let mut change = Change::unaudited([]);
        let (chunks, rest) = accepted_rows.as_chunks::<CHUNK_LEN>();
        for chunk in chunks {
            change = change.and(insert_statement(&INSERT_CHUNK, message, chunk, now)?);
        }
        for row in rest.chunks(1) {
            change = change.and(insert_statement(&INSERT_ONE, message, row, now)?);
        }
        let insert_message = sql!(
            r"
                insert into messages (id, content, created_at)
                select cast($id as text), cast($content as text), cast($now as bigint)
                where exists (select 1 from deliveries where message_id = $id)
                on conflict (id) do nothing
            ",
            [id = message.id.as_str(), content = message.content.as_str(), now]
        );
        let inserted_rows = self.write(change.and(insert_message)).await?;
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

    /// Returns the accounts and ids of receivers that have [`MAX_WAITING_PER_RECEIVER`] waiting
    /// deliveries, among those of the deliveries' accounts.
    async fn receivers_with_full_queue(
        &self,
        deliveries: &[NewDelivery],
    ) -> Result<HashSet<(i64, i64)>, StoreError> {
        let accounts: HashSet<i64> =
            deliveries.iter().map(|delivery| delivery.account_id).collect();
        let accounts: Vec<i64> = accounts.into_iter().collect();
        let mut full_receivers = HashSet::new();
        for chunk in accounts.chunks(CHUNK_LEN) {
            let select = list_sql!(
                chunk,
                r"
                    select account_id, receiver_id
                    from deliveries
                    where finished_at is null
                      and account_id in ({list})
                    group by account_id, receiver_id
                    having count(*) >= $max_waiting
                ",
                [max_waiting = MAX_WAITING_PER_RECEIVER]
            );
            full_receivers.extend(self.read_all::<(i64, i64)>(select).await?);
        }
        Ok(full_receivers)
    }
}

static INSERT_ONE: LazyLock<String> = LazyLock::new(|| insert_sql(1));

static INSERT_CHUNK: LazyLock<String> = LazyLock::new(|| insert_sql(CHUNK_LEN));

/// The columns of a delivery that are parameters of its insert, with their types.
const PARAMETERS: [(&str, &str); 7] = [
    ("id", "text"),
    ("dedup_key", "text"),
    ("account_id", "bigint"),
    ("receiver_id", "bigint"),
    ("event_id", "text"),
    ("details", "text"),
    ("expires_at", "bigint"),
];

/// Returns the SQL that inserts `count` deliveries. The first two parameters are the message and
/// the time; those of the deliveries follow.
fn insert_sql(count: usize) -> String {
    let mut number = 2;
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
            id, dedup_key, account_id, receiver_id, origin, message_id, event_id, details,
            created_at, expires_at, due_at
        )
        select
            n.id, n.dedup_key, n.account_id, n.receiver_id, r.origin, cast($message as text),
            n.event_id, n.details, cast($now as bigint), n.expires_at, cast($now as bigint)
        from new n
        join receivers r on r.account_id = n.account_id and r.id = n.receiver_id
        where {is_live}
        order by n.dedup_key
        on conflict (dedup_key) do nothing
        returning dedup_key
    ",
    [message, now],
    {}
);

struct NewRow<'a> {
    id: String,
    dedup_key: String,
    delivery: &'a NewDelivery,
}

fn insert_statement(
    sql: &'static str,
    message: &NewMessage,
    rows: &[&NewRow<'_>],
    now: Timestamp,
) -> Result<Statement, StoreError> {
    let mut values = values![message = message.id.as_str(), now = now];
    for NewRow { id, dedup_key, delivery } in rows {
        values.extend(values![
            id = id.as_str(),
            dedup_key = dedup_key.as_str(),
            account_id = delivery.account_id,
            receiver_id = delivery.receiver_id,
            event_id = delivery.event_id.as_str(),
            details = to_json(&delivery.details)?,
            expires_at = delivery.expires_at
        ]);
    }
    Ok(Statement::new(sql, values))
}
