//! JSON Web Tokens (RFC 7519), signed with ES256 (RFC 7518, section 3.4).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

pub struct SigningKey {
    pair: EcdsaKeyPair,
    /// The public key in base64url.
    public_key: String,
}

/// The error of a key that cannot be created, read or used to sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signing key cannot be created, read or used to sign")]
pub struct SigningKeyError;

impl SigningKey {
    /// Creates a key. Returns its PKCS #8 document, which is secret.
    pub fn generate_pkcs8() -> Result<Vec<u8>, SigningKeyError> {
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Ok(document.map_err(|_| SigningKeyError)?.as_ref().to_vec())
    }

    /// Reads a key from its PKCS #8 document.
    pub fn from_pkcs8(document: &[u8]) -> Result<Self, SigningKeyError> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document, &SystemRandom::new())
            .map_err(|_| SigningKeyError)?;
        let public_key = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        Ok(Self { pair, public_key })
    }

    /// Returns the uncompressed public key in base64url.
    pub fn public_key(&self) -> &str {
        &self.public_key
    }

    pub fn sign(&self, claims: &Value) -> Result<String, SigningKeyError> {
        let header = json!({ "typ": "JWT", "alg": "ES256" });
        let [header, claims] =
            [&header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.map_err(|_| SigningKeyError)?);
        Ok(format!("{signed}.{signature}"))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("public_key", &self.public_key).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    fn decode(text: &str) -> Vec<u8> {
        BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn a_token_has_the_claims_and_a_valid_signature() {
        let key = SigningKey::from_pkcs8(&SigningKey::generate_pkcs8().unwrap()).unwrap();
        let token = key.sign(&json!({ "sub": "a" })).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let [header, claims, signature] = parts[..] else { panic!("{parts:?}") };
        let parse = |part: &str| serde_json::from_slice::<Value>(&decode(part)).unwrap();
        assert_eq!(parse(header), json!({ "typ": "JWT", "alg": "ES256" }));
        assert_eq!(parse(claims), json!({ "sub": "a" }));
        let public_key = decode(key.public_key());
        assert_eq!((public_key.len(), public_key[0]), (65, 4), "uncompressed");
        let public_key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public_key);
        public_key.verify(format!("{header}.{claims}").as_bytes(), &decode(signature)).unwrap();
    }

    #[test]
    fn a_stored_key_is_read_unless_it_is_damaged() {
        let document = SigningKey::generate_pkcs8().unwrap();
        let [one, two] = [(); 2].map(|()| SigningKey::from_pkcs8(&document).unwrap());
        assert_eq!(one.public_key(), two.public_key());
        for damaged in [&document[1..], &[]] {
            assert_eq!(SigningKey::from_pkcs8(damaged).err(), Some(SigningKeyError));
        }
        let debug_output = format!("{one:?}");
        assert!(debug_output.contains(one.public_key()) && !debug_output.contains("pair"));
    }
}
