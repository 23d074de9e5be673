//! Receivers: subscriptions of Mastodon clients and pushers of Matrix clients.

mod registration;

use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::pusher::PendingAck;
use belfry_core::push::receiver::{Protocol, ReceiverDocument};
use belfry_core::secret::LookupKey;
use jiff::Timestamp;

pub use self::registration::{MAX_RECEIVERS, SetReceiverOutcome};
use crate::engine::{CHUNK_LEN, FromRow, Row, list_sql, read_known_rows, sql};
use crate::error::StoreError;
use crate::store::Store;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    pub account_id: i64,
    /// A random positive number below 2^31, unique within the account.
    pub id: i64,
    /// The token that registered it, with which it ends; `None` if an application service did.
    pub token: Option<LookupKey>,
    pub document: ReceiverDocument,
    /// Its secrets, encrypted with the sealing key.
    pub secrets: String,
    pub origin: String,
    /// The public key that identifies this server to the push service.
    pub vapid_key: Option<String>,
    /// The acknowledgement that activates it; `None` if it is active.
    pub pending_ack: Option<PendingAck>,
    pub created_at: Timestamp,
    /// Time of the last delivery.
    pub succeeded_at: Option<Timestamp>,
    /// Time of the last failed attempt.
    pub failed_at: Option<Timestamp>,
    pub failure: Option<AttemptError>,
    /// The time of the first 401 or 403 since the last delivered message.
    pub denied_since: Option<Timestamp>,
    /// The number of 401 and 403 responses since the last delivered message.
    pub denied_count: i64,
    /// Number of failed attempts since the last delivered message.
    pub failures: i64,
    /// True if the last attempt delivered its message.
    pub is_proven: bool,
}

impl Receiver {
    pub fn protocol(&self) -> Protocol {
        self.document.protocol()
    }

    pub(crate) fn take_from(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            account_id: row.take()?,
            id: row.take()?,
            token: row.take()?,
            document: row.take_json()?,
            secrets: row.take()?,
            origin: row.take()?,
            vapid_key: row.take()?,
            pending_ack: {
                let (digest, expires_at): (Option<_>, Option<_>) = (row.take()?, row.take()?);
                digest.zip(expires_at).map(|(digest, expires_at)| PendingAck { digest, expires_at })
            },
            created_at: row.take()?,
            succeeded_at: row.take()?,
            failed_at: row.take()?,
            failure: row.take()?,
            denied_since: row.take()?,
            denied_count: row.take()?,
            failures: row.take()?,
            is_proven: row.take::<i64>()? != 0,
        })
    }
}

impl FromRow for Receiver {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        Self::take_from(&mut row)
    }
}

impl Store {
    /// Returns an account's live receivers, activated or not, in the order of their registration.
    pub async fn receivers(
        &self,
        account_id: i64,
        now: Timestamp,
    ) -> Result<Vec<Receiver>, StoreError> {
        let select = sql!(
            r"
                select {receiver_columns}
                from receivers r
                where r.account_id = $account
                  and {is_live}
                order by r.created_at, r.id
            ",
            [account = account_id, now]
        );
        Ok(read_known_rows(self.engine.read(select).await?))
    }

    /// Returns a receiver of an account, live or not.
    pub async fn receiver(&self, account_id: i64, id: i64) -> Result<Option<Receiver>, StoreError> {
        self.read_one(sql!(
            r"
                select {receiver_columns}
                from receivers r
                where r.account_id = $account
                  and r.id = $id
            ",
            [account = account_id, id]
        ))
        .await
    }

    /// Returns the subscription that a token registered, if it is live.
    pub async fn receiver_of_token(
        &self,
        token: LookupKey,
        now: Timestamp,
    ) -> Result<Option<Receiver>, StoreError> {
        self.read_one(sql!(
            r"
                select {receiver_columns}
                from receivers r
                where r.token = $token
                  and r.protocol = $protocol
                  and {is_live}
            ",
            [token, protocol = Protocol::Mastodon, now]
        ))
        .await
    }

    /// Returns the live and activated receivers of these accounts, in any order.
    pub async fn receivers_of_accounts(
        &self,
        accounts: &[i64],
        now: Timestamp,
    ) -> Result<Vec<Receiver>, StoreError> {
        let mut receivers = Vec::new();
        for chunk in accounts.chunks(CHUNK_LEN) {
            let select = list_sql!(
                chunk,
                r"
                    select {receiver_columns}
                    from receivers r
                    where r.account_id in ({list})
                      and r.ack_digest is null
                      and {is_live}
                ",
                [now]
            );
            receivers.extend(read_known_rows::<Receiver>(self.engine.read(select).await?));
        }
        Ok(receivers)
    }
}
