//! PKCE: proves that the client redeeming a code is the one that requested it (RFC 7636).

use crate::secret::{Secret, Sha256Digest};

/// The only supported method. `plain` would reveal the verifier to anyone who sees the request.
pub const METHOD: &str = "S256";

/// The `code_challenge` of an authorization request: the SHA-256 digest of the verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenge(Sha256Digest);

impl Challenge {
    /// Parses 43 characters of base64url.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Sha256Digest::from_text(text).map(Self)
    }

    /// 43 characters of base64url.
    #[must_use]
    pub fn to_text(self) -> String {
        self.0.to_text()
    }

    /// Whether the challenge is the digest of this verifier, compared in constant time.
    #[must_use]
    pub fn matches(&self, verifier: &Verifier) -> bool {
        self.0 == Sha256Digest::of(verifier.0.reveal())
    }
}

/// The `code_verifier` of a token request: 43 to 128 unreserved characters.
#[derive(Debug, Clone)]
pub struct Verifier(Secret);

impl Verifier {
    /// Validates length and characters.
    #[must_use]
    pub fn new(secret: Secret) -> Option<Self> {
        let text = secret.reveal();
        let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        let well_formed = (43..=128).contains(&text.len()) && text.bytes().all(unreserved);
        well_formed.then_some(Self(secret))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};

    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn verifier(text: &str) -> Option<Verifier> {
        Verifier::new(Secret::new(text))
    }

    #[test]
    fn the_example_of_rfc_7636_appendix_b_matches() {
        let challenge = Challenge::parse(CHALLENGE).unwrap();
        assert!(challenge.matches(&verifier(VERIFIER).unwrap()));
    }

    #[test]
    fn another_verifier_does_not_match() {
        let challenge = Challenge::parse(CHALLENGE).unwrap();
        for wrong in [CHALLENGE, &VERIFIER.to_lowercase(), &format!("{VERIFIER}A")] {
            assert!(!challenge.matches(&verifier(wrong).unwrap()), "{wrong}");
        }
    }

    #[test]
    fn a_challenge_is_43_characters_of_base64url() {
        let almost = &CHALLENGE[..42];
        for wrong in [
            "",
            "a",
            almost,
            &format!("{CHALLENGE}="),
            &format!("{CHALLENGE}A"),
            &format!("{almost}+"),
            &format!("{almost}/"),
            &format!("{almost}="),
            &format!("{almost} "),
            &format!("{almost}\0"),
            &format!("{almost}N"), // bits beyond the 256
            &"é".repeat(43),
            &"A".repeat(100_000),
        ] {
            assert_eq!(Challenge::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_verifier_is_43_to_128_unreserved_characters() {
        for (text, is_valid) in [
            ("a".repeat(42), false),
            ("a".repeat(43), true),
            ("-._~".repeat(32), true),
            ("a".repeat(129), false),
            ("a".repeat(42) + "+", false),
            ("a".repeat(42) + "/", false),
            ("a".repeat(42) + "=", false),
            ("a".repeat(42) + "é", false),
            ("a".repeat(42) + "\n", false),
        ] {
            assert_eq!(verifier(&text).is_some(), is_valid, "{text}");
        }
    }

    #[test]
    fn a_challenge_is_parsed_from_its_text() {
        let challenge = Challenge::parse(CHALLENGE).unwrap();
        assert_eq!(challenge.to_text(), CHALLENGE);
        assert_eq!(Challenge::parse("short"), None);
    }

    // Also for a verifier of 64 characters, the length of a split token.
    #[test]
    fn a_verifier_of_any_length_is_hashed_with_sha_256() {
        for length in 43..=128 {
            let text = "a".repeat(length);
            let sha_256 = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&text));
            let challenge = Challenge::parse(&sha_256).unwrap();
            assert!(challenge.matches(&verifier(&text).unwrap()), "{length}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in any::<String>()) {
            let _ = (Challenge::parse(&text), verifier(&text));
        }

        #[test]
        fn a_verifier_matches_its_own_challenge(text in "[A-Za-z0-9._~-]{43,128}") {
            let challenge = Challenge(Sha256Digest::of(&text));
            prop_assert!(challenge.matches(&verifier(&text).unwrap()));
        }
    }
}
