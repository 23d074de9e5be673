//! The authorization request (RFC 6749, section 4.1.1).

use super::app::{App, MAX_URIS_LENGTH};
use super::authorization_response::{ResponseMode, ResponseTarget};
use super::client::{AuthMethod, GrantType};
use super::error::OAuthError;
use super::grant::Grant;
use super::issuer_policy::IssuerPolicy;
use super::parameter::{MAX_STATE_LENGTH, Parameter};
use super::parameters::Parameters;
use super::pkce;
use super::scope::{Scope, Scopes};
use crate::account::Role;
use crate::form::{Pairs, is_true};
use crate::language_tag;
use crate::secret::Sha256Digest;

/// The maximum length of all parameters together, in bytes: a redirect URI and a state of maximum
/// length, and 2 KiB for the others.
const MAX_REQUEST_LENGTH: usize = MAX_URIS_LENGTH + MAX_STATE_LENGTH + 2048;

/// The maximum length of a name in `login_hint`, in characters. Longer ones are truncated.
const MAX_LOGIN_HINT_LENGTH: usize = 100;

/// An authorization request from a known app, with a redirect URI that the app registered.
///
/// Any other error in the request is sent to that URI, but only after the user has signed in, and
/// only if the user has approved the app before. Otherwise the server would be an open redirector
/// (RFC 9700, section 4.11.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationRequest {
    pub app_id: i64,
    pub target: ResponseTarget,
    /// The requested grant, or the error to send to the app.
    pub grant: Result<RequestedGrant, OAuthError>,
    /// True if the user must enter the password again.
    pub force_login: bool,
    /// The language that the app requests for the pages.
    pub lang: Option<String>,
    /// The name of the user who is expected to sign in.
    pub login_hint: Option<String>,
    /// True if the app asks for the sign-up page.
    pub prefers_sign_up: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedGrant {
    pub scopes: Scopes,
    /// The PKCE challenge, if any.
    pub challenge: Option<Sha256Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    SignIn,
    /// Send the error to the app, which the user has approved before.
    Reject(OAuthError),
    /// Show the error, with a link to the app. The user has not approved the app, and a redirect
    /// without the user's action would enable phishing (RFC 9700, section 4.11.2).
    ShowError(OAuthError),
    RequestConsent,
    /// Issue a code without asking: an earlier consent implies this one.
    Approve,
}

impl AuthorizationRequest {
    /// The parameters that are read in addition to `client_id`.
    const PARAMETERS: [Parameter; 11] = [
        Parameter::RedirectUri,
        Parameter::ResponseType,
        Parameter::ResponseMode,
        Parameter::Scope,
        Parameter::State,
        Parameter::CodeChallenge,
        Parameter::CodeChallengeMethod,
        Parameter::ForceLogin,
        Parameter::Lang,
        Parameter::LoginHint,
        Parameter::Prompt,
    ];

    /// Returns the pairs of a request that [`AuthorizationRequest::parse`] reads, to be stored
    /// until the user has decided. Others are omitted, because anyone can send them. Pairs longer
    /// than those of any valid request are rejected.
    pub fn relevant_pairs(pairs: &Pairs) -> Result<Pairs, OAuthError> {
        let is_read = |name: &str| {
            let is_named = |parameter: &Parameter| {
                let suffix = name.strip_prefix(parameter.as_str());
                suffix.is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('['))
            };
            Self::PARAMETERS.iter().any(is_named)
        };
        let relevant_pairs: Pairs =
            pairs.iter().filter(|(name, _)| is_read(name)).cloned().collect();
        let length: usize =
            relevant_pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
        if length > MAX_REQUEST_LENGTH {
            Err(OAuthError::ParametersTooLong)
        } else {
            Ok(relevant_pairs)
        }
    }

    /// Parses a request, given the app with its client id.
    ///
    /// # Errors
    /// If the app is unknown, or the redirect URI is missing, repeated or not registered. Such an
    /// error is shown on a page and never redirected. Other errors are stored in
    /// [`grant`](AuthorizationRequest::grant).
    pub fn parse(
        policy: &IssuerPolicy,
        parameters: Parameters<'_>,
        app: Option<&App>,
    ) -> Result<Self, OAuthError> {
        let app = app
            .filter(|app| app.properties.issuer == policy.issuer)
            .ok_or(OAuthError::UnknownClient)?;
        let redirect_uri = app
            .find_redirect_uri(parameters.required(Parameter::RedirectUri)?)
            .ok_or(OAuthError::InvalidRedirectUri)?;

        // An error response uses the requested mode and state, if these are valid.
        let target = ResponseTarget {
            redirect_uri,
            mode: parse_response_mode(parameters).unwrap_or_default(),
            state: parse_state(parameters).ok().flatten().map(str::to_owned),
        };
        let optional_value = |parameter| parameters.optional(parameter).ok().flatten();
        Ok(Self {
            app_id: app.id,
            target,
            grant: RequestedGrant::parse(policy, parameters, app),
            force_login: optional_value(Parameter::ForceLogin).is_some_and(is_true),
            lang: optional_value(Parameter::Lang).and_then(language_tag::normalize),
            login_hint: optional_value(Parameter::LoginHint)
                .filter(|_| policy.issues_families())
                .map(parse_login_hint),
            prefers_sign_up: policy.issues_families()
                && optional_value(Parameter::Prompt) == Some("create"),
        })
    }

    /// Returns the requested grant, if a user with `role` may grant it. A request for an admin
    /// scope is invalid for users who are not admins, even if it has other scopes, because the app
    /// does not expect to get less than it requested.
    pub fn requested_grant(&self, role: Role) -> Result<&RequestedGrant, OAuthError> {
        let requested_grant = self.grant.as_ref().map_err(OAuthError::clone)?;
        requested_grant.scopes.check_role(Some(role))?;
        Ok(requested_grant)
    }

    /// Determines the next step. `role` is the user's role, if they signed in for this request, or
    /// have a session and the request does not force a login. `grants` are the user's active grants
    /// to this app.
    pub fn next_step(
        &self,
        policy: &IssuerPolicy,
        role: Option<Role>,
        grants: &[Grant],
    ) -> NextStep {
        let Some(role) = role else { return NextStep::SignIn };
        match self.requested_grant(role) {
            Err(error) if grants.is_empty() => NextStep::ShowError(error),
            Err(error) => NextStep::Reject(error),
            Ok(requested_grant) if self.is_implied(policy, requested_grant, grants) => {
                NextStep::Approve
            }
            Ok(_) => NextStep::RequestConsent,
        }
    }

    /// Returns whether an earlier consent implies this one: it was for exactly the same scopes, none
    /// of them an admin scope, the request does not force a login, and no other program can get a
    /// token for the code. Any program can listen on a loopback port or claim a private-use scheme,
    /// so these require PKCE and the same URI (RFC 8252, section 8.6). Any website can request a
    /// response mode, and in modes other than `query` the code bypasses the app's server, or reaches
    /// it in a form that it may not expect.
    fn is_implied(
        &self,
        policy: &IssuerPolicy,
        requested_grant: &RequestedGrant,
        grants: &[Grant],
    ) -> bool {
        let uri = &self.target.redirect_uri;
        let is_protected = |grant: &Grant| {
            let is_same_uri = grant.redirect_uri.as_deref() == Some(uri.as_str());
            let has_pkce = policy.implies_consent_with_pkce && requested_grant.challenge.is_some();
            uri.is_https() || (has_pkce && is_same_uri)
        };
        let scopes = requested_grant.scopes.clone().without_devices();
        let implies_consent = |grant: &Grant| grant.scopes == scopes && is_protected(grant);
        !self.force_login
            && self.target.mode == ResponseMode::Query
            && !requested_grant.scopes.iter().any(Scope::is_admin)
            && grants.iter().any(implies_consent)
    }
}

impl RequestedGrant {
    fn parse(
        policy: &IssuerPolicy,
        parameters: Parameters<'_>,
        app: &App,
    ) -> Result<Self, OAuthError> {
        if parameters.required(Parameter::ResponseType)? != "code" {
            return Err(OAuthError::UnsupportedResponseType);
        }
        parse_response_mode(parameters)?;
        app.properties.check_grant_type(GrantType::AuthorizationCode)?;
        let scopes = app.resolve_scopes(policy, parameters.optional(Parameter::Scope)?)?;
        let method = parameters.optional(Parameter::CodeChallengeMethod)?;
        let challenge = match parameters.optional(Parameter::CodeChallenge)? {
            // A missing method means `plain` (RFC 7636, section 4.3).
            Some(_) if method != Some(pkce::METHOD) => {
                return Err(OAuthError::InvalidChallengeMethod);
            }
            Some(challenge) => {
                Some(Sha256Digest::from_text(challenge).ok_or(OAuthError::InvalidChallenge)?)
            }
            None => None,
        };
        parse_state(parameters)?;
        // The values of these two are parsed leniently, but a repeated parameter is an error.
        for parameter in [Parameter::ForceLogin, Parameter::Lang] {
            parameters.optional(parameter)?;
        }
        let is_public = app.properties.auth_method == AuthMethod::None;
        if (policy.requires_pkce || is_public) && challenge.is_none() {
            return Err(OAuthError::Missing(Parameter::CodeChallenge));
        }
        Ok(Self { scopes, challenge })
    }
}

/// Returns the name in a hint: of a Matrix user id after `mxid:`, the part without the server.
fn parse_login_hint(hint: &str) -> String {
    let user_id = hint.strip_prefix("mxid:").unwrap_or(hint);
    let name = user_id.strip_prefix('@').and_then(|rest| rest.split_once(':'));
    name.map_or(hint, |(name, _)| name).chars().take(MAX_LOGIN_HINT_LENGTH).collect()
}

fn parse_response_mode(parameters: Parameters<'_>) -> Result<ResponseMode, OAuthError> {
    let Some(mode) = parameters.optional(Parameter::ResponseMode)? else {
        return Ok(ResponseMode::default());
    };
    ResponseMode::from_name(mode).ok_or(OAuthError::UnsupportedResponseMode)
}

fn parse_state(parameters: Parameters<'_>) -> Result<Option<&str>, OAuthError> {
    let state = parameters.optional(Parameter::State)?;
    if state.is_some_and(|state| state.len() > MAX_STATE_LENGTH) {
        return Err(OAuthError::StateTooLong);
    }
    Ok(state)
}

#[cfg(test)]
mod tests;
