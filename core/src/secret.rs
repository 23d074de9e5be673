//! Secrets that are handed out once, and the digests that are kept of them.

use std::fmt;
use std::hash::{Hash, Hasher};

use base64ct::{Base64UrlUnpadded, Encoding};
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// The bytes that a secret of ours begins with, a time in milliseconds, and their characters.
const TIME: usize = 6;
const TIME_TEXT: usize = 8;

/// The bytes that follow, which are random.
const RANDOM: usize = 32;

/// A token, code, client secret or cookie in the clear.
///
/// It has no `Display`, no `Serialize` and no `PartialEq`: what is kept and compared is its
/// [`Digest`]. A search for `reveal` lists every place where one leaves the process.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// How many characters of base64url a secret has that we made.
    pub const LENGTH: usize = 51;

    /// Takes a secret as a caller presented it.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Makes a secret of the time and of random bytes: 8 characters tell when it was made, the other
    /// 43 are what nobody can guess.
    #[must_use]
    pub fn made_at(now: Timestamp, random: [u8; RANDOM]) -> Self {
        let [_, _, time @ ..] = now.as_millisecond().to_be_bytes();
        let mut bytes = [0; TIME + RANDOM];
        bytes[..TIME].copy_from_slice(&time);
        bytes[TIME..].copy_from_slice(&random);
        Self(Base64UrlUnpadded::encode_string(&bytes))
    }

    /// What is stored and looked up in place of the secret: its SHA-256.
    ///
    /// What has the length of ours keeps its first characters, the time, in place of as many bytes.
    /// Digests that are written together then stand together in the database, in a few pages instead
    /// of one for each. The 192 bits that are left of the SHA-256 are more than anybody can search.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::sha_256(&self.0);
        if self.0.len() == Self::LENGTH {
            digest.0[..TIME_TEXT].copy_from_slice(&self.0.as_bytes()[..TIME_TEXT]);
        }
        digest
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

/// What is kept of a secret. One of 32 random bytes needs no salt and no slow hash.
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
    /// The SHA-256 of a text, whoever made it.
    #[must_use]
    pub fn sha_256(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

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
    fn a_secret_is_its_time_and_43_characters_that_are_random() {
        let epoch = Secret::made_at(Timestamp::UNIX_EPOCH, [0xfb; 32]);
        assert_eq!(epoch.reveal(), "AAAAAAAA-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s");
        let later = Timestamp::from_millisecond(0x0192_3456_789a).unwrap();
        assert_eq!(Secret::made_at(later, [0; 32]).reveal(), format!("AZI0Vnia{}", "A".repeat(43)));
    }

    #[test]
    fn the_digest_of_a_secret_begins_with_its_time_and_goes_on_with_its_sha_256() {
        let now = Timestamp::from_millisecond(0x0192_3456_789a).unwrap();
        let [one, other] = [1, 2].map(|byte| Secret::made_at(now, [byte; 32]));
        let digest = one.digest();
        assert_eq!(digest.as_bytes()[..8], *b"AZI0Vnia");
        assert_eq!(digest.as_bytes()[8..], Digest::sha_256(one.reveal()).as_bytes()[8..]);
        assert_ne!(digest, other.digest());
        assert_eq!(Digest::from_text(&digest.to_text()), Some(digest));
    }

    #[test]
    fn whoever_makes_up_a_time_finds_nothing_by_it() {
        let secret = Secret::made_at(Timestamp::UNIX_EPOCH, [7; 32]);
        let random = &secret.reveal()[8..];
        for made_up in ["AAAAAAAB", "BAAAAAAA", "AAAAAAA=", "AAAAAAA\u{e4}", "AAAA", ""] {
            assert_ne!(Secret::new(format!("{made_up}{random}")).digest(), secret.digest());
        }
    }

    #[test]
    fn the_digest_of_what_others_made_is_its_sha_256() {
        let published = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
        assert_eq!(Secret::new("abc").digest().to_text(), published);
        assert_eq!(Digest::sha_256("abc").to_text(), published);
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
