//! PKCE: proves that the client redeeming a code is the one that requested it (RFC 7636).

use crate::secret::Sha256Digest;

/// The only supported method. `plain` would reveal the verifier to anyone who sees the request.
pub const METHOD: &str = "S256";

/// Returns whether a `code_challenge` is the SHA-256 digest of this verifier, compared in constant
/// time.
///
/// ```
/// use belfry_core::oauth::pkce;
/// use belfry_core::secret::Sha256Digest;
///
/// // The example of RFC 7636, appendix B.
/// let challenge = Sha256Digest::from_text("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").unwrap();
/// assert!(pkce::matches(challenge, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
/// assert!(!pkce::matches(challenge, "a different verifier"));
/// ```
pub fn matches(challenge: Sha256Digest, verifier: &str) -> bool {
    challenge == Sha256Digest::compute(verifier)
}

/// Returns whether the `code_verifier` of a token request has 43 to 128 unreserved characters.
pub fn is_well_formed(verifier: &str) -> bool {
    let is_unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_unreserved)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn a_different_verifier_does_not_match() {
        let challenge = Sha256Digest::from_text(CHALLENGE).unwrap();
        for verifier in [CHALLENGE, &VERIFIER.to_lowercase(), &format!("{VERIFIER}A")] {
            assert!(!matches(challenge, verifier), "{verifier}");
        }
    }

    #[test]
    fn a_challenge_is_43_characters_of_base64url() {
        let prefix = &CHALLENGE[..42];
        for challenge in [
            "",
            "a",
            prefix,
            &format!("{CHALLENGE}="),
            &format!("{CHALLENGE}A"),
            &format!("{prefix}+"),
            &format!("{prefix}/"),
            &format!("{prefix}="),
            &format!("{prefix} "),
            &format!("{prefix}\0"),
            &format!("{prefix}N"), // bits beyond the 256
            &"é".repeat(43),
            &"A".repeat(100_000),
        ] {
            assert_eq!(Sha256Digest::from_text(challenge), None, "{challenge}");
        }
    }

    #[test]
    fn a_verifier_is_43_to_128_unreserved_characters() {
        for (verifier, is_valid) in [
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
            assert_eq!(is_well_formed(&verifier), is_valid, "{verifier}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in any::<String>()) {
            let _ = (Sha256Digest::from_text(&text), is_well_formed(&text));
        }

        #[test]
        fn a_verifier_matches_its_own_challenge(verifier in "[A-Za-z0-9._~-]{43,128}") {
            let challenge = Sha256Digest::compute(&verifier);
            prop_assert!(is_well_formed(&verifier) && matches(challenge, &verifier));
        }
    }
}
