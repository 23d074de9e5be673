//! The list of receivers for operators.

use belfry_core::oauth::web_address::web_host;
use belfry_core::push::receiver::ReceiverState;
use jiff::Timestamp;

use crate::engine::{FromRow, Row, read_known_rows, sql};
use crate::error::StoreError;
use crate::push::receivers::Receiver;
use crate::store::Store;

/// A receiver with the names of its account and app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedReceiver {
    pub receiver: Receiver,
    pub account: String,
    /// The name of the app whose token registered the receiver; `None` if it has no token.
    pub token_app: Option<String>,
    /// True if the receiver may get messages.
    pub is_live: bool,
}

impl FromRow for ListedReceiver {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            receiver: Receiver::take_from(&mut row)?,
            account: row.take()?,
            token_app: row.take()?,
            is_live: row.take::<i64>()? != 0,
        })
    }
}

impl ListedReceiver {
    /// Returns the app's name: the one that a pusher states, or else that of the token's app.
    pub fn app(&self) -> Option<&str> {
        self.receiver.document.app_name().or(self.token_app.as_deref())
    }

    /// Returns the name of the device, which only pushers state.
    pub fn device(&self) -> Option<&str> {
        self.receiver.document.device_name()
    }

    /// Returns the names of the app and the device.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.app().into_iter().chain(self.device()).collect();
        names.join(" · ")
    }

    /// Returns the host to which messages are sent. The rest of the URL is a secret of the device
    /// and its push service.
    pub fn host(&self) -> String {
        web_host(&self.receiver.origin).unwrap_or_default()
    }

    pub fn state(&self) -> ReceiverState {
        if !self.is_live {
            ReceiverState::Ended
        } else if self.receiver.pending_ack.is_some() {
            ReceiverState::Unacknowledged
        } else if !self.receiver.document.is_enabled() {
            ReceiverState::Disabled
        } else {
            ReceiverState::Active
        }
    }
}

impl Store {
    /// Returns the ids and names of the accounts that have a receiver with this id: rarely more than
    /// one, because ids are random.
    pub async fn receiver_owners(&self, id: i64) -> Result<Vec<(i64, String)>, StoreError> {
        self.read_all(sql!(
            r"
                select r.account_id, n.name
                from receivers r
                join accounts n on n.id = r.account_id
                where r.id = $id
                order by r.account_id
                limit 100
            ",
            [id]
        ))
        .await
    }

    /// Returns an account's receivers that may get messages, in the order of their registration.
    pub async fn live_receivers(
        &self,
        account_id: i64,
        now: Timestamp,
    ) -> Result<Vec<ListedReceiver>, StoreError> {
        let mut receivers = self.listed_receivers(Some(account_id), None, i64::MAX, now).await?;
        receivers.retain(|listed| listed.is_live);
        receivers.sort_by_key(|listed| (listed.receiver.created_at, listed.receiver.id));
        Ok(receivers)
    }

    /// Returns up to `limit` receivers of an account, or of all accounts, ordered by account and
    /// id. `after` is the account and id of the last receiver on the previous page.
    pub async fn listed_receivers(
        &self,
        account_id: Option<i64>,
        after: Option<(i64, i64)>,
        limit: i64,
        now: Timestamp,
    ) -> Result<Vec<ListedReceiver>, StoreError> {
        let (after_account, after_id) = after.unwrap_or_default();
        let first_account = account_id.unwrap_or(after_account);
        let last_account = account_id.unwrap_or(i64::MAX);
        let select = sql!(
            r"
                select {receiver_columns}, n.name, (
                    select p.name
                    from tokens t
                    join apps p on p.id = t.app_id
                    where t.lookup = r.token
                ), cast(case when {is_live} then 1 else 0 end as bigint)
                from receivers r
                join accounts n on n.id = r.account_id
                where r.account_id >= $first_account
                  and r.account_id <= $last_account
                  and (r.account_id, r.id) > ($after_account, $after_id)
                order by r.account_id, r.id
                limit $limit
            ",
            [now, first_account, last_account, after_account, after_id, limit]
        );
        Ok(read_known_rows(self.engine.read(select).await?))
    }
}
