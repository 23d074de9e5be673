//! Registration of receivers.

use belfry_core::audit::NewAuditEvents;
use belfry_core::push::pusher::PendingAck;
use belfry_core::push::receiver::{Protocol, ReceiverDocument, ReceiverSecrets};
use belfry_core::secret::LookupKey;
use belfry_runtime::random;
use belfry_store::{Receiver, SetReceiverOutcome, StoreError, WriteOutcome};
use jiff::Timestamp;

use super::Delivery;
use super::outgoing::DeliveryTarget;
use crate::sealed::{open_secrets, seal_secrets};

pub struct NewReceiver {
    pub account_id: i64,
    /// The token that registers it; `None` for an application service.
    pub token: Option<LookupKey>,
    pub document: ReceiverDocument,
    /// Its secrets, which are stored sealed.
    pub secrets: ReceiverSecrets,
    pub origin: String,
    /// The acknowledgement that activates a new receiver; `None` if it needs none.
    pub pending_ack: Option<PendingAck>,
}

pub enum Registration {
    /// The client has registered the same device again, whose settings and token are replaced.
    Renewed,
    /// A new receiver, which has replaced the one with the same app id and push key.
    Added(DeliveryTarget),
    /// Nothing was stored: the account, the token or its app is disabled or gone.
    NotFound,
}

impl Delivery {
    /// Registers a receiver, which replaces `existing`. If both are the same device, the receiver
    /// keeps its id and the messages that wait for it.
    pub async fn register(
        &self,
        events: &NewAuditEvents,
        new: NewReceiver,
        existing: Option<&Receiver>,
        now: Timestamp,
    ) -> Result<Registration, StoreError> {
        let NewReceiver { account_id, token, document, secrets, origin, pending_ack } = new;
        if let Some(existing) = existing
            && self.is_same_device(existing, &document, &secrets)
        {
            let renewal = self.store.renew_receiver(account_id, existing.id, token, &document);
            if renewal.await? == WriteOutcome::Written {
                return Ok(Registration::Renewed);
            }
        }
        // Below 2³¹, because some clients use a signed integer.
        let id = i64::from(u32::from_be_bytes(random::bytes()) >> 1).max(1);
        let receiver = Receiver {
            account_id,
            id,
            token,
            vapid_key: (document.protocol() != Protocol::Gateway).then(|| self.vapid_key()),
            document,
            secrets: seal_secrets(&self.sealing_key, account_id, id, &secrets),
            origin,
            pending_ack,
            created_at: now,
            succeeded_at: None,
            failed_at: None,
            failure: None,
            denied_since: None,
            denied_count: 0,
            failures: 0,
            is_proven: false,
        };
        Ok(match self.store.set_receiver(events, &receiver).await? {
            SetReceiverOutcome::Added | SetReceiverOutcome::Replaced => {
                Registration::Added(DeliveryTarget::from(&receiver))
            }
            SetReceiverOutcome::NotFound => Registration::NotFound,
        })
    }

    /// Returns whether a client is registering the same device again. False until the receiver is
    /// activated.
    pub fn is_same_device(
        &self,
        existing: &Receiver,
        document: &ReceiverDocument,
        secrets: &ReceiverSecrets,
    ) -> bool {
        let opened_secrets =
            open_secrets(&self.sealing_key, existing.account_id, existing.id, &existing.secrets);
        existing.pending_ack.is_none()
            && existing.document.is_same_device(document)
            && opened_secrets.as_ref() == Ok(secrets)
    }
}
