//! Errors of the gateway check.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::limits::original_request::OriginalRequestError;
use belfry_core::oauth::scope::ScopeError;
use serde_json::json;
use thiserror::Error;

use super::CommonError;
use crate::http::respond::json::Json;

/// Why a gateway check does not admit the original request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum GatewayError {
    /// The original request is unknown.
    #[error(transparent)]
    Request(#[from] OriginalRequestError),
    /// The check requires an invalid scope.
    #[error("{0}")]
    InvalidScope(#[from] ScopeError),
    /// The original request has no token.
    #[error("The access token is invalid")]
    MissingToken,
    /// The original request has more than one token.
    #[error("Send the access token once: in the Authorization header or as access_token")]
    SeveralTokens,
    /// The token is invalid, with the reason.
    #[error("{0}")]
    InvalidToken(&'static str),
    /// The account of the token is disabled.
    #[error("Your login is currently disabled")]
    DisabledAccount,
    /// The token lacks a scope that the check requires.
    #[error("This action is outside the authorized scopes")]
    InsufficientScope,
    /// An error that can occur anywhere.
    #[error("{0:?}")]
    Common(CommonError),
}

/// Proxies pass on 401 and 403; an error in the configuration of the proxy is a 400.
impl IntoResponse for GatewayError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Request(OriginalRequestError::Conflicting)
            | Self::InsufficientScope
            | Self::DisabledAccount => StatusCode::FORBIDDEN,
            Self::Request(OriginalRequestError::Missing | OriginalRequestError::Incomplete)
            | Self::InvalidScope(_) => StatusCode::BAD_REQUEST,
            Self::MissingToken | Self::SeveralTokens | Self::InvalidToken(_) => {
                StatusCode::UNAUTHORIZED
            }
            Self::Common(error) => return error.into_response(),
        };
        let challenge = match self {
            Self::MissingToken => Some("Bearer"),
            Self::SeveralTokens | Self::InvalidToken(_) => Some(r#"Bearer error="invalid_token""#),
            Self::InsufficientScope => Some(r#"Bearer error="insufficient_scope""#),
            _ => None,
        };
        let mut response = (status, Json(json!({ "error": self.to_string() }))).into_response();
        if let Some(challenge) = challenge {
            let challenge = HeaderValue::from_static(challenge);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}
