//! Sealing of the receivers' secrets, the content of messages and the private keys in the database.
//! A sealed value can be opened only for its own row.

use belfry_core::push::message::Message;
use belfry_core::push::receiver::ReceiverSecrets;
use belfry_runtime::sealing::SealingKey;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Seals the secrets of a receiver.
pub fn seal_secrets(
    key: &SealingKey,
    account_id: i64,
    receiver_id: i64,
    secrets: &ReceiverSecrets,
) -> String {
    seal_json(key, &receiver_context(account_id, receiver_id), secrets)
}

/// Opens the secrets of a receiver; `None` if they were sealed with a different key.
pub fn open_secrets(
    key: &SealingKey,
    account_id: i64,
    receiver_id: i64,
    sealed: &str,
) -> Option<ReceiverSecrets> {
    open_json(key, &receiver_context(account_id, receiver_id), sealed)
}

/// Seals the content of a message.
pub fn seal_message(key: &SealingKey, message_id: &str, message: &Message) -> String {
    seal_json(key, &message_context(message_id), message)
}

/// Opens the content of a message; `None` if it was sealed with a different key.
pub fn open_message(key: &SealingKey, message_id: &str, sealed: &str) -> Option<Message> {
    open_json(key, &message_context(message_id), sealed)
}

/// Seals the PKCS #8 document of a VAPID key.
pub(crate) fn seal_vapid_key(key: &SealingKey, public_key: &str, document: &[u8]) -> String {
    key.seal(&vapid_context(public_key), document)
}

/// Opens the PKCS #8 document of a VAPID key; `None` if it was sealed with a different key.
pub(crate) fn open_vapid_key(key: &SealingKey, public_key: &str, sealed: &str) -> Option<Vec<u8>> {
    key.open(&vapid_context(public_key), sealed)
}

fn receiver_context(account_id: i64, receiver_id: i64) -> String {
    format!("receiver {account_id} {receiver_id}")
}

fn message_context(message_id: &str) -> String {
    format!("message {message_id}")
}

fn vapid_context(public_key: &str) -> String {
    format!("vapid {public_key}")
}

fn seal_json(key: &SealingKey, context: &str, value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("the keys of all maps are strings");
    key.seal(context, &json)
}

fn open_json<T: DeserializeOwned>(key: &SealingKey, context: &str, sealed: &str) -> Option<T> {
    serde_json::from_slice(&key.open(context, sealed)?).ok()
}
