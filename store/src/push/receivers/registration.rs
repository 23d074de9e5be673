//! Registering, renewing and deleting receivers.

use belfry_core::audit::{AuditKind, NewAuditEvents};
use belfry_core::push::receiver::{Protocol, ReceiverDocument};
use belfry_core::secret::{LookupKey, Sha256Digest};

use crate::engine::{Statement, sql};
use crate::error::StoreError;
use crate::oauth::authorized_apps::lock_account_statement;
use crate::push::receivers::Receiver;
use crate::store::event_source::{event_source, event_source_for};
use crate::store::{Change, Store, WriteOutcome, to_json};

/// Maximum number of receivers of an account.
pub const MAX_RECEIVERS: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetReceiverOutcome {
    Added,
    /// It has replaced the account's receiver with the same app id and push key.
    Replaced,
    /// Nothing was stored: the account, the token or its app is disabled or gone.
    NotFound,
}

impl Store {
    /// Registers a receiver. It replaces the account's receiver with the same app id and push key,
    /// whose waiting deliveries are removed. Beyond [`MAX_RECEIVERS`], the least
    /// recently successful one is deleted, with an event of the kind [`AuditKind::ReceiverRemove`].
    /// `events` are stored only if the receiver is added.
    pub async fn set_receiver(
        &self,
        events: &NewAuditEvents,
        receiver: &Receiver,
    ) -> Result<SetReceiverOutcome, StoreError> {
        let Receiver { account_id, id, created_at: now, .. } = *receiver;
        let (app_id, push_key) = receiver_key(receiver);
        let push_key = push_key.as_str();
        let is_added = event_source_for!(
            receivers,
            "account_id = $account_id and id = $id and app_id = $app_id and push_key = $push_key",
            [account_id, id, app_id, push_key]
        );
        // The new receiver is not among those that are counted.
        let max_others = i64::try_from(MAX_RECEIVERS - 1).unwrap_or(i64::MAX);
        let excess = event_source!(
            counted,
            r"
                cast($account_id as bigint) as account_id, cast(null as bigint) as app_id,
                    count(*) as number
                from ({excess_receivers}) as excess_of_account
                having count(*) > 0
            ",
            [account_id, id, app_id, push_key, now, max_others]
        );
        let delete_excess = sql!(
            r"
                delete from receivers
                where account_id = $account_id
                  and id in ({excess_receivers})
            ",
            [account_id, id, app_id, push_key, now, max_others]
        );
        let excess_events = events.derive_event(
            AuditKind::ReceiverRemove,
            &format!("more than {MAX_RECEIVERS} receivers"),
        );
        let delete_replaced = sql!(
            r"
                delete from receivers
                where app_id = $app_id
                  and push_key = $push_key
                  and account_id = $account_id
                  and not exists (
                      select 1
                      from receivers
                      where account_id = $account_id and id = $id
                  )
                  and exists (select 1 from {new_receiver})
                returning id
            ",
            [account_id, id, token = receiver.token, app_id, push_key, now]
        );
        let insert = insert_statement(receiver)?;
        let insert_new = [lock_account_statement(account_id), insert.clone()];
        // The first insert has no effect if the account has a receiver with this key. The events
        // are stored before that one is deleted and the insert is repeated, so that only an added
        // receiver has them.
        let change = Change::new(events, insert_new, is_added)
            .and_events(&excess_events, excess)
            .and(delete_replaced)
            .and(insert)
            .and(delete_excess);
        let [_, inserted_rows, replaced_rows, ..]: [_; 5] = self.write_rows(change).await?;
        Ok(match (inserted_rows.is_empty(), replaced_rows.is_empty()) {
            (false, _) => SetReceiverOutcome::Added,
            (true, false) => SetReceiverOutcome::Replaced,
            (true, true) => SetReceiverOutcome::NotFound,
        })
    }

    /// Deletes the receivers of other accounts with the given app id and push key, because the
    /// device now belongs to this account. Receivers with a different protocol remain: a push key
    /// for Web Push is public, and only an acknowledgement proves that the device has it. Stores an
    /// event for each affected account and for this one. Returns the number of deleted receivers.
    pub async fn remove_push_key_of_others(
        &self,
        events: &NewAuditEvents,
        account_id: i64,
        app_id: &str,
        push_key: &str,
        protocol: Protocol,
    ) -> Result<usize, StoreError> {
        let event_source = event_source!(
            each "account_id",
            r"
                account_id,
                (select app_id from tokens where lookup = receivers.token limit 1) as app_id,
                1 as number
                from receivers
                where {has_push_key_of_other}
                union all
                select cast($account_id as bigint), cast(null as bigint), 1
                where exists (select 1 from receivers where {has_push_key_of_other})
            ",
            [account_id, app_id, push_key, protocol]
        );
        let delete = sql!(
            "delete from receivers where {has_push_key_of_other} returning id",
            [account_id, app_id, push_key, protocol]
        );
        let change = Change::new(events, [], event_source).and(delete);
        let [deleted_rows] = self.write_rows(change).await?;
        Ok(deleted_rows.len())
    }

    /// Replaces the settings and the token of a receiver that its client has registered again for
    /// the same device. Returns `NotFound` if there is no such receiver.
    pub async fn renew_receiver(
        &self,
        account_id: i64,
        id: i64,
        token: Option<LookupKey>,
        document: &ReceiverDocument,
    ) -> Result<WriteOutcome, StoreError> {
        let update = sql!(
            r"
                update receivers
                set token = coalesce($token, token), document = $document
                where account_id = $account
                  and id = $id
                returning id
            ",
            [account = account_id, id, token, document = to_json(document)?]
        );
        self.update(Change::unaudited(update)).await
    }

    /// Activates a receiver that waits for the acknowledgement with this digest. Returns `NotFound` if
    /// it was replaced or activated in the meantime.
    pub async fn activate_receiver(
        &self,
        account_id: i64,
        id: i64,
        digest: Sha256Digest,
    ) -> Result<WriteOutcome, StoreError> {
        let update = sql!(
            r"
                update receivers
                set ack_digest = null, ack_expires_at = null
                where account_id = $account
                  and id = $id
                  and ack_digest = $digest
                returning id
            ",
            [account = account_id, id, digest]
        );
        self.update(Change::unaudited(update)).await
    }

    /// Deletes a receiver and removes its waiting deliveries. Returns `NotFound` if it does not
    /// exist.
    pub async fn delete_receiver(
        &self,
        events: &NewAuditEvents,
        account_id: i64,
        id: i64,
    ) -> Result<WriteOutcome, StoreError> {
        let event_source = event_source_for!(
            receivers,
            "account_id = $account and id = $id",
            [account = account_id, id]
        );
        let delete = sql!(
            r"
                delete from receivers
                where account_id = $account
                  and id = $id
                returning id
            ",
            [account = account_id, id]
        );
        // The account is locked so that only one of several concurrent deletions stores an event.
        let lock = [lock_account_statement(account_id)];
        let change = Change::new(events, lock, event_source).and(delete);
        let [_, deleted_rows] = self.write_rows(change).await?;
        Ok(WriteOutcome::from_rows(&deleted_rows))
    }
}

/// Returns the app id and the push key, which identify a receiver in its account. A subscription has
/// no app id, and its key is that of its token.
fn receiver_key(receiver: &Receiver) -> (&str, String) {
    match &receiver.document {
        ReceiverDocument::Pusher(pusher) => (&pusher.app_id, pusher.pushkey.clone()),
        ReceiverDocument::Subscription(_) => {
            ("", receiver.token.map(LookupKey::to_text).unwrap_or_default())
        }
    }
}

/// Returns the statement that inserts a receiver if it is live and the account has none with the
/// same app id and push key.
fn insert_statement(receiver: &Receiver) -> Result<Statement, StoreError> {
    let (app_id, push_key) = receiver_key(receiver);
    Ok(sql!(
        r"
            insert into receivers (account_id, id, protocol, token, app_id, push_key, document,
                secrets, origin, vapid_key, ack_digest, ack_expires_at, created_at)
            select r.account_id, cast($id as bigint), cast($protocol as text), r.token,
                cast($app_id as text), cast($push_key as text), cast($document as text),
                cast($secrets as text), cast($origin as text), cast($vapid_key as text),
                cast($ack_digest as text), cast($ack_expires_at as bigint), cast($now as bigint)
            from {new_receiver}
            on conflict do nothing
            returning id
        ",
        [
            account_id = receiver.account_id,
            id = receiver.id,
            protocol = receiver.protocol(),
            token = receiver.token,
            app_id,
            push_key,
            document = to_json(&receiver.document)?,
            secrets = receiver.secrets.as_str(),
            origin = receiver.origin.as_str(),
            vapid_key = receiver.vapid_key.as_deref(),
            ack_digest = receiver.pending_ack.map(|ack| ack.digest),
            ack_expires_at = receiver.pending_ack.map(|ack| ack.expires_at),
            now = receiver.created_at
        ]
    ))
}
