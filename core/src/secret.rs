//! Secrets, split tokens and their stored hashes.
//!
//! The server issues tokens, codes, client secrets and cookies as split tokens. Each consists of a
//! lookup key, which identifies its row, and a secret part of 32 random bytes, of which only the
//! SHA-256 digest is stored. Digests are compared in constant time, and a database index never
//! contains secret bytes.
//!
//! A code that a person types is short instead: both stored parts are digests of it.

use std::fmt;
use std::hash::{Hash, Hasher};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// A secret in the clear, such as a password, a token, a code or a client secret.
///
/// It has no `Display`, no `Serialize` and no `PartialEq`. A search for `reveal` lists every use of
/// the text.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the secret, which must not be logged.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A secret that the server issues: base64url of a lookup key and a secret part.
#[derive(Debug, Clone)]
pub struct SplitToken {
    secret: Secret,
    hashed: HashedSecret,
    /// The beginning of the secret part.
    content: [u8; CONTENT_BYTES],
}

/// A token that a client presented, without its text. Of a computed token, it includes the content
/// from which the token can be computed again.
#[derive(Debug, Clone, Copy)]
pub struct PresentedSecret {
    pub hashed: HashedSecret,
    pub content: [u8; CONTENT_BYTES],
}

/// A token that is not computed.
impl From<HashedSecret> for PresentedSecret {
    fn from(hashed: HashedSecret) -> Self {
        Self { hashed, content: [0; CONTENT_BYTES] }
    }
}

impl SplitToken {
    /// Number of random bytes in the lookup key and the secret part together.
    pub const RANDOM_BYTES: usize = LookupKey::RANDOM_BYTES + SECRET_BYTES;

    /// Creates a token from the time and random bytes.
    pub fn new(now: Timestamp, random_bytes: [u8; Self::RANDOM_BYTES]) -> Self {
        let [_, _, time_bytes @ ..] = now.as_millisecond().to_be_bytes();
        let mut bytes = [0; TOKEN_BYTES];
        bytes[..TIME_BYTES].copy_from_slice(&time_bytes);
        bytes[TIME_BYTES..].copy_from_slice(&random_bytes);
        Self::from_bytes(BASE64_URL_SAFE_NO_PAD.encode(bytes), &bytes)
    }

    /// Parses a secret that a client sent; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = decode_base64::<TOKEN_BYTES>(text)?;
        Some(Self::from_bytes(text.to_owned(), &bytes))
    }

    /// Creates a token whose secret part is computed.
    pub fn with_secret_part(lookup_key: LookupKey, secret_part: [u8; SECRET_BYTES]) -> Self {
        let mut bytes = [0; TOKEN_BYTES];
        bytes[..LookupKey::BYTES].copy_from_slice(&lookup_key.0);
        bytes[LookupKey::BYTES..].copy_from_slice(&secret_part);
        Self::from_bytes(BASE64_URL_SAFE_NO_PAD.encode(bytes), &bytes)
    }

    /// Creates an authorization code that a person can type: 12 letters with a dash in the middle.
    pub fn short_code(random_bytes: [u8; 2 * SHORT_CODE_LETTERS]) -> Self {
        let letter = |bytes: &[u8; 2]| {
            let index = usize::from(u16::from_be_bytes(*bytes)) % SHORT_CODE_ALPHABET.len();
            char::from(SHORT_CODE_ALPHABET[index])
        };
        Self::from_letters(&random_bytes.as_chunks().0.iter().map(letter).collect::<String>())
    }

    /// Parses an authorization code: a split token, or a short code in any case, with any dashes
    /// and spaces.
    pub fn parse_code(text: &str) -> Option<Self> {
        let letters = text.chars().filter(|c| *c != '-' && !c.is_whitespace());
        let letters: String =
            letters.take(SHORT_CODE_LETTERS + 1).map(|c| c.to_ascii_uppercase()).collect();
        let is_short_code = letters.len() == SHORT_CODE_LETTERS
            && letters.bytes().all(|letter| SHORT_CODE_ALPHABET.contains(&letter));
        if is_short_code { Some(Self::from_letters(&letters)) } else { Self::parse(text) }
    }

    fn from_letters(letters: &str) -> Self {
        let (first_half, second_half) = letters.split_at(SHORT_CODE_LETTERS / 2);
        let key_digest = Sha256Digest::compute(&format!("lookup key of {letters}")).0;
        let mut key_bytes = [0; LookupKey::BYTES];
        key_bytes.copy_from_slice(&key_digest[..LookupKey::BYTES]);
        Self {
            secret: Secret(format!("{first_half}-{second_half}")),
            hashed: HashedSecret {
                lookup_key: LookupKey(key_bytes),
                digest: Sha256Digest::compute(letters),
            },
            content: [0; CONTENT_BYTES],
        }
    }

    fn from_bytes(text: String, bytes: &[u8; TOKEN_BYTES]) -> Self {
        let mut key_bytes = [0; LookupKey::BYTES];
        key_bytes.copy_from_slice(&bytes[..LookupKey::BYTES]);
        let secret_part = &bytes[LookupKey::BYTES..];
        let digest = Sha256Digest(Sha256::digest(secret_part).into());
        let mut content = [0; CONTENT_BYTES];
        content.copy_from_slice(&secret_part[..CONTENT_BYTES]);
        Self {
            secret: Secret(text),
            hashed: HashedSecret { lookup_key: LookupKey(key_bytes), digest },
            content,
        }
    }

    /// Returns the whole token in the clear.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Returns the whole token's text.
    pub fn reveal(&self) -> &str {
        self.secret.reveal()
    }

    /// Returns the stored form.
    pub fn hashed_secret(&self) -> HashedSecret {
        self.hashed
    }

    /// Returns what identifies the token, whether it is random or computed.
    pub fn presented(&self) -> PresentedSecret {
        PresentedSecret { hashed: self.hashed, content: self.content }
    }
}

/// The letters of user codes in RFC 8628, section 6.1: no vowels, hence no words, and none that look
/// alike.
const SHORT_CODE_ALPHABET: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// 20¹² codes are 51.8 bits.
const SHORT_CODE_LETTERS: usize = 12;

const TIME_BYTES: usize = 6;
pub const SECRET_BYTES: usize = 32;
/// Number of bytes of the content of a computed token, which its secret part begins with.
pub const CONTENT_BYTES: usize = 8;
const TOKEN_BYTES: usize = LookupKey::BYTES + SECRET_BYTES;

/// The public part of a split token: Unix time in milliseconds, then random bytes. Keys are
/// ordered by time, so new rows are inserted next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LookupKey([u8; Self::BYTES]);

impl LookupKey {
    const BYTES: usize = 16;
    const RANDOM_BYTES: usize = Self::BYTES - TIME_BYTES;

    /// Returns the bytes of the key, for a MAC.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Formats the key as 32 hexadecimal digits, which sort like the key.
    pub fn to_text(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }

    /// Parses the output of [`LookupKey::to_text`].
    pub fn from_text(text: &str) -> Option<Self> {
        let key = u128::from_str_radix(text, 16).ok().map(|key| Self(key.to_be_bytes()))?;
        (key.to_text() == text).then_some(key)
    }
}

/// The stored form of a split token: the lookup key and the digest of the secret part. No salt or
/// slow hash is needed, because the secret part has 256 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashedSecret {
    pub lookup_key: LookupKey,
    pub digest: Sha256Digest,
}

impl HashedSecret {
    /// Encodes the lookup key and the digest as 64 characters of base64url.
    pub fn to_text(self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode([&self.lookup_key.0[..], &self.digest.0[..]].concat())
    }

    /// Parses the output of [`HashedSecret::to_text`].
    pub fn from_text(text: &str) -> Option<Self> {
        let bytes = decode_base64::<TOKEN_BYTES>(text)?;
        let (key_bytes, digest) = bytes.split_first_chunk()?;
        Some(Self {
            lookup_key: LookupKey(*key_bytes),
            digest: Sha256Digest(digest.try_into().ok()?),
        })
    }
}

/// A SHA-256 digest, compared in constant time. Besides split tokens, it is used for strings that
/// the server did not generate, such as PKCE verifiers and application service tokens.
#[derive(Clone, Copy, Eq)]
pub struct Sha256Digest([u8; 32]);

impl PartialEq for Sha256Digest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Hash for Sha256Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Sha256Digest {
    pub fn compute(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Encodes the digest as 43 characters of base64url.
    pub fn to_text(self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Parses the output of [`Sha256Digest::to_text`].
    pub fn from_text(text: &str) -> Option<Self> {
        decode_base64(text).map(Self)
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sha256Digest(..)")
    }
}

/// Decodes base64url of exactly `N` bytes.
fn decode_base64<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let length = BASE64_URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    (length == N).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(millisecond: i64) -> Timestamp {
        Timestamp::from_millisecond(millisecond).unwrap()
    }

    #[test]
    fn a_split_token_is_64_characters_of_time_and_random_bytes() {
        let token = SplitToken::new(time(0x0192_3456_789a), [0xfb; 42]);
        let text = token.reveal();
        assert_eq!(text, format!("AZI0Vnia{}", "-_v7".repeat(14)));
        assert_eq!(
            token.hashed_secret().lookup_key.to_text(),
            format!("01923456789a{}", "fb".repeat(10))
        );
    }

    #[test]
    fn only_the_digest_of_the_secret_part_is_stored() {
        let token = SplitToken::new(time(1), [7; 42]);
        let expected: [u8; 32] = Sha256::digest([7; 32]).into();
        assert_eq!(token.hashed_secret().digest.0, expected);
        let text = token.hashed_secret().to_text();
        assert!(!text.contains(&token.reveal()[24..]), "{text}");
    }

    #[test]
    fn tokens_and_hashes_round_trip() {
        let token = SplitToken::new(time(1_700_000_000_000), [9; 42]);
        let parsed_token = SplitToken::parse(token.reveal()).unwrap();
        assert_eq!(parsed_token.hashed_secret(), token.hashed_secret());
        assert_eq!(
            HashedSecret::from_text(&token.hashed_secret().to_text()),
            Some(token.hashed_secret())
        );
        assert_eq!(
            LookupKey::from_text(&token.hashed_secret().lookup_key.to_text()),
            Some(token.hashed_secret().lookup_key)
        );
    }

    #[test]
    fn a_changed_character_changes_the_lookup_key_or_the_digest() {
        let token = SplitToken::new(time(1_700_000_000_000), [9; 42]);
        for (index, character) in token.reveal().char_indices() {
            let replacement = if character == 'A' { "B" } else { "A" };
            let mut text = token.reveal().to_owned();
            text.replace_range(index..=index, replacement);
            let changed_secret = SplitToken::parse(&text).unwrap().hashed_secret();
            assert_ne!(changed_secret, token.hashed_secret(), "{index}");
            // Characters 0 to 20 are only in the lookup key, those from 22 on in the secret part.
            assert_eq!(
                changed_secret.lookup_key == token.hashed_secret().lookup_key,
                index > 21,
                "{index}"
            );
        }
    }

    #[test]
    fn a_string_in_a_different_format_is_not_a_split_token() {
        let token = SplitToken::new(time(1), [0; 42]);
        let text = token.reveal();
        for malformed_token in [
            "",
            "secret",
            &text[1..],
            &format!("{text}A"),
            &format!("{text}AAAA"),
            &format!("{text}="),
            &format!("{}=", &text[1..]),
            &format!("{}+", &text[1..]),
            &format!("{} ", &text[1..]),
            &format!("{}\u{e4}", &text[2..]),
            &"A".repeat(100_000),
        ] {
            assert!(SplitToken::parse(malformed_token).is_none(), "{malformed_token}");
        }
    }

    #[test]
    fn a_short_code_is_parsed_in_any_case_and_grouping() {
        let code =
            SplitToken::short_code(std::array::from_fn(|index| u8::try_from(index).unwrap()));
        assert_eq!(code.reveal(), "CTMFWP-HZRKCT");
        for text in ["CTMFWP-HZRKCT", "ctmfwphzrkct", " ctmf-wphz-rkct\n", "C t mfwphzr-KCT--"] {
            let parsed_code = SplitToken::parse_code(text).unwrap();
            assert_eq!(parsed_code.hashed_secret(), code.hashed_secret(), "{text}");
            assert_eq!(parsed_code.reveal(), code.reveal());
            assert!(SplitToken::parse(text).is_none(), "only codes are short");
        }
        for text in ["", "CTMFWP-HZRKC", "CTMFWP-HZRKCTB", "CTMFWP-HZRKCA", "CTMFWP_HZRKCT"] {
            assert!(SplitToken::parse_code(text).is_none(), "{text}");
        }
        let other_code = SplitToken::parse_code("CTMFWP-HZRKCB").unwrap().hashed_secret();
        assert_ne!(other_code.lookup_key, code.hashed_secret().lookup_key);
        assert_ne!(other_code.digest, code.hashed_secret().digest);
        let token = SplitToken::new(time(1), [7; 42]);
        let parsed_token = SplitToken::parse_code(token.reveal()).unwrap();
        assert_eq!(parsed_token.hashed_secret(), token.hashed_secret());
    }

    #[test]
    fn lookup_keys_and_their_text_sort_by_time() {
        let keys = [0, 1, 255, 256, 1_700_000_000_000, 1_700_000_000_001].map(|millisecond| {
            SplitToken::new(time(millisecond), [0xff; 42]).hashed_secret().lookup_key
        });
        assert!(keys.is_sorted());
        assert!(keys.map(LookupKey::to_text).is_sorted());
        for text in ["", "0", &"g".repeat(32), &"A".repeat(32), &"0".repeat(33), &"+".repeat(32)] {
            assert_eq!(LookupKey::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn a_string_digest_is_its_sha_256() {
        let published_digest = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
        let digest = Sha256Digest::compute("abc");
        assert_eq!(digest.to_text(), published_digest);
        assert_eq!(Sha256Digest::from_text(published_digest), Some(digest));
        for text in ["", "abc", &"=".repeat(43), &"A".repeat(42), &"A".repeat(44), &"A".repeat(99)]
        {
            assert_eq!(Sha256Digest::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let token = SplitToken::new(time(0), [0xab; 42]);
        let debug_output = format!("{:?} {token:?}", Secret::new("hunter2"));
        assert!(
            !debug_output.contains("hunter2") && !debug_output.contains("q6ur"),
            "{debug_output}"
        );
        assert!(debug_output.starts_with("Secret(..) SplitToken"), "{debug_output}");
    }
}
