//! Errors of the OAuth endpoints, with their protocol codes and descriptions.

use strum::IntoStaticStr;
use thiserror::Error;

use super::parameter::{MAX_STATE_LENGTH, Parameter};

/// Maximum length of a scope name in an error. All known names are shorter.
const MAX_SCOPE_NAME_BYTES: usize = 64;

/// The reason an OAuth request is rejected. The message is the `error_description`, except for
/// [`InvalidGrant`](Self::InvalidGrant).
#[derive(Debug, Clone, PartialEq, Eq, Error, IntoStaticStr)]
pub enum OAuthError {
    #[error("Missing required parameter: {0}.")]
    Missing(Parameter),
    #[error("The parameter {0} was sent more than once.")]
    Repeated(Parameter),
    /// A known parameter is a list or a map, like `scope[]`.
    #[error("The parameter {0} must be one value, not a list.")]
    NotScalar(Parameter),
    #[error("The parameter state is too long (maximum is {MAX_STATE_LENGTH} bytes).")]
    StateTooLong,
    #[error("The parameters are too long.")]
    ParametersTooLong,
    /// The response does not distinguish the two cases, so it does not reveal which clients exist.
    /// A disabled client counts as unknown.
    #[error("The client is unknown or its secret is wrong.")]
    InvalidClient,
    /// The client of an authorization request is unknown or disabled.
    #[error("There is no app with this client_id.")]
    UnknownClient,
    /// The client id or the secret is absent, or the `Authorization` header is malformed.
    #[error("Send client_id and client_secret in the body, or as HTTP Basic authentication.")]
    MissingOrMalformedCredentials,
    /// The client authenticates in two ways, or sends two client ids.
    #[error("The request utilizes more than one mechanism for authenticating the client.")]
    MultipleAuthMethods,
    #[error(
        "This redirect_uri is not registered for the app. Only with 127.0.0.1 or [::1] as the host \
         may its port differ."
    )]
    InvalidRedirectUri,
    #[error("The authorization server does not support this response type.")]
    UnsupportedResponseType,
    #[error("The authorization server does not support this response mode.")]
    UnsupportedResponseMode,
    /// The separators are wrong, or a scope contains a character that RFC 6749, section 3.3, does
    /// not allow (such as a quote, a backslash or a non-ASCII character).
    #[error("Separate scopes by single spaces, without quotes or control characters.")]
    MalformedScope,
    #[error("The scope {0} does not exist.")]
    UnknownScope(TruncatedScopeName),
    #[error("The client did not register the scope {0}.")]
    UnregisteredScope(TruncatedScopeName),
    #[error("No scope was sent, so {0} was assumed, which the client did not register.")]
    UnregisteredDefaultScope(&'static str),
    /// The scope was requested from a user who is not an admin, or for an app token.
    #[error("Only an admin can grant the scope {0}.")]
    AdminScopeDenied(TruncatedScopeName),
    #[error(
        "Request urn:matrix:client:api:* together with exactly one scope \
         urn:matrix:client:device:ID, where ID is the client's device."
    )]
    DeviceScope,
    /// The method is not `S256`, or is absent, which means `plain`.
    #[error("The code_challenge_method must be S256.")]
    InvalidChallengeMethod,
    #[error("The code_challenge must be a SHA-256 digest as 43 characters of base64url.")]
    InvalidChallenge,
    #[error("The resource owner or authorization server denied the request.")]
    AccessDenied,
    #[error("The authorization grant type is not supported by the authorization server.")]
    UnsupportedGrantType,
    /// The client may not use this grant type.
    #[error("The client is not authorized to perform this request using this method.")]
    UnauthorizedClient,
    /// The code cannot be redeemed. The reason is recorded; the response contains only
    /// [`CodeError::description`](super::grant::CodeError::description).
    #[error("The code is unknown, expired, revoked or used, or was issued to another client.")]
    InvalidGrant,
    #[error("The refresh token does not have all of these scopes.")]
    RefreshScope,
    #[error(
        "The refresh token is unknown, expired, revoked or used, or was issued to another client."
    )]
    InvalidRefreshToken,
    /// The client may not revoke the token, or did not authenticate.
    #[error("You are not authorized to revoke this token")]
    UnauthorizedRevocation,
}

impl OAuthError {
    /// Returns the value of `error` in a response (RFC 6749, sections 4.1.2.1 and 5.2).
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing(_)
            | Self::Repeated(_)
            | Self::NotScalar(_)
            | Self::StateTooLong
            | Self::ParametersTooLong
            | Self::MultipleAuthMethods
            | Self::InvalidRedirectUri
            | Self::UnsupportedResponseMode
            | Self::InvalidChallengeMethod
            | Self::InvalidChallenge => "invalid_request",
            Self::InvalidClient | Self::UnknownClient | Self::MissingOrMalformedCredentials => {
                "invalid_client"
            }
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::MalformedScope
            | Self::UnknownScope(_)
            | Self::UnregisteredScope(_)
            | Self::UnregisteredDefaultScope(_)
            | Self::AdminScopeDenied(_)
            | Self::DeviceScope
            | Self::RefreshScope => "invalid_scope",
            Self::AccessDenied => "access_denied",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidGrant | Self::InvalidRefreshToken => "invalid_grant",
            Self::UnauthorizedClient | Self::UnauthorizedRevocation => "unauthorized_client",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TruncatedScopeName(String);

impl From<&str> for TruncatedScopeName {
    fn from(name: &str) -> Self {
        Self(name[..name.floor_char_boundary(MAX_SCOPE_NAME_BYTES)].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every error, with its protocol code.
    fn all_errors() -> [(OAuthError, &'static str); 24] {
        let scope = || TruncatedScopeName::from("a");
        [
            (OAuthError::Missing(Parameter::ClientId), "invalid_request"),
            (OAuthError::Repeated(Parameter::Scope), "invalid_request"),
            (OAuthError::NotScalar(Parameter::Scope), "invalid_request"),
            (OAuthError::StateTooLong, "invalid_request"),
            (OAuthError::ParametersTooLong, "invalid_request"),
            (OAuthError::InvalidClient, "invalid_client"),
            (OAuthError::UnknownClient, "invalid_client"),
            (OAuthError::MissingOrMalformedCredentials, "invalid_client"),
            (OAuthError::MultipleAuthMethods, "invalid_request"),
            (OAuthError::InvalidRedirectUri, "invalid_request"),
            (OAuthError::UnsupportedResponseType, "unsupported_response_type"),
            (OAuthError::UnsupportedResponseMode, "invalid_request"),
            (OAuthError::MalformedScope, "invalid_scope"),
            (OAuthError::UnknownScope(scope()), "invalid_scope"),
            (OAuthError::UnregisteredScope(scope()), "invalid_scope"),
            (OAuthError::UnregisteredDefaultScope("read"), "invalid_scope"),
            (OAuthError::AdminScopeDenied(scope()), "invalid_scope"),
            (OAuthError::InvalidChallengeMethod, "invalid_request"),
            (OAuthError::InvalidChallenge, "invalid_request"),
            (OAuthError::AccessDenied, "access_denied"),
            (OAuthError::UnsupportedGrantType, "unsupported_grant_type"),
            (OAuthError::UnauthorizedClient, "unauthorized_client"),
            (OAuthError::InvalidGrant, "invalid_grant"),
            (OAuthError::UnauthorizedRevocation, "unauthorized_client"),
        ]
    }

    // RFC 6749, sections 4.1.2.1 and 5.2: printable ASCII without quote and backslash.
    #[test]
    fn a_description_contains_only_characters_that_the_protocol_allows() {
        for (error, _) in all_errors() {
            let description = error.to_string();
            let is_allowed = |b| matches!(b, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~');
            assert!(
                !description.is_empty() && description.bytes().all(is_allowed),
                "{description}"
            );
        }
    }

    #[test]
    fn every_error_has_its_protocol_code() {
        for (error, code) in all_errors() {
            assert_eq!(error.code(), code, "{error}");
        }
    }

    #[test]
    fn the_description_names_the_parameter() {
        let error = OAuthError::Missing(Parameter::GrantType);
        assert_eq!(error.to_string(), "Missing required parameter: grant_type.");
    }

    #[test]
    fn the_description_names_the_scope_up_to_a_maximum() {
        let error = OAuthError::UnknownScope("reed".into());
        assert_eq!(error.to_string(), "The scope reed does not exist.");
        let description =
            OAuthError::UnregisteredScope("a".repeat(1000).as_str().into()).to_string();
        assert_eq!(description.matches('a').count(), MAX_SCOPE_NAME_BYTES);
    }
}
