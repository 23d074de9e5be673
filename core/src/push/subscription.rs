//! Requests of Mastodon clients that create or change a subscription.

use serde_json::Value;
use thiserror::Error;

use super::address::PushAddressPolicy;
use super::endpoint::{Endpoint, EndpointError};
use super::keys::{InvalidKey, WebPushKeys};
use super::receiver::{
    Policy, ReceiverDocument, ReceiverSecrets, Subscription, SubscriptionSettings,
};
use crate::form::{self, FormError, Pairs};
use crate::secret::Secret;

pub const NOTIFICATION_TYPES: [&str; 12] = [
    "mention",
    "status",
    "reblog",
    "follow",
    "follow_request",
    "favourite",
    "poll",
    "update",
    "quote",
    "quoted_update",
    "admin.sign_up",
    "admin.report",
];

const ENDPOINT: &str = "subscription[endpoint]";
const PUBLIC_KEY: &str = "subscription[keys][p256dh]";
const AUTH: &str = "subscription[keys][auth]";
const STANDARD: &str = "subscription[standard]";
const POLICY: &str = "data[policy]";
/// The name under which Mastodon.py sends the policy.
const TOP_LEVEL_POLICY: &str = "policy";

pub struct SubscriptionRequest {
    pub endpoint: Endpoint,
    pub keys: WebPushKeys,
    pub subscription: Subscription,
}

/// The reason a subscription is rejected, worded as in Mastodon.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SubscriptionError {
    #[error("Validation failed: Endpoint can't be blank")]
    EndpointBlank,
    #[error("Validation failed: Endpoint is invalid: {0}")]
    Endpoint(#[from] EndpointError),
    #[error("Validation failed: Key p256dh can't be blank")]
    PublicKeyBlank,
    #[error("Validation failed: Key auth can't be blank")]
    AuthBlank,
    #[error("Validation failed: Key {0}")]
    Key(#[from] InvalidKey),
    #[error("Validation failed: Policy must be all, followed, follower or none")]
    Policy,
}

/// The relationship between the account and the person who caused a notification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Relationship {
    pub followed: bool,
    pub follower: bool,
}

impl SubscriptionRequest {
    /// Reads and validates the fields of a form.
    pub fn from_pairs(
        pairs: &Pairs,
        address_policy: &PushAddressPolicy,
    ) -> Result<Self, SubscriptionError> {
        let required_value = |name: &str, error: SubscriptionError| {
            Some(form::last_value(pairs, name)).filter(|value| !value.is_empty()).ok_or(error)
        };
        let endpoint = required_value(ENDPOINT, SubscriptionError::EndpointBlank)?;
        let public_key = required_value(PUBLIC_KEY, SubscriptionError::PublicKeyBlank)?;
        let auth = required_value(AUTH, SubscriptionError::AuthBlank)?;
        let endpoint = Endpoint::parse(endpoint, address_policy)?;
        let keys = WebPushKeys::parse(public_key, auth)?;
        let subscription = Subscription {
            endpoint: endpoint.url().to_string(),
            p256dh: keys.public_key_text(),
            standard: is_true(form::last_value(pairs, STANDARD)),
            settings: SubscriptionSettings::from_pairs(pairs)?,
        };
        Ok(Self { endpoint, keys, subscription })
    }

    /// Returns the two stored parts of the receiver. `access_token` is that of the request.
    pub fn into_receiver(self, access_token: &Secret) -> (ReceiverDocument, ReceiverSecrets) {
        let secrets = ReceiverSecrets {
            auth: Some(self.keys.auth_text()),
            access_token: Some(access_token.reveal().to_owned()),
        };
        (ReceiverDocument::Subscription(self.subscription), secrets)
    }
}

impl SubscriptionSettings {
    /// Reads and validates the settings in the fields of a form. Unknown notification types are
    /// ignored.
    pub fn from_pairs(pairs: &Pairs) -> Result<Self, SubscriptionError> {
        let mut settings = Self::default();
        for (name, value) in pairs {
            let notification_type = name.strip_prefix("data[alerts][").and_then(|name| {
                let name = name.strip_suffix(']')?;
                NOTIFICATION_TYPES.into_iter().find(|known_type| *known_type == name)
            });
            if let Some(notification_type) = notification_type {
                settings.alerts.insert(notification_type.to_owned(), is_true(value));
            }
        }
        let policies = [POLICY, TOP_LEVEL_POLICY].map(|name| form::last_value(pairs, name));
        if let Some(policy) = policies.into_iter().find(|policy| !policy.is_empty()) {
            settings.policy = Policy::from_name(policy).ok_or(SubscriptionError::Policy)?;
        }
        Ok(settings)
    }

    /// Returns whether the client gets notifications of this type from a person with this
    /// relationship to the account.
    pub fn allows(&self, notification_type: &str, relationship: Relationship) -> bool {
        let is_on = self.alerts.get(notification_type).copied().unwrap_or_default();
        is_on
            && match self.policy {
                Policy::All => true,
                Policy::Followed => relationship.followed,
                Policy::Follower => relationship.follower,
                Policy::None => false,
            }
    }
}

/// Converts the JSON body of a request to form fields. Unknown members are ignored.
pub fn pairs_from_json(json: &Value) -> Result<Pairs, FormError> {
    if !json.is_object() {
        return Err(FormError::NotAnObject);
    }
    let alerts = NOTIFICATION_TYPES.map(|name| format!("data[alerts][{name}]"));
    let other_names = [ENDPOINT, PUBLIC_KEY, AUTH, STANDARD, POLICY, TOP_LEVEL_POLICY];
    let mut pairs = Vec::new();
    for name in other_names.map(str::to_owned).into_iter().chain(alerts) {
        // `subscription[keys][auth]` is `/subscription/keys/auth`.
        let pointer = format!("/{}", name.replace('[', "/").replace(']', ""));
        if let Some(value) = json.pointer(&pointer) {
            pairs.extend(form::scalar_text(value.clone())?.map(|text| (name, text)));
        }
    }
    form::reject_nul(pairs)
}

/// Parses a flag as Mastodon does: everything except these values is true.
fn is_true(text: &str) -> bool {
    !matches!(text, "" | "0" | "f" | "F" | "false" | "FALSE" | "off" | "OFF")
}

#[cfg(test)]
mod tests;
