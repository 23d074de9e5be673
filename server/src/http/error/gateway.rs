//! Errors of the gateway check.

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use belfry_core::json::to_bytes;
use belfry_core::limits::check_options::CheckOptionsError;
use belfry_core::limits::original_request::OriginalRequestError;
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::token::TokenError;
use serde_json::json;

use super::{CommonError, LimitExceeded, describe_missing_scopes, from_common, with_challenge};
use crate::http::json::JsonBytes;

/// The header with a copy of the response body, for proxies that discard the bodies of checks.
const X_ERROR_BODY: HeaderName = HeaderName::from_static("x-error-body");

/// Reason why a gateway check rejects the original request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GatewayError {
    #[error(transparent)]
    Request(#[from] OriginalRequestError),
    /// The query of the check itself is invalid.
    #[error(transparent)]
    Options(#[from] CheckOptionsError),
    #[error("No access token was sent; send it as Authorization: Bearer TOKEN")]
    MissingToken,
    #[error("Send the access token once: in the Authorization header or as access_token")]
    MultipleTokens,
    #[error("The access token is invalid")]
    InvalidToken,
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("The access token belongs to an app; this request requires the token of a user")]
    AppToken,
    #[error("This action is outside the authorized scopes")]
    MissingScopes(Scopes),
    #[error(transparent)]
    Common(#[from] CommonError),
}

impl GatewayError {
    /// Returns whether the proxy is misconfigured. The status is then 400.
    pub(crate) const fn is_misconfiguration(&self) -> bool {
        use OriginalRequestError::{Incomplete, Missing};
        matches!(self, Self::Request(Missing | Incomplete) | Self::Options(_))
    }

    /// Returns the Matrix error code, for clients of a homeserver behind the proxy. Other clients
    /// ignore it.
    const fn errcode(&self) -> &'static str {
        match self {
            Self::MissingToken => "M_MISSING_TOKEN",
            Self::Token(TokenError::AccountDisabled) => "M_USER_DEACTIVATED",
            Self::MultipleTokens | Self::InvalidToken | Self::Token(_) => "M_UNKNOWN_TOKEN",
            Self::AppToken | Self::MissingScopes(_) => "M_FORBIDDEN",
            Self::Request(_) | Self::Options(_) | Self::Common(_) => "M_UNKNOWN",
        }
    }
}

/// Proxies forward a 401 or 403 to the client. A misconfiguration of the proxy is a 400.
impl IntoResponse for GatewayError {
    fn into_response(self) -> Response {
        let mut body = json!({ "errcode": self.errcode(), "error": self.to_string() });
        let (status, challenge) = match &self {
            Self::Common(error) => return error.clone().into_response(),
            Self::AppToken => {
                (StatusCode::FORBIDDEN, Some(r#"Bearer error="insufficient_scope""#.to_owned()))
            }
            Self::Request(OriginalRequestError::Conflicting)
            | Self::Token(TokenError::AccountDisabled) => (StatusCode::FORBIDDEN, None),
            Self::MissingScopes(scopes) => {
                body["error_description"] =
                    describe_missing_scopes(&scopes.iter().collect::<Vec<_>>(), "and").into();
                let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scopes}\"");
                (StatusCode::FORBIDDEN, Some(challenge))
            }
            Self::Request(OriginalRequestError::Missing | OriginalRequestError::Incomplete)
            | Self::Options(_) => (StatusCode::BAD_REQUEST, None),
            Self::MissingToken => (StatusCode::UNAUTHORIZED, Some("Bearer".to_owned())),
            Self::MultipleTokens | Self::InvalidToken | Self::Token(_) => {
                (StatusCode::UNAUTHORIZED, Some(r#"Bearer error="invalid_token""#.to_owned()))
            }
        };
        let body = to_bytes(&body);
        let body_header = HeaderValue::from_bytes(&body);
        let mut response = (status, JsonBytes(body.into())).into_response();
        if let Ok(value) = body_header {
            response.headers_mut().insert(X_ERROR_BODY, value);
        }
        with_challenge(response, challenge.as_deref())
    }
}

from_common!(GatewayError from LimitExceeded);
