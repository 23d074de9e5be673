//! The client's keys for the encryption of Web Push messages.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use thiserror::Error;

/// Accepts base64 with and without padding.
const ANY_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// A client's keys. Not `Debug`, because `auth` is secret.
#[derive(Clone, PartialEq, Eq)]
pub struct WebPushKeys {
    /// The public key (`p256dh`) in the uncompressed form. Only encryption checks that it is a
    /// point of the curve.
    pub public_key: [u8; 65],
    /// The secret that the client shares with the server (`auth`).
    pub auth: [u8; 16],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidKey {
    #[error("p256dh must be the base64url of an uncompressed P-256 public key (65 bytes)")]
    PublicKey,
    #[error("auth must be the base64url of 16 bytes")]
    Auth,
}

impl WebPushKeys {
    /// Parses keys in base64 or base64url, with or without padding.
    pub fn parse(public_key: &str, auth: &str) -> Result<Self, InvalidKey> {
        let public_key: [u8; 65] = decode(public_key).ok_or(InvalidKey::PublicKey)?;
        if public_key[0] != 4 {
            return Err(InvalidKey::PublicKey);
        }
        Ok(Self { public_key, auth: decode(auth).ok_or(InvalidKey::Auth)? })
    }

    /// Returns the public key in base64url.
    pub fn public_key_text(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.public_key)
    }

    /// Returns the secret in base64url.
    pub fn auth_text(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.auth)
    }
}

fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let alphabet = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    let bytes = GeneralPurpose::new(&alphabet, ANY_PADDING).decode(text).ok()?;
    bytes.try_into().ok()
}

#[cfg(test)]
pub(super) mod tests {
    use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE};
    use proptest::prelude::*;

    use super::*;

    /// Returns keys whose base64 contains `+` and `/`.
    pub(in crate::push) fn example_keys() -> WebPushKeys {
        let mut public_key = [0xfb; 65];
        public_key[0] = 4;
        WebPushKeys { public_key, auth: [0xff; 16] }
    }

    #[test]
    fn keys_are_parsed_in_every_variant_of_base64() {
        let keys = example_keys();
        for engine in
            [&BASE64_STANDARD, &BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE, &BASE64_URL_SAFE_NO_PAD]
        {
            let public_key = engine.encode(keys.public_key);
            let auth = engine.encode(keys.auth);
            assert!(WebPushKeys::parse(&public_key, &auth) == Ok(keys.clone()), "{public_key}");
        }
        assert!(WebPushKeys::parse(&keys.public_key_text(), &keys.auth_text()) == Ok(keys));
    }

    #[test]
    fn keys_of_other_lengths_and_forms_are_rejected() {
        let keys = example_keys();
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let compressed = encode(&[&[2][..], &keys.public_key[1..33]].concat());
        let wrong_prefix = encode(&[&[5][..], &keys.public_key[1..]].concat());
        let too_short = encode(&keys.public_key[..64]);
        let too_long = encode(&[&keys.public_key[..], &[0]].concat());
        for public_key in ["", "=", "é", "a b", &compressed, &wrong_prefix, &too_short, &too_long]
        {
            let error = WebPushKeys::parse(public_key, &keys.auth_text()).err();
            assert_eq!(error, Some(InvalidKey::PublicKey), "{public_key}");
        }
        for auth in ["", "é", "*", &encode(&[1; 15]), &encode(&[1; 17]), "____+++++++++++++++++w"]
        {
            let error = WebPushKeys::parse(&keys.public_key_text(), auth).err();
            assert_eq!(error, Some(InvalidKey::Auth), "{auth}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(public_key in any::<String>(), auth in any::<String>()) {
            let _ = WebPushKeys::parse(&public_key, &auth);
        }

        #[test]
        fn keys_are_parsed_back(public_key: [u8; 32], auth: [u8; 16]) {
            let public_key = [&[4][..], &public_key, &public_key].concat().try_into().unwrap();
            let keys = WebPushKeys { public_key, auth };
            prop_assert!(
                WebPushKeys::parse(&keys.public_key_text(), &keys.auth_text()) == Ok(keys)
            );
        }
    }
}
