//! Errors of the gateway check.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belfry_core::limits::original_request::OriginalRequestError;
use belfry_core::oauth::scope::ScopeError;
use belfry_core::oauth::token::TokenError;
use serde_json::json;

use super::{CommonError, LimitExceeded, from_common, with_challenge};
use crate::http::respond::json::Json;

/// Why a gateway check does not admit the original request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GatewayError {
    #[error(transparent)]
    Request(#[from] OriginalRequestError),
    /// The check itself requires an invalid scope.
    #[error(transparent)]
    InvalidScope(#[from] ScopeError),
    #[error("The access token is invalid")]
    MissingToken,
    #[error("Send the access token once: in the Authorization header or as access_token")]
    MultipleTokens,
    #[error("The access token is invalid")]
    InvalidToken,
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(
        "The access token belongs to an app and not to a user; a check with app=allow admits it"
    )]
    AppToken,
    #[error("This action is outside the authorized scopes")]
    InsufficientScope,
    #[error(transparent)]
    Common(#[from] CommonError),
}

/// Proxies forward a 401 or 403 to the client. An error in the configuration of the proxy is a 400.
impl IntoResponse for GatewayError {
    fn into_response(self) -> Response {
        let (status, challenge) = match &self {
            Self::Common(error) => return error.clone().into_response(),
            Self::AppToken
            | Self::Request(OriginalRequestError::Conflicting)
            | Self::Token(TokenError::AccountDisabled) => (StatusCode::FORBIDDEN, None),
            Self::InsufficientScope => {
                (StatusCode::FORBIDDEN, Some(r#"Bearer error="insufficient_scope""#))
            }
            Self::Request(OriginalRequestError::Missing | OriginalRequestError::Incomplete)
            | Self::InvalidScope(_) => (StatusCode::BAD_REQUEST, None),
            Self::MissingToken => (StatusCode::UNAUTHORIZED, Some("Bearer")),
            Self::MultipleTokens | Self::InvalidToken | Self::Token(_) => {
                (StatusCode::UNAUTHORIZED, Some(r#"Bearer error="invalid_token""#))
            }
        };
        let body = Json(json!({ "error": self.to_string() }));
        with_challenge((status, body).into_response(), challenge)
    }
}

from_common!(GatewayError from LimitExceeded);
