//! VAPID keys: the key pairs that identify this server to push services.

use belfry_core::audit::NewAuditEvents;
use jiff::Timestamp;

use crate::engine::{FromRow, Row, from_row, sql};
use crate::error::StoreError;
use crate::store::event_source::event_source;
use crate::store::{Change, Store, WriteOutcome};

/// A key pair.
#[derive(Clone, PartialEq, Eq)]
pub struct VapidKeyRow {
    /// The public key, in base64url.
    pub public_key: String,
    /// The private key, sealed.
    pub private_key: String,
}

from_row!(VapidKeyRow { public_key, private_key });

/// A key pair with the number of receivers that use it.
#[derive(Clone, PartialEq, Eq)]
pub struct VapidKeyUse {
    /// The key pair.
    pub key: VapidKeyRow,
    /// The creation time.
    pub created_at: Timestamp,
    /// Number of receivers that subscribed with it.
    pub receivers: i64,
}

impl FromRow for VapidKeyUse {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let key = VapidKeyRow { public_key: row.take()?, private_key: row.take()? };
        Ok(Self { key, created_at: row.take()?, receivers: row.take()? })
    }
}

impl Store {
    /// Adds a key pair, if the newest one is still `replaced_key` (`None` if there is no key pair).
    /// Of several nodes that add one concurrently, one succeeds and the others get `NotFound`.
    pub async fn add_vapid_key(
        &self,
        events: &NewAuditEvents,
        key: &VapidKeyRow,
        replaced_key: Option<&str>,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        let lock = sql!(
            r"
                insert into locks (name)
                values ('vapid_keys')
                on conflict (name) do update
                set name = excluded.name
            "
        );
        // `created_at` is later than that of all others, even in the same second or if a clock is
        // behind, because the newest key is found by it.
        let insert = sql!(
            r"
                insert into vapid_keys (public_key, private_key, created_at)
                select cast($public_key as text), cast($private_key as text), (
                    select coalesce(max(case when created_at >= cast($now as bigint) then
                        created_at + 1 end), cast($now as bigint))
                    from vapid_keys
                )
                where (
                    select public_key
                    from vapid_keys
                    order by created_at desc, public_key desc
                    limit 1
                ) is not distinct from cast($replaced_key as text)
                returning public_key
            ",
            [
                public_key = key.public_key.as_str(),
                private_key = key.private_key.as_str(),
                now,
                replaced_key
            ]
        );
        let is_added = event_source!(
            r"
                cast(null as bigint) as account_id, cast(null as bigint) as app_id, 1 as number
                from vapid_keys
                where public_key = $public_key
            ",
            [public_key = key.public_key.as_str()]
        );
        let change = Change::new(events, [lock, insert], is_added);
        let [_, inserted_rows] = self.write_rows(change).await?;
        Ok(if inserted_rows.is_empty() { WriteOutcome::NotFound } else { WriteOutcome::Written })
    }

    /// Returns all key pairs, the newest one last.
    pub async fn vapid_keys(&self) -> Result<Vec<VapidKeyRow>, StoreError> {
        self.read_all(sql!(
            r"
            select public_key, private_key
            from vapid_keys
            order by created_at, public_key
        "
        ))
        .await
    }

    /// Returns all key pairs with the number of their receivers, the newest one last.
    pub async fn vapid_key_uses(&self) -> Result<Vec<VapidKeyUse>, StoreError> {
        self.read_all(sql!(
            r"
                select k.public_key, k.private_key, k.created_at, (
                    select count(*)
                    from receivers r
                    where r.vapid_key = k.public_key
                )
                from vapid_keys k
                order by k.created_at, k.public_key
            "
        ))
        .await
    }
}
