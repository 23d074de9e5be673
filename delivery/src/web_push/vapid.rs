//! VAPID (RFC 8292): the key that identifies the sender of messages to push services.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;
use thiserror::Error;

use super::encryption::ContentEncoding;

/// The lifetime of a token. Push services reject more than 24 hours.
pub(crate) const TOKEN_LIFETIME: SignedDuration = SignedDuration::from_hours(12);

/// A key pair of this installation, which signs tokens.
pub struct VapidKey {
    pair: EcdsaKeyPair,
    /// The public key in base64url.
    public_key: String,
}

/// The error of a key that cannot be created, read or used to sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the VAPID key cannot be created, read or used to sign")]
pub struct VapidKeyError;

/// A signed token that identifies the sender to the push service of one origin.
#[derive(Clone)]
pub struct VapidToken {
    token: String,
    public_key: String,
    /// Time at which the token expires.
    pub expires_at: Timestamp,
}

impl VapidKey {
    /// Creates a key. Returns its PKCS #8 document, which is secret.
    pub fn generate_pkcs8() -> Result<Vec<u8>, VapidKeyError> {
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Ok(document.map_err(|_| VapidKeyError)?.as_ref().to_vec())
    }

    /// Reads a key from its PKCS #8 document.
    pub fn from_pkcs8(document: &[u8]) -> Result<Self, VapidKeyError> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document, &random);
        let pair = pair.map_err(|_| VapidKeyError)?;
        let public_key = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        Ok(Self { pair, public_key })
    }

    /// Returns the public key in base64url. Clients subscribe with it.
    pub fn public_key(&self) -> &str {
        &self.public_key
    }

    /// Signs a token for an origin such as `https://push.example`. `contact` is a `mailto:` or
    /// `https:` URL of the operator.
    pub fn sign(
        &self,
        origin: &str,
        contact: &str,
        now: Timestamp,
    ) -> Result<VapidToken, VapidKeyError> {
        let expires_at = now.as_second() + TOKEN_LIFETIME.as_secs();
        let claims = json!({ "aud": origin, "exp": expires_at, "sub": contact });
        let parts = [json!({ "typ": "JWT", "alg": "ES256" }), claims];
        let [header, claims] = parts.map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.map_err(|_| VapidKeyError)?);
        Ok(VapidToken {
            token: format!("{signed}.{signature}"),
            public_key: self.public_key.clone(),
            expires_at: Timestamp::from_second(expires_at).map_err(|_| VapidKeyError)?,
        })
    }
}

impl VapidToken {
    /// Returns the value of the `Authorization` header.
    pub fn authorization(&self, encoding: ContentEncoding) -> String {
        match encoding {
            ContentEncoding::Aes128Gcm => format!("vapid t={}, k={}", self.token, self.public_key),
            ContentEncoding::AesGcm => format!("WebPush {}", self.token),
        }
    }
}

impl fmt::Debug for VapidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VapidKey").field("public_key", &self.public_key).finish_non_exhaustive()
    }
}

impl fmt::Debug for VapidToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VapidToken").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    fn decode(text: &str) -> Vec<u8> {
        BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn a_token_is_signed_for_one_origin_and_twelve_hours() {
        let key = VapidKey::from_pkcs8(&VapidKey::generate_pkcs8().unwrap()).unwrap();
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let token = key.sign("https://push.example", "mailto:admin@ring.example", now).unwrap();
        assert_eq!(token.expires_at.as_second(), 1_800_043_200);
        let parts: Vec<&str> = token.token.split('.').collect();
        let [header, claims, signature] = parts[..] else { panic!("{parts:?}") };
        let parse = |part: &str| serde_json::from_slice::<Value>(&decode(part)).unwrap();
        assert_eq!(parse(header), json!({ "typ": "JWT", "alg": "ES256" }));
        let expected = json!({
            "aud": "https://push.example",
            "exp": 1_800_043_200,
            "sub": "mailto:admin@ring.example"
        });
        assert_eq!(parse(claims), expected);
        let public_key = decode(key.public_key());
        assert_eq!((public_key.len(), public_key[0]), (65, 4), "uncompressed");
        let public_key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public_key);
        let signed = format!("{header}.{claims}");
        public_key.verify(signed.as_bytes(), &decode(signature)).unwrap();
        let standard = format!("vapid t={}, k={}", token.token, key.public_key());
        assert_eq!(token.authorization(ContentEncoding::Aes128Gcm), standard);
        assert_eq!(
            token.authorization(ContentEncoding::AesGcm),
            format!("WebPush {}", token.token)
        );
        assert!(!format!("{token:?}").contains(&token.token), "a secret");
    }

    #[test]
    fn a_stored_key_is_read_unless_it_is_damaged() {
        let document = VapidKey::generate_pkcs8().unwrap();
        let [one, two] = [(); 2].map(|()| VapidKey::from_pkcs8(&document).unwrap());
        assert_eq!(one.public_key(), two.public_key());
        assert_eq!(VapidKey::from_pkcs8(&document[1..]).err(), Some(VapidKeyError));
        assert_eq!(VapidKey::from_pkcs8(&[]).err(), Some(VapidKeyError));
    }
}
