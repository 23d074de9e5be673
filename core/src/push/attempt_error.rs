//! The reasons why a message is not delivered.

use serde::{Serialize, Serializer};
use thiserror::Error;

/// Defines [`AttemptError`] by the code and the sentence of each variant.
macro_rules! attempt_errors {
    ($($(#[$doc:meta])* $variant:ident = $code:literal $sentence:literal,)*) => {
        /// The reason why an attempt to send a message failed, or why none was made. Stored by its code and displayed as
        /// a sentence. Contains neither data from the other server nor resolved addresses, so it
        /// can be shown to users.
        #[derive(Debug, Clone, PartialEq, Eq, Error)]
        pub enum AttemptError {
            $($(#[$doc])* #[error($sentence)] $variant,)*
            #[error("status {0}")]
            Status(u16),
            /// A code that a different version has stored.
            #[error("{0}")]
            Unknown(String),
        }

        impl AttemptError {
            /// Returns the stored form.
            pub fn to_code(&self) -> String {
                match self {
                    $(Self::$variant => $code.to_owned(),)*
                    Self::Status(status) => format!("status {status}"),
                    Self::Unknown(code) => code.clone(),
                }
            }

            /// Returns the error with this stored form.
            pub fn from_code(code: &str) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    _ => {
                        let status = code.strip_prefix("status ").and_then(|s| s.parse().ok());
                        status.map_or_else(|| Self::Unknown(code.to_owned()), Self::Status)
                    }
                }
            }

            #[cfg(test)]
            const WITHOUT_VALUE: &[Self] = &[$(Self::$variant),*];
        }
    };
}

attempt_errors! {
    /// The client has disabled the pusher since the message was accepted.
    Disabled = "disabled" "the client has disabled the pusher",
    /// The URL was accepted when the receiver was registered, but no longer is.
    Url = "url" "the URL is not permitted any more",
    MessageSealingKey = "message_sealing_key" "the message was sealed with a different sealing key",
    /// The receiver's secrets were sealed by a node with a different sealing key.
    SecretsSealingKey = "secrets_sealing_key"
        "the receiver's secrets were sealed with a different sealing key",
    /// The VAPID key with which the receiver was registered cannot be opened.
    VapidSealingKey = "vapid_sealing_key"
        "the receiver's VAPID key was sealed with a different sealing key",
    /// Another node has just added the VAPID key.
    VapidKeyUnknown = "vapid_key_unknown" "the receiver's VAPID key is not known yet",
    /// The JSON of the message or of the receiver's secrets has a different form. A newer version may
    /// have stored it.
    Malformed = "malformed" "this version cannot read the message or the receiver's secrets",
    /// The client's public key or `auth` is invalid.
    ReceiverKeys = "receiver_keys" "the receiver's keys are invalid",
    /// Receivers of this kind do not get such messages.
    ReceiverKind = "receiver_kind" "the message is not for this kind of receiver",
    TooLarge = "too_large" "the message is too large",
    /// The message cannot be encrypted or signed, for example because the operating system provides
    /// no randomness.
    Encryption = "encryption" "the message cannot be encrypted",
    /// Nothing was sent, because an address of the host is forbidden.
    ForbiddenAddress = "forbidden_address" "the address is in a private or reserved network",
    /// Nothing was sent, because this node's limit of connections, to the address or in total, or
    /// its limit of lookups was reached.
    Busy = "busy" "this server has reached its limit of connections",
    /// The name has no addresses, or the name server does not respond.
    Dns = "dns" "the host name cannot be resolved",
    /// No address of the host accepts connections.
    Refused = "refused" "the server does not accept connections",
    Tls = "tls" "no TLS connection to the server is possible",
    /// The server's certificate has expired, is for a different name, or was issued by an unknown
    /// authority.
    Certificate = "certificate" "the server's certificate is not valid",
    /// The server has accepted a connection, but the response did not begin in time.
    Timeout = "timeout" "the server did not respond in time",
    /// The server closed the connection or sent an invalid response, for example with too many
    /// headers.
    Protocol = "protocol" "the server did not send a valid response",
    /// The server has certainly not processed the request, for example because it is shutting down.
    StreamRefused = "stream_refused" "the server refused the stream",
    PushKeyRejected = "push_key_rejected" "the push gateway rejected the device",
    /// Nothing was sent: a newer message of its topic was accepted for the receiver.
    Replaced = "replaced" "replaced by a newer message of its topic",
    /// Nothing was sent, because the product reported that the user has read the message.
    ReadElsewhere = "read_elsewhere" "read elsewhere",
}

impl AttemptError {
    /// Returns the error as the owner of the receiver may see it. A forbidden address is the same as
    /// a name without addresses, so that users cannot find names in the operator's network.
    pub fn for_owner(&self) -> &Self {
        match self {
            Self::ForbiddenAddress => &Self::Dns,
            error => error,
        }
    }
}

impl Serialize for AttemptError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_error_is_read_back() {
        let others = [AttemptError::Status(503), AttemptError::Unknown("of later".to_owned())];
        for error in AttemptError::WITHOUT_VALUE.iter().chain(&others) {
            assert_eq!(AttemptError::from_code(&error.to_code()), *error);
        }
        let unknown = AttemptError::from_code("status x");
        assert_eq!(unknown, AttemptError::Unknown("status x".to_owned()));
        assert_eq!(unknown.to_string(), "status x", "shown as it is");
    }
}
