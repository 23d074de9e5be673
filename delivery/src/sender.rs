//! One attempt to send a message to a receiver.

use std::sync::Arc;
use std::time::{Duration, Instant};

use belfry_core::push::address::PushAddressPolicy;
use belfry_core::push::answer::{Verdict, parse_retry_after};
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::Endpoint;
use belfry_core::push::keys::WebPushKeys;
use belfry_core::push::message::Message;
use belfry_core::push::receiver::{PusherKind, ReceiverDocument};
use belfry_runtime::clock::Clock;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{ClaimedDelivery, Receiver};
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, InvalidHeaderValue, RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, Version};
use jiff::Timestamp;

use crate::outbound::OutboundClient;
use crate::sealed::{open_message, open_secrets};
use crate::vapid_keys::VapidKeys;
use crate::web_push::encryption::{ContentEncoding, encrypt};

const TTL: HeaderName = HeaderName::from_static("ttl");
const TOPIC: HeaderName = HeaderName::from_static("topic");
const URGENCY: HeaderName = HeaderName::from_static("urgency");
const ENCRYPTION: HeaderName = HeaderName::from_static("encryption");
const CRYPTO_KEY: HeaderName = HeaderName::from_static("crypto-key");

pub struct Sender {
    /// The client for all connections to other servers.
    pub client: OutboundClient,
    /// The addresses to which messages may be sent.
    pub address_policy: PushAddressPolicy,
    /// Opens messages and the secrets of receivers.
    pub sealing_key: SealingKey,
    /// The keys that identify this server to push services.
    pub vapid_keys: Arc<VapidKeys>,
    pub clock: Arc<dyn Clock>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) verdict: Verdict,
    /// The pause that the server requests before the next message (`Retry-After`).
    pub(crate) retry_after: Option<Duration>,
    /// The status of the response, if there was one.
    pub(crate) status: Option<u16>,
    /// Why the message was not accepted.
    pub(crate) error: Option<AttemptError>,
    /// Time until the end of the response.
    pub(crate) duration: Duration,
    pub(crate) is_http1: bool,
}

impl Attempt {
    /// Derives the result from an error without a response.
    fn from_error(error: AttemptError) -> Self {
        Self {
            verdict: verdict_without_response(&error),
            retry_after: None,
            status: None,
            error: Some(error),
            duration: Duration::ZERO,
            is_http1: false,
        }
    }

    fn from_response(response: &Response<Bytes>, receiver: &Receiver, now: Timestamp) -> Self {
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after =
            retry_after.and_then(|value| parse_retry_after(value.to_str().ok()?, now));
        let verdict = Verdict::new(&receiver.document, status, response.body());
        let error = match verdict {
            Verdict::Delivered => None,
            Verdict::ReceiverGone if response.status().is_success() => {
                Some(AttemptError::PushKeyRejected)
            }
            _ => Some(AttemptError::Status(status)),
        };
        Self {
            verdict,
            retry_after,
            status: Some(status),
            error,
            duration: Duration::ZERO,
            is_http1: response.version() < Version::HTTP_2,
        }
    }
}

struct PreparedRequest {
    endpoint: Endpoint,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Sender {
    /// Sends a message once. `is_proven` says whether the origin has accepted a message before.
    /// Returns the delivery with the result, without the content, which would otherwise occupy
    /// memory until the result is stored.
    pub(crate) async fn send(
        &self,
        mut delivery: ClaimedDelivery,
        is_proven: bool,
    ) -> (ClaimedDelivery, Attempt) {
        let now = self.clock.now();
        let start = Instant::now();
        let request = self.prepare(&delivery, now);
        delivery.content = String::new();
        let response = match request {
            Ok(PreparedRequest { endpoint, headers, body }) => {
                self.client.post(&endpoint, headers, body.into(), is_proven).await
            }
            Err(error) => Err(error),
        };
        let mut attempt = match response {
            Ok(response) => Attempt::from_response(&response, &delivery.receiver, self.clock.now()),
            Err(error) => Attempt::from_error(error),
        };
        attempt.duration = start.elapsed();
        (delivery, attempt)
    }

    fn prepare(
        &self,
        delivery: &ClaimedDelivery,
        now: Timestamp,
    ) -> Result<PreparedRequest, AttemptError> {
        let receiver = &delivery.receiver;
        let endpoint = Endpoint::parse(receiver.document.endpoint(), &self.address_policy)
            .map_err(|_| AttemptError::Url)?;
        let message = open_message(&self.sealing_key, &delivery.key.message_id, &delivery.content)?;
        if !receiver.document.is_enabled() && !matches!(message, Message::Ack { .. }) {
            return Err(AttemptError::Disabled);
        }
        let details = &delivery.details;
        match &receiver.document {
            ReceiverDocument::Pusher(pusher) if pusher.kind == PusherKind::Http => {
                let body = message.gateway_body(pusher, receiver.created_at, details);
                let body = body.ok_or(AttemptError::ReceiverKind)?;
                let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
                Ok(PreparedRequest { endpoint, headers: headers.into_iter().collect(), body })
            }
            _ => self.prepare_web_push(delivery, endpoint, &message, now),
        }
    }

    fn prepare_web_push(
        &self,
        delivery: &ClaimedDelivery,
        endpoint: Endpoint,
        message: &Message,
        now: Timestamp,
    ) -> Result<PreparedRequest, AttemptError> {
        let ClaimedDelivery { receiver, details, topic, expires_at, .. } = delivery;
        let ttl = expires_at.duration_since(now).as_secs().max(0);
        let vapid_key = receiver.vapid_key.as_deref().unwrap_or_default();
        let vapid_token = self.vapid_keys.token(&endpoint.serialized_origin(), vapid_key, now)?;
        let secrets =
            open_secrets(&self.sealing_key, receiver.account_id, receiver.id, &receiver.secrets)?;
        let (plaintext, public_key, encoding) = match &receiver.document {
            ReceiverDocument::Pusher(pusher) => (
                message.web_push_body(pusher, details),
                &pusher.pushkey,
                ContentEncoding::Aes128Gcm,
            ),
            ReceiverDocument::Subscription(subscription) => {
                let access_token = secrets.access_token.as_deref().unwrap_or_default();
                let encoding = if subscription.standard {
                    ContentEncoding::Aes128Gcm
                } else {
                    ContentEncoding::AesGcm
                };
                (message.mastodon_body(access_token), &subscription.p256dh, encoding)
            }
        };
        let plaintext = plaintext.ok_or(AttemptError::ReceiverKind)?;
        let auth = secrets.auth.as_deref().unwrap_or_default();
        let receiver_keys =
            WebPushKeys::parse(public_key, auth).map_err(|_| AttemptError::ReceiverKeys)?;
        let encrypted = encrypt(encoding, &receiver_keys, &plaintext)?;
        let mut headers = vec![
            (CONTENT_TYPE, "application/octet-stream".to_owned()),
            (TTL, ttl.to_string()),
            (URGENCY, message.urgency(details).header_value().to_owned()),
            (AUTHORIZATION, vapid_token.authorization(encoding)),
        ];
        headers.extend(topic.clone().map(|topic| (TOPIC, topic)));
        match encrypted.aes_gcm_headers {
            None => headers.push((CONTENT_ENCODING, "aes128gcm".to_owned())),
            Some(values) => headers.extend([
                (CONTENT_ENCODING, "aesgcm".to_owned()),
                (ENCRYPTION, format!("salt={}", values.salt)),
                (CRYPTO_KEY, format!("dh={};p256ecdsa={vapid_key}", values.public_key)),
            ]),
        }
        let to_header = |(name, value): (HeaderName, String)| Ok((name, value.parse()?));
        let headers: Result<HeaderMap, InvalidHeaderValue> =
            headers.into_iter().map(to_header).collect();
        let headers = headers.map_err(|_| AttemptError::Encryption)?;
        Ok(PreparedRequest { endpoint, headers, body: encrypted.body })
    }
}

/// Returns the consequence of an attempt without a response.
fn verdict_without_response(error: &AttemptError) -> Verdict {
    use AttemptError as E;
    match error {
        // No later attempt can reach the receiver.
        E::ReceiverKeys => Verdict::ReceiverGone,
        E::Disabled | E::Url | E::ReceiverKind | E::TooLarge => Verdict::Dropped,
        // Another node or a later attempt may succeed: even a forbidden address may only be that of
        // one lookup. A sealing key may be put back, so its loss deletes nothing.
        E::SecretsSealingKey
        | E::VapidSealingKey
        | E::MessageSealingKey
        | E::Malformed
        | E::VapidKeyUnknown
        | E::Encryption
        | E::ForbiddenAddress
        | E::PushKeyRejected
        | E::Replaced
        | E::ReadElsewhere
        | E::Status(_)
        | E::Unknown(_) => Verdict::Retry,
        E::Dns | E::Refused | E::Tls | E::Certificate => Verdict::OriginUnavailable,
        E::Timeout | E::Protocol => Verdict::NoResponse,
        E::Busy | E::StreamRefused => Verdict::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_different_sealing_key_deletes_no_receiver() {
        use AttemptError as E;
        assert_eq!(verdict_without_response(&E::ReceiverKeys), Verdict::ReceiverGone);
        for error in [E::SecretsSealingKey, E::VapidSealingKey, E::MessageSealingKey] {
            assert_eq!(verdict_without_response(&error), Verdict::Retry, "{error}");
        }
    }
}
