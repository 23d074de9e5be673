//! Encryption of the receivers' secrets and the content of messages in the database with the sealing
//! key. A sealed value can be opened only for its own row.

use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::message::Message;
use belfry_core::push::receiver::ReceiverSecrets;
use belfry_runtime::sealing::SealingKey;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub fn seal_secrets(
    key: &SealingKey,
    account_id: i64,
    receiver_id: i64,
    secrets: &ReceiverSecrets,
) -> String {
    seal_json(key, &receiver_context(account_id, receiver_id), secrets)
}

/// Opens the secrets of a receiver. Fails with [`AttemptError::SecretsSealingKey`] if they were
/// sealed with a different sealing key.
pub fn open_secrets(
    key: &SealingKey,
    account_id: i64,
    receiver_id: i64,
    sealed: &str,
) -> Result<ReceiverSecrets, AttemptError> {
    let json = key.open(&receiver_context(account_id, receiver_id), sealed);
    parse_json(&json.ok_or(AttemptError::SecretsSealingKey)?)
}

pub fn seal_message(key: &SealingKey, message_id: &str, message: &Message) -> String {
    seal_json(key, &message_context(message_id), message)
}

/// Opens the content of a message. Fails with [`AttemptError::MessageSealingKey`] if it was sealed
/// with a different sealing key.
pub fn open_message(
    key: &SealingKey,
    message_id: &str,
    sealed: &str,
) -> Result<Message, AttemptError> {
    let json = key.open(&message_context(message_id), sealed);
    parse_json(&json.ok_or(AttemptError::MessageSealingKey)?)
}

fn receiver_context(account_id: i64, receiver_id: i64) -> String {
    format!("receiver {account_id} {receiver_id}")
}

fn message_context(message_id: &str) -> String {
    format!("message {message_id}")
}

fn seal_json(key: &SealingKey, context: &str, value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("the keys of all maps are strings");
    key.seal(context, &json)
}

fn parse_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, AttemptError> {
    serde_json::from_slice(json).map_err(|_| AttemptError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_a_different_version_is_distinguished_from_a_different_sealing_key() {
        let key = SealingKey::random();
        let other_key = SealingKey::random();
        let secrets = ReceiverSecrets { auth: Some("auth".to_owned()), ..Default::default() };
        let sealed = seal_secrets(&key, 1, 2, &secrets);
        assert_eq!(open_secrets(&key, 1, 2, &sealed), Ok(secrets));
        for (key, receiver_id) in [(&other_key, 2), (&key, 3)] {
            let result = open_secrets(key, 1, receiver_id, &sealed);
            assert_eq!(result, Err(AttemptError::SecretsSealingKey));
        }
        let later_form = seal_json(&key, &receiver_context(1, 2), &["later"]);
        assert_eq!(open_secrets(&key, 1, 2, &later_form), Err(AttemptError::Malformed));

        let message = Message::Ack { app_id: "app".to_owned(), ack_token: "token".to_owned() };
        let sealed = seal_message(&key, "id", &message);
        assert_eq!(open_message(&key, "id", &sealed), Ok(message));
        let result = open_message(&other_key, "id", &sealed);
        assert_eq!(result, Err(AttemptError::MessageSealingKey));
        let later_form = seal_json(&key, &message_context("id"), &["later"]);
        assert_eq!(open_message(&key, "id", &later_form), Err(AttemptError::Malformed));
    }
}
