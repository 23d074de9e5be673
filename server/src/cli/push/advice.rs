//! Advice for deliveries that failed.

use belfry_core::push::receiver::Protocol;
use belfry_delivery::outbound::OutboundError;
use belfry_delivery::sender::{MESSAGE_UNREADABLE, SECRETS_UNREADABLE};
use belfry_delivery::vapid_keys::TokenError;
use belfry_store::{LoggedDelivery, StoredReceiver};

const OUTBOUND_ERRORS: [OutboundError; 7] = [
    OutboundError::Forbidden,
    OutboundError::Lookup,
    OutboundError::Connect,
    OutboundError::Tls,
    OutboundError::Certificate,
    OutboundError::Timeout,
    OutboundError::Protocol,
];

/// Returns advice for a request that got no response.
pub(in crate::cli) fn advise_on_error(error: OutboundError) -> &'static str {
    match error {
        OutboundError::Forbidden => {
            "if you operate the push service, add its network to push.allowed_networks"
        }
        OutboundError::Lookup => "check the DNS of this machine, and whether the name still exists",
        OutboundError::Connect | OutboundError::Timeout => {
            "check that the firewall permits connections from every node; if other push services \
             respond, wait until this one does"
        }
        OutboundError::Tls | OutboundError::Protocol => {
            "check that no proxy intercepts the connection; if none does, the push service is at \
             fault"
        }
        OutboundError::Certificate => {
            "check the clock of this machine and its certificate authorities; if they are right, \
             the push service must renew its certificate"
        }
    }
}

/// Returns advice for the last attempt of a delivery; empty if there is none.
pub(super) fn advise_on_delivery(
    delivery: &LoggedDelivery,
    receiver: &StoredReceiver,
) -> &'static str {
    let error = delivery.error.as_deref().unwrap_or_default();
    if let Some(error) = OUTBOUND_ERRORS.into_iter().find(|known| known.to_string() == error) {
        return advise_on_error(error);
    }
    let is_gateway = receiver.protocol == Protocol::Gateway;
    match delivery.status {
        Some(200..=299) => "the app must register its push key again",
        Some(300..=399) => "redirects are not followed: the client must register the final URL",
        Some(401 | 403) if !is_gateway => {
            "if it affects all receivers of this push service, check push.contact; if not, the \
             client must subscribe again"
        }
        Some(404 | 410) if !is_gateway => "the client must subscribe again",
        Some(401 | 403 | 404 | 410) => "check the URL of the push gateway with its operator",
        Some(429) => "the push service limits the number of messages: wait",
        Some(400..=499) => "the push service does not accept this message: ask its operator",
        Some(_) => "the push service has a problem: wait, or ask its operator",
        None if error == TokenError::UnknownKey.to_string() => {
            "the server loads new keys every ten seconds: wait"
        }
        None if error == MESSAGE_UNREADABLE => {
            "the server uses a different sealing key than this command: check secret_key_file"
        }
        None if error == SECRETS_UNREADABLE || error == TokenError::LostKey.to_string() => {
            "the client must subscribe again"
        }
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::push::message::DeliveryDetails;
    use belfry_core::push::receiver::{ReceiverDocument, Subscription, SubscriptionSettings};
    use jiff::Timestamp;

    use super::*;

    fn receiver(protocol: Protocol) -> StoredReceiver {
        let document = ReceiverDocument::Subscription(Subscription {
            endpoint: String::new(),
            p256dh: String::new(),
            standard: true,
            settings: SubscriptionSettings::default(),
        });
        StoredReceiver {
            account_id: 1,
            id: 1,
            protocol,
            document,
            secrets: String::new(),
            origin: String::new(),
            vapid_key: None,
            pending_ack: None,
            created_at: Timestamp::UNIX_EPOCH,
            succeeded_at: None,
            failed_at: None,
            failure: None,
            denied_since: None,
            denied_count: 0,
        }
    }

    fn delivery(status: Option<i64>, error: &str) -> LoggedDelivery {
        LoggedDelivery {
            receiver_id: 1,
            event_id: String::new(),
            details: DeliveryDetails::default(),
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH,
            due_at: Timestamp::UNIX_EPOCH,
            attempts: 1,
            outcome: None,
            status,
            error: Some(error.to_owned()),
            finished_at: None,
        }
    }

    #[test]
    fn each_cause_has_its_advice() {
        for (status, error, protocol, advice) in [
            (None, "the host name cannot be resolved", Protocol::Mastodon, "check the DNS"),
            (None, "the server did not respond in time", Protocol::Gateway, "check that the fire"),
            (
                None,
                "its VAPID key was sealed with a different key",
                Protocol::Mastodon,
                "the client must subscribe again",
            ),
            (
                None,
                "its keys were sealed with a different key",
                Protocol::Gateway,
                "the client must subscribe again",
            ),
            (
                None,
                "it was sealed with a different key",
                Protocol::Mastodon,
                "the server uses a different sealing key",
            ),
            (
                None,
                "its VAPID key is not known yet",
                Protocol::Mastodon,
                "the server loads new keys",
            ),
            (None, "the message is too large", Protocol::WebPush, ""),
            (Some(403), "status 403", Protocol::WebPush, "if it affects all receivers"),
            (Some(403), "status 403", Protocol::Gateway, "check the URL of the push gateway"),
            (Some(404), "status 404", Protocol::Mastodon, "the client must subscribe again"),
            (Some(404), "status 404", Protocol::Gateway, "check the URL of the push gateway"),
            (
                Some(200),
                "the push gateway rejected the device",
                Protocol::Gateway,
                "the app must register its push key again",
            ),
            (Some(301), "status 301", Protocol::Gateway, "redirects are not followed"),
            (Some(429), "status 429", Protocol::Mastodon, "the push service limits the number"),
            (Some(500), "status 500", Protocol::Mastodon, "the push service has a problem"),
        ] {
            let given = advise_on_delivery(&delivery(status, error), &receiver(protocol));
            assert!(given.starts_with(advice), "{error}: {given}");
            assert_eq!(given.is_empty(), advice.is_empty(), "{error}: {given}");
        }
    }
}
