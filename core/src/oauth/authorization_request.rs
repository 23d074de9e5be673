//! The authorization request (RFC 6749, section 4.1.1).

use super::app::App;
use super::error::OAuthError;
use super::language_tag;
use super::parameter::{MAX_STATE_LENGTH, Parameter};
use super::parameters::Parameters;
use super::pkce;
use super::response::{ResponseMode, ResponseTarget};
use super::scope::Scopes;
use crate::secret::Sha256Digest;

/// An authorization request of a known app, with a redirect URI that the app registered.
///
/// Any other error in the request is sent to that URI, but only after the user has signed in, so
/// that the server is not an open redirector (RFC 9700, section 4.11.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationRequest {
    /// The app that sent the request.
    pub app_id: i64,
    /// Where and how the response is sent.
    pub target: ResponseTarget,
    /// The requested grant, or the error to send to the app.
    pub requested: Result<RequestedGrant, OAuthError>,
    /// Whether the user must enter the password again.
    pub force_login: bool,
    /// The language that the app requests for the pages.
    pub lang: Option<String>,
}

/// The grant that an app requests from a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedGrant {
    /// The requested scopes.
    pub scopes: Scopes,
    /// The PKCE challenge, if any.
    pub challenge: Option<Sha256Digest>,
}

/// The next step of an authorization request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Ask the user to sign in.
    SignIn,
    /// Send the error to the app.
    Reject(OAuthError),
    /// Ask the user for consent.
    AskConsent,
    /// Issue a code without asking: the user has approved the same scopes before.
    Approve,
}

impl AuthorizationRequest {
    /// Parses a request, given the app with its client id.
    ///
    /// # Errors
    /// An unknown client, or a redirect URI that is missing, repeated or not registered. These
    /// errors are shown on a page and never redirected, because the redirect URI is not verified.
    pub fn parse(parameters: Parameters<'_>, app: Option<&App>) -> Result<Self, OAuthError> {
        let app = app.ok_or(OAuthError::InvalidClient)?;
        let redirect_uri = parameters.required(Parameter::RedirectUri)?;
        let redirect_uri =
            app.find_redirect_uri(redirect_uri).ok_or(OAuthError::InvalidRedirectUri)?;

        // An error response uses the requested mode and state, if these are valid.
        let mode = response_mode(parameters);
        let state = state(parameters);
        let target = ResponseTarget {
            redirect_uri,
            mode: mode.unwrap_or_default(),
            state: state.ok().flatten().map(str::to_owned),
        };
        // The values of these two are parsed leniently, but a repeated parameter is an error.
        let force_login = parameters.optional(Parameter::ForceLogin);
        let lang = parameters.optional(Parameter::Lang);
        Ok(Self {
            app_id: app.id,
            target,
            requested: response_type(parameters)
                .and(mode)
                .and_then(|_| RequestedGrant::parse(parameters, app))
                .and_then(|grant| state.and(force_login).and(lang).and(Ok(grant))),
            force_login: force_login.ok().flatten().is_some_and(is_true),
            lang: lang.ok().flatten().and_then(language_tag::normalize),
        })
    }

    /// Determines the next step. `signed_in`: whether the user has signed in for this request; a
    /// session suffices, unless the request forces a login. `granted`: the scopes of each active
    /// grant of the user to this app.
    pub fn next_step<'a>(
        &self,
        signed_in: bool,
        granted: impl IntoIterator<Item = &'a Scopes>,
    ) -> NextStep {
        match self.requested {
            _ if !signed_in => NextStep::SignIn,
            Err(error) => NextStep::Reject(error),
            Ok(_) if self.force_login => NextStep::AskConsent,
            Ok(ref requested) if granted.into_iter().any(|scopes| *scopes == requested.scopes) => {
                NextStep::Approve
            }
            Ok(_) => NextStep::AskConsent,
        }
    }
}

impl RequestedGrant {
    fn parse(parameters: Parameters<'_>, app: &App) -> Result<Self, OAuthError> {
        let scopes = app.resolve_scopes(parameters.optional(Parameter::Scope)?)?;
        let method = parameters.optional(Parameter::CodeChallengeMethod)?;
        let challenge = match parameters.optional(Parameter::CodeChallenge)? {
            // A missing method means `plain` (RFC 7636, section 4.3).
            Some(_) if method != Some(pkce::METHOD) => {
                return Err(OAuthError::InvalidChallengeMethod);
            }
            Some(text) => Some(Sha256Digest::from_text(text).ok_or(OAuthError::InvalidChallenge)?),
            None => None,
        };
        Ok(Self { scopes, challenge })
    }
}

fn response_type(parameters: Parameters<'_>) -> Result<(), OAuthError> {
    match parameters.required(Parameter::ResponseType)? {
        "code" => Ok(()),
        _ => Err(OAuthError::UnsupportedResponseType),
    }
}

fn response_mode(parameters: Parameters<'_>) -> Result<ResponseMode, OAuthError> {
    let Some(mode) = parameters.optional(Parameter::ResponseMode)? else {
        return Ok(ResponseMode::default());
    };
    ResponseMode::from_name(mode).ok_or(OAuthError::UnsupportedResponseMode)
}

fn state(parameters: Parameters<'_>) -> Result<Option<&str>, OAuthError> {
    let state = parameters.optional(Parameter::State)?;
    if state.is_some_and(|state| state.len() > MAX_STATE_LENGTH) {
        return Err(OAuthError::StateTooLong);
    }
    Ok(state)
}

/// Whether the value is true. Clients send false in the syntax of their programming language:
/// `False`, `0`, `None`.
fn is_true(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    !matches!(text.as_str(), "" | "0" | "f" | "false" | "n" | "no" | "none" | "null" | "off")
}

#[cfg(test)]
mod tests;
