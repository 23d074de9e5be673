//! Registration of receivers.

use belfry_core::audit::NewAuditEvents;
use belfry_core::push::message::DeliveryDetails;
use belfry_core::push::pusher::PendingAck;
use belfry_core::push::receiver::{Protocol, ReceiverDocument, ReceiverSecrets};
use belfry_core::secret::LookupKey;
use belfry_delivery::sealed::{open_secrets, seal_secrets};
use belfry_runtime::random;
use belfry_store::{
    NewReceiver, SetReceiverOutcome, Store, StoreError, StoredReceiver, WriteOutcome,
};
use jiff::Timestamp;

use super::Delivery;
use super::outgoing::DeliveryTarget;

/// A device that a client registers.
pub(crate) struct NewDevice {
    pub(crate) account_id: i64,
    /// The token that registers it; `None` for an application service.
    pub(crate) token: Option<LookupKey>,
    pub(crate) document: ReceiverDocument,
    pub(crate) secrets: ReceiverSecrets,
    pub(crate) origin: String,
    /// The acknowledgement that activates a new receiver; `None` if it needs none.
    pub(crate) pending_ack: Option<PendingAck>,
}

/// The outcome of a registration.
pub(crate) enum Registration {
    /// The client has registered the same device again, whose settings and token are replaced.
    Renewed,
    /// A new receiver, which has replaced the one with the same app id and push key.
    Added(DeliveryTarget),
    /// Nothing was stored: the account, the token or its app is disabled or gone.
    NotFound,
}

impl Delivery {
    /// Registers a device. `existing` is the receiver that it replaces. If it is the same device,
    /// the receiver keeps its id and the messages that wait for it.
    pub(crate) async fn register(
        &self,
        store: &Store,
        events: &NewAuditEvents,
        device: NewDevice,
        existing: Option<&StoredReceiver>,
        now: Timestamp,
    ) -> Result<Registration, StoreError> {
        let NewDevice { account_id, token, document, secrets, origin, pending_ack } = device;
        if let Some(existing) = existing
            && self.is_same_device(existing, &document, &secrets)
        {
            let renewal = store.renew_receiver(account_id, existing.id, token, &document);
            if renewal.await? == WriteOutcome::Written {
                return Ok(Registration::Renewed);
            }
        }
        // Below 2³¹, because some clients use a signed integer.
        let id = i64::from(u32::from_be_bytes(random::bytes()) >> 1).max(1);
        let protocol = document.protocol();
        let (app_id, push_key) = match &document {
            ReceiverDocument::Pusher(pusher) => (pusher.app_id.clone(), pusher.pushkey.clone()),
            ReceiverDocument::Subscription(_) => {
                (String::new(), token.map(LookupKey::to_text).unwrap_or_default())
            }
        };
        let receiver = NewReceiver {
            account_id,
            id,
            protocol,
            token,
            app_id,
            push_key,
            document,
            secrets: seal_secrets(&self.sealing_key, account_id, id, &secrets),
            origin,
            vapid_key: (protocol != Protocol::Gateway).then(|| self.vapid_key()),
            ack: pending_ack,
            created_at: now,
        };
        Ok(match store.set_receiver(events, &receiver).await? {
            SetReceiverOutcome::Added | SetReceiverOutcome::Replaced => {
                let origin = receiver.origin;
                let details = DeliveryDetails::default();
                Registration::Added(DeliveryTarget { account_id, receiver_id: id, origin, details })
            }
            SetReceiverOutcome::NotFound => Registration::NotFound,
        })
    }

    /// Returns whether a client is registering the same device again. False until the receiver is
    /// activated.
    fn is_same_device(
        &self,
        existing: &StoredReceiver,
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
