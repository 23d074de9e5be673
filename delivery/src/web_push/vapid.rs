//! VAPID (RFC 8292): signed tokens that identify the sender of messages to push services.

use belfry_runtime::jwt::{SigningKey, SigningKeyError};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::encryption::ContentEncoding;

/// The lifetime of a token. Push services reject more than 24 hours.
pub(crate) const TOKEN_LIFETIME: SignedDuration = SignedDuration::from_hours(12);

/// A signed token that identifies the sender to the push service of one origin. Not `Debug`, because
/// it is secret.
pub struct VapidToken {
    token: String,
    public_key: String,
    pub expires_at: Timestamp,
}

impl VapidToken {
    /// Signs a token for an origin such as `https://push.example`. `contact` is a `mailto:` or
    /// `https:` URL of the operator.
    pub fn sign(
        key: &SigningKey,
        origin: &str,
        contact: &str,
        now: Timestamp,
    ) -> Result<Self, SigningKeyError> {
        let expires_at = now.checked_add(TOKEN_LIFETIME).map_err(|_| SigningKeyError)?;
        let claims = json!({ "aud": origin, "exp": expires_at.as_second(), "sub": contact });
        Ok(Self { token: key.sign(&claims)?, public_key: key.public_key().to_owned(), expires_at })
    }

    /// Returns the value of the `Authorization` header.
    pub fn authorization(&self, encoding: ContentEncoding) -> String {
        match encoding {
            ContentEncoding::Aes128Gcm => format!("vapid t={}, k={}", self.token, self.public_key),
            ContentEncoding::AesGcm => format!("WebPush {}", self.token),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_token_is_signed_for_one_origin_and_twelve_hours() {
        let key = SigningKey::from_pkcs8(&SigningKey::generate_pkcs8().unwrap()).unwrap();
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let contact = "mailto:admin@ring.example";
        let token = VapidToken::sign(&key, "https://push.example", contact, now).unwrap();
        assert_eq!(token.expires_at.as_second(), 1_800_043_200);
        let claims = BASE64_URL_SAFE_NO_PAD.decode(token.token.split('.').nth(1).unwrap()).unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(&claims).unwrap(),
            json!({ "aud": "https://push.example", "exp": 1_800_043_200, "sub": contact })
        );
        let standard = format!("vapid t={}, k={}", token.token, key.public_key());
        assert_eq!(token.authorization(ContentEncoding::Aes128Gcm), standard);
        assert_eq!(
            token.authorization(ContentEncoding::AesGcm),
            format!("WebPush {}", token.token)
        );
    }
}
