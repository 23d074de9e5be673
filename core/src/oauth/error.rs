//! What an OAuth endpoint refuses, by its own name, with the protocol's code and description.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::parameter::{MAX_STATE_LENGTH, Parameter};

/// The codes of RFC 6749 that stand in the field `error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The request itself is wrong.
    InvalidRequest,
    /// The client did not prove who it is.
    InvalidClient,
    /// The code cannot be spent so.
    InvalidGrant,
    /// The client may not do this.
    UnauthorizedClient,
    /// A grant type other than those of the metadata.
    UnsupportedGrantType,
    /// A response type other than `code`.
    UnsupportedResponseType,
    /// A scope that is malformed, unknown or not declared by the app.
    InvalidScope,
    /// The user said no.
    AccessDenied,
}

impl ErrorCode {
    /// The code as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::AccessDenied => "access_denied",
        }
    }
}

/// Why an OAuth request is refused. Its text is the `error_description`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OAuthError {
    /// A required parameter is absent or empty.
    #[error("Missing required parameter: {0}.")]
    Missing(Parameter),
    /// A known parameter is there more than once.
    #[error("The parameter {0} was sent more than once.")]
    Repeated(Parameter),
    /// A known parameter is sent as a list or a map, like `scope[]`.
    #[error("The parameter {0} must be one value, not a list.")]
    NotOneValue(Parameter),
    /// The state is longer than is kept.
    #[error("The parameter state is too long (maximum is {MAX_STATE_LENGTH} bytes).")]
    StateTooLong,
    /// The client is unknown, or its secret is wrong or absent: one answer for all.
    #[error(
        "Client authentication failed due to unknown client, no client authentication included, \
         or unsupported authentication method."
    )]
    InvalidClient,
    /// The client authenticates in two ways, or names two clients.
    #[error("The request utilizes more than one mechanism for authenticating the client.")]
    TwoAuthentications,
    /// The redirect URI is not one that the app registered.
    #[error("The redirect uri included is not valid.")]
    InvalidRedirectUri,
    /// A response type other than `code`.
    #[error("The authorization server does not support this response type.")]
    UnsupportedResponseType,
    /// A response mode other than those of the metadata.
    #[error("The authorization server does not support this response mode.")]
    UnsupportedResponseMode,
    /// A scope that is malformed, unknown or not declared by the app.
    #[error("The requested scope is invalid, unknown, or malformed.")]
    InvalidScope,
    /// A challenge with another method, or with none, which would mean `plain`.
    #[error("The code_challenge_method must be S256.")]
    InvalidChallengeMethod,
    /// A challenge that no SHA-256 can have.
    #[error("The code_challenge must be a SHA-256 digest as 43 characters of base64url.")]
    InvalidChallenge,
    /// The user said no.
    #[error("The resource owner or authorization server denied the request.")]
    AccessDenied,
    /// A grant type other than those of the metadata.
    #[error("The authorization grant type is not supported by the authorization server.")]
    UnsupportedGrantType,
    /// The code cannot be spent so; why is for the log, not for the caller.
    #[error(
        "The provided authorization grant is invalid, expired, revoked, does not match the \
         redirection URI used in the authorization request, or was issued to another client."
    )]
    InvalidGrant,
    /// Revocation of a token that is not the caller's, or by a caller who is nobody.
    #[error("You are not authorized to revoke this token")]
    UnauthorizedRevocation,
}

impl OAuthError {
    /// The protocol's code for it.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Missing(_)
            | Self::Repeated(_)
            | Self::NotOneValue(_)
            | Self::StateTooLong
            | Self::TwoAuthentications
            | Self::InvalidRedirectUri
            | Self::UnsupportedResponseMode
            | Self::InvalidChallengeMethod
            | Self::InvalidChallenge => ErrorCode::InvalidRequest,
            Self::InvalidClient => ErrorCode::InvalidClient,
            Self::UnsupportedResponseType => ErrorCode::UnsupportedResponseType,
            Self::InvalidScope => ErrorCode::InvalidScope,
            Self::AccessDenied => ErrorCode::AccessDenied,
            Self::UnsupportedGrantType => ErrorCode::UnsupportedGrantType,
            Self::InvalidGrant => ErrorCode::InvalidGrant,
            Self::UnauthorizedRevocation => ErrorCode::UnauthorizedClient,
        }
    }

    /// The key of its text in the reader's language, for the pages that show it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Missing(_) => "refusal-missing",
            Self::Repeated(_) => "refusal-repeated",
            Self::NotOneValue(_) => "refusal-not-one-value",
            Self::StateTooLong => "refusal-state-too-long",
            Self::InvalidClient => "refusal-invalid-client",
            Self::TwoAuthentications => "refusal-two-authentications",
            Self::InvalidRedirectUri => "refusal-invalid-redirect-uri",
            Self::UnsupportedResponseType => "refusal-unsupported-response-type",
            Self::UnsupportedResponseMode => "refusal-unsupported-response-mode",
            Self::InvalidScope => "refusal-invalid-scope",
            Self::InvalidChallengeMethod => "refusal-invalid-challenge-method",
            Self::InvalidChallenge => "refusal-invalid-challenge",
            Self::AccessDenied => "refusal-access-denied",
            Self::UnsupportedGrantType => "refusal-unsupported-grant-type",
            Self::InvalidGrant => "refusal-invalid-grant",
            Self::UnauthorizedRevocation => "refusal-not-your-token",
        }
    }

    /// The parameter that the text names, if it names one.
    #[must_use]
    pub const fn parameter(self) -> Option<Parameter> {
        match self {
            Self::Missing(name) | Self::Repeated(name) | Self::NotOneValue(name) => Some(name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [OAuthError; 16] = [
        OAuthError::Missing(Parameter::ClientId),
        OAuthError::Repeated(Parameter::Scope),
        OAuthError::NotOneValue(Parameter::Scope),
        OAuthError::StateTooLong,
        OAuthError::InvalidClient,
        OAuthError::TwoAuthentications,
        OAuthError::InvalidRedirectUri,
        OAuthError::UnsupportedResponseType,
        OAuthError::UnsupportedResponseMode,
        OAuthError::InvalidScope,
        OAuthError::InvalidChallengeMethod,
        OAuthError::InvalidChallenge,
        OAuthError::AccessDenied,
        OAuthError::UnsupportedGrantType,
        OAuthError::InvalidGrant,
        OAuthError::UnauthorizedRevocation,
    ];

    // RFC 6749, sections 4.1.2.1 and 5.2: printable ASCII without quote and backslash.
    #[test]
    fn a_description_holds_only_characters_that_the_protocol_allows() {
        for refusal in ALL {
            let text = refusal.to_string();
            let allowed = |b| matches!(b, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~');
            assert!(!text.is_empty() && text.bytes().all(allowed), "{text}");
        }
    }

    #[test]
    fn no_two_refusals_share_a_key() {
        let mut keys: Vec<&str> = ALL.iter().map(|refusal| refusal.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), ALL.len());
    }

    #[test]
    fn the_codes_are_those_of_the_protocol() {
        for (refusal, code) in [
            (OAuthError::Missing(Parameter::ClientId), "invalid_request"),
            (OAuthError::InvalidClient, "invalid_client"),
            (OAuthError::TwoAuthentications, "invalid_request"),
            (OAuthError::UnsupportedResponseType, "unsupported_response_type"),
            (OAuthError::UnsupportedResponseMode, "invalid_request"),
            (OAuthError::InvalidScope, "invalid_scope"),
            (OAuthError::InvalidChallengeMethod, "invalid_request"),
            (OAuthError::AccessDenied, "access_denied"),
            (OAuthError::UnsupportedGrantType, "unsupported_grant_type"),
            (OAuthError::InvalidGrant, "invalid_grant"),
            (OAuthError::UnauthorizedRevocation, "unauthorized_client"),
        ] {
            assert_eq!(refusal.code().as_str(), code);
        }
    }

    #[test]
    fn a_refusal_that_is_kept_is_read_back() {
        for refusal in ALL {
            let json = serde_json::to_string(&refusal).unwrap();
            assert_eq!(serde_json::from_str::<OAuthError>(&json).unwrap(), refusal, "{json}");
        }
    }

    #[test]
    fn the_text_names_the_parameter() {
        let missing = OAuthError::Missing(Parameter::GrantType);
        assert_eq!(missing.to_string(), "Missing required parameter: grant_type.");
        assert_eq!(missing.parameter(), Some(Parameter::GrantType));
        assert_eq!(OAuthError::InvalidScope.parameter(), None);
    }
}
