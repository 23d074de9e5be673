//! The authorization request, checked as a whole.

use serde::{Deserialize, Serialize};

use super::app::App;
use super::error::OAuthError;
use super::parameter::{MAX_STATE_LENGTH, Parameter};
use super::parameters::Parameters;
use super::pkce::{self, Challenge};
use super::response::{ResponseMode, ResponseTarget};
use super::scope::Scopes;

/// A request of a known app with a redirect URI of its own.
///
/// What else is wrong with it is the app's to hear, at that URI; but only after the user has
/// signed in, so that nobody can use the server to send a stranger's browser elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    /// The app that asks.
    pub app_id: i64,
    /// Where and how it is answered.
    #[serde(rename = "reply")]
    pub target: ResponseTarget,
    /// What is asked, or why that is refused.
    #[serde(rename = "asked")]
    pub requested: Result<RequestedGrant, OAuthError>,
    /// Whether the user must give the password again.
    pub force_login: bool,
    /// The language that the app wishes for its user.
    pub lang: Option<String>,
}

/// What an app asks of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedGrant {
    /// The scopes of the token to come.
    pub scopes: Scopes,
    /// What the token request must prove.
    pub challenge: Option<Challenge>,
}

/// What is to be done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Ask who the user is, by name and password.
    SignIn,
    /// Tell the app why nothing can be granted.
    Reject(OAuthError),
    /// Ask the user.
    AskConsent,
    /// Give the app a code: the user has agreed to the very same before.
    Approve,
}

/// The client that a request names, to be looked up before the rest is read.
///
/// # Errors
/// When it names none or several. Like every refusal from here and from [`AuthorizationRequest::parse`], this
/// is for a page and never for a redirect: nobody has vouched for the redirect URI.
pub fn client_id(parameters: Parameters<'_>) -> Result<&str, OAuthError> {
    parameters.required(Parameter::ClientId)
}

impl AuthorizationRequest {
    /// Checks a request, given the app that [`client_id`] led to.
    ///
    /// # Errors
    /// An unknown client, or a redirect URI that is missing, repeated or not the app's.
    pub fn parse(parameters: Parameters<'_>, app: Option<&App>) -> Result<Self, OAuthError> {
        let app = app.ok_or(OAuthError::InvalidClient)?;
        let sent = parameters.required(Parameter::RedirectUri)?;
        let redirect_uri = app.find_redirect_uri(sent).ok_or(OAuthError::InvalidRedirectUri)?;

        // A refusal still goes by the mode and with the state that can be read.
        let mode = response_mode(parameters);
        let state = state(parameters);
        let readable_state = state.ok().flatten().map(str::to_owned);
        Ok(Self {
            app_id: app.id,
            target: ResponseTarget {
                redirect_uri,
                mode: mode.unwrap_or_default(),
                state: readable_state,
            },
            requested: response_type(parameters)
                .and(mode)
                .and_then(|_| RequestedGrant::parse(parameters, app))
                .and_then(|asked| state.and(Ok(asked)))
                .and_then(|asked| single(parameters).and(Ok(asked))),
            force_login: parameters
                .optional(Parameter::ForceLogin)
                .is_ok_and(|value| value.is_some_and(is_true)),
            lang: parameters.optional(Parameter::Lang).ok().flatten().and_then(language),
        })
    }

    /// What is to be done now. `signed_in` is whether the user has proved who they are for this
    /// request; a session will do, unless the request forces a login. `granted` is what the user
    /// granted this app before and did not take back.
    #[must_use]
    pub fn next_step<'a>(
        &self,
        signed_in: bool,
        granted: impl IntoIterator<Item = &'a Scopes>,
    ) -> NextStep {
        match self.requested {
            _ if !signed_in => NextStep::SignIn,
            Err(refusal) => NextStep::Reject(refusal),
            Ok(_) if self.needs_consent(granted) => NextStep::AskConsent,
            Ok(_) => NextStep::Approve,
        }
    }

    /// Whether the user must be asked, given the scopes of what the user granted this app before
    /// and did not take back.
    #[must_use]
    pub fn needs_consent<'a>(&self, granted: impl IntoIterator<Item = &'a Scopes>) -> bool {
        let Ok(asked) = &self.requested else { return false };
        self.force_login || !granted.into_iter().any(|scopes| *scopes == asked.scopes)
    }
}

impl RequestedGrant {
    fn parse(parameters: Parameters<'_>, app: &App) -> Result<Self, OAuthError> {
        let scopes = app.resolve_scopes(parameters.optional(Parameter::Scope)?)?;
        let method = parameters.optional(Parameter::CodeChallengeMethod)?;
        let challenge = match parameters.optional(Parameter::CodeChallenge)? {
            // No method would mean `plain`.
            Some(_) if method != Some(pkce::METHOD) => {
                return Err(OAuthError::InvalidChallengeMethod);
            }
            Some(text) => Some(Challenge::parse(text).ok_or(OAuthError::InvalidChallenge)?),
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
    parameters.optional(Parameter::ResponseMode)?.map_or(Ok(ResponseMode::Query), str::parse)
}

fn state(parameters: Parameters<'_>) -> Result<Option<&str>, OAuthError> {
    let state = parameters.optional(Parameter::State)?;
    if state.is_some_and(|state| state.len() > MAX_STATE_LENGTH) {
        return Err(OAuthError::StateTooLong);
    }
    Ok(state)
}

/// Refuses those parameters that are read leniently when they are there twice.
fn single(parameters: Parameters<'_>) -> Result<(), OAuthError> {
    parameters.optional(Parameter::ForceLogin)?;
    parameters.optional(Parameter::Lang)?;
    Ok(())
}

/// Clients write their language's idea of false: `False`, `0`, `None`.
fn is_true(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    !matches!(text.as_str(), "" | "0" | "f" | "false" | "n" | "no" | "none" | "null" | "off")
}

/// A language tag like `de` or `pt-BR`; anything else is as good as none.
fn language(text: &str) -> Option<String> {
    let mut parts = text.split(['-', '_']);
    let primary = parts.next().unwrap_or_default();
    let is_primary =
        (2..=3).contains(&primary.len()) && primary.bytes().all(|b| b.is_ascii_alphabetic());
    let is_rest = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    (is_primary && text.len() <= 35 && parts.all(is_rest)).then(|| text.replace('_', "-"))
}

#[cfg(test)]
mod tests;
