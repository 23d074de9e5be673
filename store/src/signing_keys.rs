//! Signing keys: sealed key pairs for one purpose each, the same on all nodes. The newest one signs;
//! the others remain for what was signed or registered with them.

use std::collections::{BTreeMap, BTreeSet};

use belfry_core::audit::NewAuditEvents;
use belfry_runtime::jwt::{SigningKey, SigningKeyError};
use belfry_runtime::sealing::SealingKey;
use jiff::Timestamp;

use crate::engine::{FromRow, Row, from_row, sql};
use crate::error::StoreError;
use crate::store::event_source::event_source;
use crate::store::{Change, Store, WriteOutcome, lock_statement};

/// The purpose of a key, for which it is stored and sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPurpose(pub &'static str);

impl KeyPurpose {
    /// Tokens by which push services recognise this server.
    pub const VAPID: Self = Self("vapid");

    fn sealing_context(self, public_key: &str) -> String {
        format!("{} {public_key}", self.0)
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct SigningKeyRow {
    /// The public key, in base64url.
    pub public_key: String,
    pub private_key: String,
}

from_row!(SigningKeyRow: public_key, private_key);

impl SigningKeyRow {
    /// Opens the private key; `None` if it was sealed with a different sealing key.
    pub fn open(&self, purpose: KeyPurpose, sealing_key: &SealingKey) -> Option<SigningKey> {
        let context = purpose.sealing_context(&self.public_key);
        SigningKey::from_pkcs8(&sealing_key.open(&context, &self.private_key)?).ok()
    }
}

/// A VAPID key pair with the number of receivers that use it.
#[derive(Clone, PartialEq, Eq)]
pub struct VapidKeyUse {
    pub key: SigningKeyRow,
    pub created_at: Timestamp,
    pub receivers: i64,
}

impl FromRow for VapidKeyUse {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let key = SigningKeyRow { public_key: row.take()?, private_key: row.take()? };
        Ok(Self { key, created_at: row.take()?, receivers: row.take()? })
    }
}

/// The keys of one purpose, opened with the sealing key.
pub struct SigningKeys {
    pub keys: BTreeMap<String, SigningKey>,
    pub newest: String,
    /// The public keys that were sealed with a different sealing key.
    pub lost: BTreeSet<String>,
}

/// The reason why a key was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddKeyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Key(#[from] SigningKeyError),
}

impl SigningKeys {
    /// Opens stored keys; `None` if there is none or the newest one cannot be opened.
    pub fn open(
        rows: Vec<SigningKeyRow>,
        purpose: KeyPurpose,
        sealing_key: &SealingKey,
    ) -> Option<Self> {
        let newest = rows.last()?.public_key.clone();
        let mut keys = BTreeMap::new();
        let mut lost = BTreeSet::new();
        for row in rows {
            match row.open(purpose, sealing_key) {
                Some(key) => drop(keys.insert(row.public_key, key)),
                None => drop(lost.insert(row.public_key)),
            }
        }
        keys.contains_key(&newest).then_some(Self { keys, newest, lost })
    }
}

impl Store {
    /// Creates, seals and adds a key, which replaces `replaced_key` as the newest. Returns its
    /// public key; `None` if another node has already replaced `replaced_key`.
    pub async fn create_signing_key(
        &self,
        events: &NewAuditEvents,
        purpose: KeyPurpose,
        sealing_key: &SealingKey,
        replaced_key: Option<&str>,
        now: Timestamp,
    ) -> Result<Option<String>, AddKeyError> {
        let document = SigningKey::generate_pkcs8()?;
        let public_key = SigningKey::from_pkcs8(&document)?.public_key().to_owned();
        let private_key = sealing_key.seal(&purpose.sealing_context(&public_key), &document);
        let key = SigningKeyRow { public_key, private_key };
        let outcome = self.add_signing_key(events, purpose, &key, replaced_key, now).await?;
        Ok((outcome == WriteOutcome::Written).then_some(key.public_key))
    }

    /// Adds a key pair, if the newest one of its purpose is still `replaced_key` (`None` if there is
    /// no key pair). Of several nodes that add one concurrently, one succeeds and the others get
    /// `NotFound`.
    pub async fn add_signing_key(
        &self,
        events: &NewAuditEvents,
        purpose: KeyPurpose,
        key: &SigningKeyRow,
        replaced_key: Option<&str>,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        let lock = lock_statement("signing_keys");
        // `created_at` is later than that of all others, even in the same second or if a clock is
        // behind, because the newest key is found by it.
        let insert = sql!(
            r"
                insert into signing_keys (public_key, purpose, private_key, created_at)
                select cast($public_key as text), cast($purpose as text),
                    cast($private_key as text), (
                        select coalesce(max(case when created_at >= cast($now as bigint) then
                            created_at + 1 end), cast($now as bigint))
                        from signing_keys
                    )
                where (
                    select public_key
                    from signing_keys
                    where purpose = $purpose
                    order by created_at desc, public_key desc
                    limit 1
                ) is not distinct from cast($replaced_key as text)
                returning public_key
            ",
            [
                public_key = key.public_key.as_str(),
                purpose = purpose.0,
                private_key = key.private_key.as_str(),
                now,
                replaced_key
            ]
        );
        let is_added = event_source!(
            r"
                cast(null as bigint) as account_id, cast(null as bigint) as app_id, 1 as number
                from signing_keys
                where public_key = $public_key
            ",
            [public_key = key.public_key.as_str()]
        );
        let change = Change::new(events, [lock, insert], is_added);
        let [_, inserted_rows] = self.write_rows(change).await?;
        Ok(WriteOutcome::from_rows(&inserted_rows))
    }

    /// Returns the key pairs of a purpose, the newest one last.
    pub async fn signing_keys(
        &self,
        purpose: KeyPurpose,
    ) -> Result<Vec<SigningKeyRow>, StoreError> {
        self.read_all(sql!(
            r"
                select public_key, private_key
                from signing_keys
                where purpose = $purpose
                order by created_at, public_key
            ",
            [purpose = purpose.0]
        ))
        .await
    }

    /// Returns the VAPID key pairs with the number of their receivers, the newest one last.
    pub async fn vapid_key_uses(&self) -> Result<Vec<VapidKeyUse>, StoreError> {
        self.read_all(sql!(
            r"
                select k.public_key, k.private_key, k.created_at, (
                    select count(*)
                    from receivers r
                    where r.vapid_key = k.public_key
                )
                from signing_keys k
                where k.purpose = 'vapid'
                order by k.created_at, k.public_key
            "
        ))
        .await
    }
}
