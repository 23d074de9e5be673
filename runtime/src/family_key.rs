//! The key of token families, which computes their tokens and recognises them.

use belfry_core::oauth::token_family::FamilyToken;
use belfry_core::secret::{CONTENT_BYTES, PresentedSecret, SECRET_BYTES, SplitToken};
use ring::hmac;

/// A key derived from the sealing key. Not `Debug`, because it is a secret.
#[derive(Clone)]
pub struct FamilyKey(hmac::Key);

impl FamilyKey {
    pub(crate) fn new(key: hmac::Key) -> Self {
        Self(key)
    }

    /// Computes a token: the lookup key of its family, its content, and a MAC of both, cut to 24
    /// bytes.
    pub fn token(&self, token: FamilyToken) -> SplitToken {
        let content = token.content();
        let mac = hmac::sign(&self.0, &[token.lookup_key.as_bytes(), &content[..]].concat());
        let mut secret_part = [0; SECRET_BYTES];
        secret_part[..CONTENT_BYTES].copy_from_slice(&content);
        secret_part[CONTENT_BYTES..].copy_from_slice(&mac.as_ref()[..SECRET_BYTES - CONTENT_BYTES]);
        SplitToken::with_secret_part(token.lookup_key, secret_part)
    }

    /// Returns the content of a presented token, if its MAC is correct. Digests of both are
    /// compared, in constant time.
    pub fn verify(&self, presented: PresentedSecret) -> Option<FamilyToken> {
        let PresentedSecret { hashed, content } = presented;
        let token = FamilyToken::from_content(hashed.lookup_key, content);
        (self.token(token).hashed_secret() == hashed).then_some(token)
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::secret::LookupKey;
    use jiff::Timestamp;

    use crate::sealing::SealingKey;

    use super::*;

    #[test]
    fn only_unchanged_tokens_of_the_key_are_recognised() {
        let [key, other_key] = [(); 2].map(|()| SealingKey::random().family_key());
        let lookup_key = LookupKey::from_text(&"0123456789abcdef".repeat(2)).unwrap();
        for expires_at in [None, Some(Timestamp::from_second(1_800_000_000).unwrap())] {
            let content = FamilyToken { lookup_key, generation: 7, expires_at };
            let token = key.token(content);
            assert_eq!(token.reveal(), key.token(content).reveal(), "the same each time");
            assert_eq!(token.reveal().len(), 64);
            assert_eq!(key.verify(token.presented()), Some(content));
            assert_eq!(other_key.verify(token.presented()), None);
            for position in 0..64 {
                let mut changed = token.reveal().to_owned().into_bytes();
                changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
                let changed = SplitToken::parse(&String::from_utf8(changed).unwrap());
                let verified = changed.and_then(|token| key.verify(token.presented()));
                assert_eq!(verified, None, "{position}");
            }
        }
    }
}
