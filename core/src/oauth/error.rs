//! Errors of the OAuth endpoints, with their protocol codes and descriptions.

use thiserror::Error;

use super::parameter::{MAX_STATE_LENGTH, Parameter};

/// Why an OAuth request is rejected. Its text is the `error_description`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the error texts describe them")]
pub enum OAuthError {
    #[error("Missing required parameter: {0}.")]
    Missing(Parameter),
    #[error("The parameter {0} was sent more than once.")]
    Repeated(Parameter),
    /// A known parameter is a list or a map, like `scope[]`.
    #[error("The parameter {0} must be one value, not a list.")]
    NotOneValue(Parameter),
    #[error("The parameter state is too long (maximum is {MAX_STATE_LENGTH} bytes).")]
    StateTooLong,
    #[error("The parameters are too long.")]
    TooLong,
    /// The client is unknown, or its secret is wrong or absent. The response does not say which.
    #[error(
        "Client authentication failed due to unknown client, no client authentication included, \
         or unsupported authentication method."
    )]
    InvalidClient,
    /// The client authenticates in two ways, or sends two client ids.
    #[error("The request utilizes more than one mechanism for authenticating the client.")]
    TwoAuthentications,
    #[error("The redirect uri included is not valid.")]
    InvalidRedirectUri,
    #[error("The authorization server does not support this response type.")]
    UnsupportedResponseType,
    #[error("The authorization server does not support this response mode.")]
    UnsupportedResponseMode,
    #[error("The requested scope is invalid, unknown, or malformed.")]
    InvalidScope,
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
    /// The code cannot be redeemed. The reason is logged, not sent.
    #[error(
        "The provided authorization grant is invalid, expired, revoked, does not match the \
         redirection URI used in the authorization request, or was issued to another client."
    )]
    InvalidGrant,
    /// The client may not revoke the token, or did not authenticate.
    #[error("You are not authorized to revoke this token")]
    UnauthorizedRevocation,
}

impl OAuthError {
    /// The value of `error` in a response (RFC 6749, sections 4.1.2.1 and 5.2).
    pub const fn code(self) -> &'static str {
        match self {
            Self::Missing(_)
            | Self::Repeated(_)
            | Self::NotOneValue(_)
            | Self::StateTooLong
            | Self::TooLong
            | Self::TwoAuthentications
            | Self::InvalidRedirectUri
            | Self::UnsupportedResponseMode
            | Self::InvalidChallengeMethod
            | Self::InvalidChallenge => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::AccessDenied => "access_denied",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient | Self::UnauthorizedRevocation => "unauthorized_client",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every error, with its protocol code.
    const ALL: [(OAuthError, &str); 18] = [
        (OAuthError::Missing(Parameter::ClientId), "invalid_request"),
        (OAuthError::Repeated(Parameter::Scope), "invalid_request"),
        (OAuthError::NotOneValue(Parameter::Scope), "invalid_request"),
        (OAuthError::StateTooLong, "invalid_request"),
        (OAuthError::TooLong, "invalid_request"),
        (OAuthError::InvalidClient, "invalid_client"),
        (OAuthError::TwoAuthentications, "invalid_request"),
        (OAuthError::InvalidRedirectUri, "invalid_request"),
        (OAuthError::UnsupportedResponseType, "unsupported_response_type"),
        (OAuthError::UnsupportedResponseMode, "invalid_request"),
        (OAuthError::InvalidScope, "invalid_scope"),
        (OAuthError::InvalidChallengeMethod, "invalid_request"),
        (OAuthError::InvalidChallenge, "invalid_request"),
        (OAuthError::AccessDenied, "access_denied"),
        (OAuthError::UnsupportedGrantType, "unsupported_grant_type"),
        (OAuthError::UnauthorizedClient, "unauthorized_client"),
        (OAuthError::InvalidGrant, "invalid_grant"),
        (OAuthError::UnauthorizedRevocation, "unauthorized_client"),
    ];

    // RFC 6749, sections 4.1.2.1 and 5.2: printable ASCII without quote and backslash.
    #[test]
    fn a_description_contains_only_characters_that_the_protocol_allows() {
        for (error, _) in ALL {
            let text = error.to_string();
            let allowed = |b| matches!(b, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~');
            assert!(!text.is_empty() && text.bytes().all(allowed), "{text}");
        }
    }

    #[test]
    fn every_error_has_its_protocol_code() {
        for (error, code) in ALL {
            assert_eq!(error.code(), code, "{error}");
        }
    }

    #[test]
    fn the_description_names_the_parameter() {
        let missing = OAuthError::Missing(Parameter::GrantType);
        assert_eq!(missing.to_string(), "Missing required parameter: grant_type.");
    }
}
