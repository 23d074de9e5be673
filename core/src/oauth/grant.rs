//! The content of authorization codes, consents, and the checks when an authorization code is redeemed.

use std::time::Duration;

use jiff::Timestamp;
use strum::IntoStaticStr;
use thiserror::Error;

use super::error::OAuthError;
use super::pkce;
use super::scope::Scopes;
use crate::secret::{Secret, Sha256Digest};

pub const CODE_LIFETIME: Duration = Duration::from_mins(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeGrant {
    pub app_id: i64,
    /// The user who approved the request.
    pub account_id: i64,
    pub scopes: Scopes,
    /// The values that the token request must match.
    pub binding: Binding,
    /// Time at which the code expires; from then on it is invalid.
    pub expires_at: Timestamp,
}

/// A consent of a user that is in use: it has a valid token or code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub scopes: Scopes,
    /// The redirect URI that the user approved; `None` if it is `https`, or if the grant was not
    /// created with a code.
    pub redirect_uri: Option<String>,
}

/// The values that bind a code to its authorization request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The redirect URI, including the port.
    pub redirect_uri: String,
    /// The PKCE challenge, if any.
    pub challenge: Option<Sha256Digest>,
}

impl Binding {
    /// Returns the redirect URI, if it is part of the grant's identity. An `https` URI is not: its
    /// codes reach only the host's owner, so one grant covers all such URIs of the app.
    pub fn identifying_uri(&self) -> Option<&str> {
        let is_https = |scheme: &str| scheme.eq_ignore_ascii_case("https:");
        Some(&*self.redirect_uri).filter(|uri| !uri.get(..6).is_some_and(is_https))
    }
}

/// An attempt to redeem a code, by an authenticated app.
#[derive(Debug, Clone)]
pub struct RedemptionAttempt<'a> {
    /// The id of the app that sent the token request.
    pub app_id: i64,
    pub redirect_uri: &'a str,
    /// The PKCE verifier, if any.
    pub verifier: Option<&'a Secret>,
}

/// The reason a code cannot be redeemed. It is recorded; the response contains only
/// [`CodeError::description`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, IntoStaticStr)]
pub enum CodeError {
    #[error("the code is unknown or has been deleted")]
    Unknown,
    #[error("the code was issued to another app")]
    OtherApp,
    #[error("the redirect URI is not the one of the authorization request")]
    OtherRedirectUri,
    #[error("the code was requested with a challenge and redeemed without a verifier")]
    MissingVerifier,
    #[error("the verifier is not 43 to 128 unreserved characters")]
    MalformedVerifier,
    #[error("the verifier does not match the challenge")]
    WrongVerifier,
    /// An attacker may have removed the challenge (PKCE downgrade, RFC 9700, section 4.8).
    #[error("the code was requested without a challenge and redeemed with a verifier")]
    UnexpectedVerifier,
    /// Everything matches, but the code has been redeemed before. One of the two clients may be an
    /// attacker, so the token of the first redemption must be revoked (RFC 6749, section 4.1.2).
    #[error("the code has been redeemed before")]
    Replayed,
    #[error("the code has expired")]
    Expired,
    /// Occurs if the change was made after the user approved the request.
    #[error("the account or the app was disabled, or the user lost the role that a scope requires")]
    Revoked,
}

impl CodeError {
    /// Returns the `error_description` of the response. It names a mistake only to the client that
    /// the code was issued to. It discloses neither the state of a code nor whether another
    /// client's code exists.
    pub fn description(self) -> String {
        let mistake = match self {
            Self::OtherRedirectUri => {
                "The redirect_uri is not the one of the authorization request."
            }
            Self::MissingVerifier => "The code_verifier is missing.",
            Self::MalformedVerifier => {
                "The code_verifier must be 43 to 128 letters, digits or characters of -._~"
            }
            Self::WrongVerifier => "The code_verifier does not match the code_challenge.",
            Self::UnexpectedVerifier => {
                "A code_verifier was sent, but the authorization request had no code_challenge."
            }
            Self::Unknown | Self::OtherApp | Self::Replayed | Self::Expired | Self::Revoked => {
                return OAuthError::InvalidGrant.to_string();
            }
        };
        mistake.to_owned()
    }
}

impl CodeGrant {
    /// Checks whether the code may be redeemed. `is_redeemed` is true if it was redeemed before.
    ///
    /// [`CodeError::Replayed`] is returned only if everything else matches, so that an attacker
    /// without the verifier or the client secret cannot have the user's token revoked. The age of a
    /// redeemed code does not matter.
    pub fn check_redemption(
        &self,
        attempt: &RedemptionAttempt<'_>,
        is_redeemed: bool,
        now: Timestamp,
    ) -> Result<(), CodeError> {
        if attempt.app_id != self.app_id {
            return Err(CodeError::OtherApp);
        }
        if attempt.redirect_uri != self.binding.redirect_uri {
            return Err(CodeError::OtherRedirectUri);
        }
        match (self.binding.challenge, attempt.verifier) {
            (None, Some(_)) => return Err(CodeError::UnexpectedVerifier),
            (Some(_), None) => return Err(CodeError::MissingVerifier),
            (Some(_), Some(verifier)) if !pkce::is_well_formed(verifier.reveal()) => {
                return Err(CodeError::MalformedVerifier);
            }
            (Some(challenge), Some(verifier)) if !pkce::matches(challenge, verifier.reveal()) => {
                return Err(CodeError::WrongVerifier);
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        if is_redeemed {
            return Err(CodeError::Replayed);
        }
        if now >= self.expires_at {
            return Err(CodeError::Expired);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::token::expiry_after;

    const CALLBACK: &str = "http://127.0.0.1:5000/cb";
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn grant(challenge: Option<&str>) -> CodeGrant {
        CodeGrant {
            app_id: 1,
            account_id: 2,
            scopes: "read".parse().unwrap(),
            binding: Binding {
                redirect_uri: CALLBACK.into(),
                challenge: challenge.map(|text| Sha256Digest::from_text(text).unwrap()),
            },
            expires_at: expiry_after(time(1000), CODE_LIFETIME),
        }
    }

    fn attempt(verifier: Option<&Secret>) -> RedemptionAttempt<'_> {
        RedemptionAttempt { app_id: 1, redirect_uri: CALLBACK, verifier }
    }

    /// Checks the first redemption of a code without a challenge.
    fn check_first_redemption(
        attempt: &RedemptionAttempt<'_>,
        second: i64,
    ) -> Result<(), CodeError> {
        grant(None).check_redemption(attempt, false, time(second))
    }

    #[test]
    fn the_app_that_requested_the_code_may_redeem_it() {
        assert_eq!(check_first_redemption(&attempt(None), 1000), Ok(()));
        let verifier = Secret::new(VERIFIER);
        let attempt = attempt(Some(&verifier));
        assert_eq!(grant(Some(CHALLENGE)).check_redemption(&attempt, false, time(1000)), Ok(()));
    }

    #[test]
    fn a_code_is_valid_for_ten_minutes() {
        for (now, expected) in [
            (0, Ok(())), // a clock that was set back
            (1599, Ok(())),
            (1600, Err(CodeError::Expired)),
            (99_999_999, Err(CodeError::Expired)),
        ] {
            assert_eq!(check_first_redemption(&attempt(None), now), expected, "{now}");
        }
    }

    // RFC 6749, section 4.1.3.
    #[test]
    fn a_code_issued_to_a_different_app_is_rejected() {
        let attempt = RedemptionAttempt { app_id: 3, ..attempt(None) };
        assert_eq!(check_first_redemption(&attempt, 1000), Err(CodeError::OtherApp));
    }

    // RFC 6749, section 4.1.3. Here even the port of a loopback address must be equal.
    #[test]
    fn a_different_redirect_uri_is_rejected() {
        for redirect_uri in ["", "http://127.0.0.1:5001/cb", "http://127.0.0.1/cb"] {
            let attempt = RedemptionAttempt { redirect_uri, ..attempt(None) };
            assert_eq!(
                check_first_redemption(&attempt, 1000),
                Err(CodeError::OtherRedirectUri),
                "{redirect_uri}"
            );
        }
    }

    // RFC 7636, section 4.6.
    #[test]
    fn a_verifier_is_required_if_and_only_if_there_was_a_challenge() {
        for (challenge, verifier, error) in [
            (Some(CHALLENGE), None, CodeError::MissingVerifier),
            (Some(CHALLENGE), Some(CHALLENGE), CodeError::WrongVerifier),
            (Some(CHALLENGE), Some("short"), CodeError::MalformedVerifier),
            (None, Some(VERIFIER), CodeError::UnexpectedVerifier),
            (None, Some("short"), CodeError::UnexpectedVerifier),
        ] {
            let verifier = verifier.map(Secret::new);
            let result =
                grant(challenge).check_redemption(&attempt(verifier.as_ref()), false, time(1000));
            assert_eq!(result, Err(error));
        }
    }

    #[test]
    fn a_valid_second_redemption_is_a_replay_at_any_time() {
        for now in [1000, 1600, 99_999_999] {
            let result = grant(None).check_redemption(&attempt(None), true, time(now));
            assert_eq!(result, Err(CodeError::Replayed), "{now}");
        }
    }

    #[test]
    fn an_invalid_second_redemption_is_not_a_replay() {
        let wrong_verifier = Secret::new(CHALLENGE);
        for invalid_attempt in [
            attempt(None),
            attempt(Some(&wrong_verifier)),
            RedemptionAttempt { app_id: 3, ..attempt(None) },
            RedemptionAttempt { redirect_uri: "", ..attempt(None) },
        ] {
            let result =
                grant(Some(CHALLENGE)).check_redemption(&invalid_attempt, true, time(1000));
            assert!(!matches!(result, Ok(()) | Err(CodeError::Replayed)), "{invalid_attempt:?}");
        }
    }

    // RFC 6749, section 5.2: printable ASCII without quote and backslash.
    #[test]
    fn the_description_names_the_clients_mistake_and_not_the_codes_state() {
        use CodeError::{
            Expired, MalformedVerifier, MissingVerifier, OtherApp, OtherRedirectUri, Replayed,
            Revoked, UnexpectedVerifier, Unknown, WrongVerifier,
        };
        for error in [Unknown, OtherApp, Replayed, Expired, Revoked] {
            assert_eq!(error.description(), OAuthError::InvalidGrant.to_string(), "{error:?}");
        }
        for (error, mistake) in [
            (OtherRedirectUri, "redirect_uri"),
            (MissingVerifier, "code_verifier is missing"),
            (MalformedVerifier, "code_verifier must be 43 to 128"),
            (WrongVerifier, "code_verifier does not match"),
            (UnexpectedVerifier, "no code_challenge"),
        ] {
            let description = error.description();
            assert!(description.contains(mistake), "{description}");
            let is_allowed = |b| matches!(b, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~');
            assert!(description.bytes().all(is_allowed), "{description}");
        }
    }
}
