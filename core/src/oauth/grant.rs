//! The grant behind an authorization code, and who may spend it.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::error::OAuthError;
use super::pkce::{Challenge, Verifier};
use super::scope::Scopes;
use crate::secret::Secret;

/// How long a code can be spent.
pub const CODE_LIFETIME: Duration = Duration::from_mins(10);

/// What a user granted to an app, until the app fetches its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The app that may spend the code.
    pub app_id: i64,
    /// The user who agreed.
    pub account_id: i64,
    /// The scopes of the token to come.
    pub scopes: Scopes,
    /// What else the token request must match.
    pub binding: Binding,
    /// The first moment at which the code is no longer good.
    pub expires_at: Timestamp,
}

/// What ties a code to the authorization request that it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The redirect URI of that request, port and all.
    pub redirect_uri: String,
    /// Its challenge, if it had one.
    pub challenge: Option<Challenge>,
}

/// An attempt to spend a code, by an app that has proved who it is.
#[derive(Debug, Clone)]
pub struct Redemption<'a> {
    /// The app.
    pub app_id: i64,
    /// The redirect URI that it names.
    pub redirect_uri: &'a str,
    /// The verifier, if it sent one.
    pub verifier: Option<&'a Secret>,
}

/// Why a code cannot be spent. The caller is told the same of each; the log may tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GrantError {
    /// The code was issued to another app.
    #[error("the code was issued to another app")]
    OtherApp,
    /// The redirect URI is not the one of the authorization request.
    #[error("the redirect URI is not the one of the authorization request")]
    OtherRedirectUri,
    /// There was a challenge, and there is no verifier.
    #[error("the code was asked for with a challenge and is spent without a verifier")]
    MissingVerifier,
    /// The verifier has another length or alphabet than a verifier has.
    #[error("the verifier is not 43 to 128 unreserved characters")]
    MalformedVerifier,
    /// The verifier does not meet the challenge.
    #[error("the verifier does not meet the challenge")]
    WrongVerifier,
    /// There is a verifier, and there was no challenge: somebody took it out of the request.
    #[error("the code was asked for without a challenge and is spent with a verifier")]
    UnexpectedVerifier,
    /// All is right, but the code has been spent: whoever was first may have stolen it, so the
    /// token of that first use must be revoked.
    #[error("the code has been spent before")]
    Replayed,
    /// The code is too old.
    #[error("the code has expired")]
    Expired,
}

impl From<GrantError> for OAuthError {
    fn from(_: GrantError) -> Self {
        Self::InvalidGrant
    }
}

impl Grant {
    /// When a code that is issued now is no longer good.
    #[must_use]
    pub fn expiry(now: Timestamp) -> Timestamp {
        now.checked_add(CODE_LIFETIME).unwrap_or(Timestamp::MAX)
    }

    /// Whether this attempt may spend the code, which was spent before or not.
    ///
    /// # Errors
    /// Why it may not. Only who gets everything else right can replay a code: a wrong attempt must
    /// not cost the right owner a token. A spent code is replayed however old it is.
    pub fn check_redemption(
        &self,
        attempt: &Redemption<'_>,
        spent: bool,
        now: Timestamp,
    ) -> Result<(), GrantError> {
        if attempt.app_id != self.app_id {
            return Err(GrantError::OtherApp);
        }
        if attempt.redirect_uri != self.binding.redirect_uri {
            return Err(GrantError::OtherRedirectUri);
        }
        match (&self.binding.challenge, attempt.verifier) {
            (None, None) => {}
            (None, Some(_)) => return Err(GrantError::UnexpectedVerifier),
            (Some(_), None) => return Err(GrantError::MissingVerifier),
            (Some(challenge), Some(secret)) => {
                let verifier =
                    Verifier::new(secret.clone()).ok_or(GrantError::MalformedVerifier)?;
                if !challenge.matches(&verifier) {
                    return Err(GrantError::WrongVerifier);
                }
            }
        }
        if spent {
            return Err(GrantError::Replayed);
        }
        if now >= self.expires_at {
            return Err(GrantError::Expired);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CALLBACK: &str = "http://127.0.0.1:5000/cb";
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn grant(challenge: Option<&str>) -> Grant {
        Grant {
            app_id: 1,
            account_id: 2,
            scopes: "read".parse().unwrap(),
            binding: Binding {
                redirect_uri: CALLBACK.into(),
                challenge: challenge.map(|text| Challenge::parse(text).unwrap()),
            },
            expires_at: Grant::expiry(at(1000)),
        }
    }

    fn attempt(verifier: Option<&Secret>) -> Redemption<'_> {
        Redemption { app_id: 1, redirect_uri: CALLBACK, verifier }
    }

    #[test]
    fn the_app_that_asked_may_spend_the_code() {
        assert_eq!(grant(None).check_redemption(&attempt(None), false, at(1000)), Ok(()));
        let verifier = Secret::new(VERIFIER);
        let proved = attempt(Some(&verifier));
        assert_eq!(grant(Some(CHALLENGE)).check_redemption(&proved, false, at(1000)), Ok(()));
    }

    // Attack 49.
    #[test]
    fn a_code_is_good_for_ten_minutes() {
        for (now, found) in [
            (0, Ok(())), // a clock that was set back
            (1599, Ok(())),
            (1600, Err(GrantError::Expired)),
            (99_999_999, Err(GrantError::Expired)),
        ] {
            assert_eq!(
                grant(None).check_redemption(&attempt(None), false, at(now)),
                found,
                "{now}"
            );
        }
    }

    // Attack 47.
    #[test]
    fn the_code_of_another_app_is_refused() {
        let other = Redemption { app_id: 3, ..attempt(None) };
        assert_eq!(
            grant(None).check_redemption(&other, false, at(1000)),
            Err(GrantError::OtherApp)
        );
    }

    // Attack 48: here the port counts too.
    #[test]
    fn another_redirect_uri_is_refused() {
        for redirect_uri in ["", "http://127.0.0.1:5001/cb", "http://127.0.0.1/cb"] {
            let other = Redemption { redirect_uri, ..attempt(None) };
            let found = grant(None).check_redemption(&other, false, at(1000));
            assert_eq!(found, Err(GrantError::OtherRedirectUri), "{redirect_uri}");
        }
    }

    // Attacks 50, 51, 53 and 54.
    #[test]
    fn a_verifier_must_be_there_exactly_when_there_was_a_challenge() {
        for (challenge, verifier, error) in [
            (Some(CHALLENGE), None, GrantError::MissingVerifier),
            (Some(CHALLENGE), Some(CHALLENGE), GrantError::WrongVerifier),
            (Some(CHALLENGE), Some("short"), GrantError::MalformedVerifier),
            (None, Some(VERIFIER), GrantError::UnexpectedVerifier),
            (None, Some("short"), GrantError::UnexpectedVerifier),
        ] {
            let verifier = verifier.map(Secret::new);
            let found =
                grant(challenge).check_redemption(&attempt(verifier.as_ref()), false, at(1000));
            assert_eq!(found, Err(error));
        }
    }

    // Attack 44.
    #[test]
    fn a_right_attempt_on_a_spent_code_is_a_replay_however_late() {
        for now in [1000, 1600, 99_999_999] {
            let found = grant(None).check_redemption(&attempt(None), true, at(now));
            assert_eq!(found, Err(GrantError::Replayed), "{now}");
        }
    }

    // Attack 45.
    #[test]
    fn a_wrong_attempt_on_a_spent_code_is_no_replay() {
        let wrong = Secret::new(CHALLENGE);
        for attempt in [
            attempt(None),
            attempt(Some(&wrong)),
            Redemption { app_id: 3, ..attempt(None) },
            Redemption { redirect_uri: "", ..attempt(None) },
        ] {
            let found = grant(Some(CHALLENGE)).check_redemption(&attempt, true, at(1000));
            assert!(!matches!(found, Ok(()) | Err(GrantError::Replayed)), "{attempt:?}");
        }
    }

    #[test]
    fn the_caller_is_told_the_same_of_each() {
        for error in [GrantError::OtherApp, GrantError::MissingVerifier, GrantError::Replayed] {
            assert_eq!(OAuthError::from(error), OAuthError::InvalidGrant);
        }
    }

    #[test]
    fn a_binding_that_is_kept_is_read_back() {
        for challenge in [None, Some(CHALLENGE)] {
            let binding = grant(challenge).binding;
            let json = serde_json::to_string(&binding).unwrap();
            assert_eq!(serde_json::from_str::<Binding>(&json).unwrap(), binding, "{json}");
        }
    }

    proptest! {
        #[test]
        fn any_verifier_and_uri_are_judged(
            verifier in prop::option::of(any::<String>()),
            redirect_uri in any::<String>(),
            spent in any::<bool>(),
        ) {
            let verifier = verifier.map(Secret::new);
            let attempt =
                Redemption { app_id: 1, redirect_uri: &redirect_uri, verifier: verifier.as_ref() };
            prop_assert!(grant(Some(CHALLENGE)).check_redemption(&attempt, spent, at(1000)).is_err());
        }

        #[test]
        fn a_code_expires_after_it_was_issued(
            second in Timestamp::MIN.as_second()..Timestamp::MAX.as_second(),
        ) {
            prop_assert!(Grant::expiry(at(second)) > at(second));
        }
    }
}
