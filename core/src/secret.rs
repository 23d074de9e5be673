//! Secrets that are handed out once, and the digests that are kept of them.

use std::fmt;
use std::hash::{Hash, Hasher};

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// A token, code, client secret or cookie in the clear.
///
/// It has no `Display`, no `Serialize` and no `PartialEq`: what is kept and compared is its
/// [`Digest`]. A search for `reveal` lists every place where one leaves the process.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret as a caller presented it.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Makes a secret from random bytes: 32 of them give 43 characters of base64url.
    #[must_use]
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(Base64UrlUnpadded::encode_string(&bytes))
    }

    /// What is stored and looked up in place of the secret.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(Sha256::digest(&self.0).into())
    }

    /// The secret itself, for the one answer that hands it over.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The SHA-256 of a secret. A secret of 32 random bytes needs no salt and no slow hash.
#[derive(Clone, Copy, Eq)]
pub struct Digest([u8; 32]);

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Hash for Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Digest {
    /// The digest as it stands in a column: 43 characters of base64url.
    #[must_use]
    pub fn to_text(self) -> String {
        Base64UrlUnpadded::encode_string(&self.0)
    }

    /// Reads what [`Digest::to_text`] wrote.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let read = Base64UrlUnpadded::decode(text, &mut bytes).ok()?.len();
        (read == bytes.len()).then_some(Self(bytes))
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_32_bytes_has_43_characters_of_base64url() {
        let secret = Secret::from_random([0xfb; 32]);
        assert_eq!(secret.reveal(), "-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s");
    }

    #[test]
    fn a_digest_is_the_sha_256_of_the_text() {
        let published = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
        assert_eq!(Secret::new("abc").digest().to_text(), published);
    }

    #[test]
    fn a_digest_is_read_back_from_its_text() {
        let digest = Secret::new("s").digest();
        assert_eq!(Digest::from_text(&digest.to_text()), Some(digest));
        for wrong in ["", "abc", &"=".repeat(43), &"A".repeat(42), &"A".repeat(44), &"A".repeat(99)]
        {
            assert_eq!(Digest::from_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn neither_is_printed() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {:?}", secret.digest()), "Secret(..) Digest(..)");
    }
}
