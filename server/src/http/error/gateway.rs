//! What a failure of the gateway check says.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::limits::original_request::OriginalRequestError;
use serde_json::json;

use crate::http::gateway::Denied;
use crate::http::respond::json::Json;

/// Why a call that another server would carry out is not let through. TrustedProxies pass on a 401 and a
/// 403; what only an operator can mend is a 400.
impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Request(OriginalRequestError::Conflicting) | Self::Scope | Self::Account => {
                StatusCode::FORBIDDEN
            }
            Self::Request(OriginalRequestError::Missing | OriginalRequestError::Incomplete)
            | Self::NoScope(_) => StatusCode::BAD_REQUEST,
            Self::NoToken | Self::Several | Self::Token(_) => StatusCode::UNAUTHORIZED,
            Self::Common(problem) => return problem.into_response(),
        };
        let challenge = match self {
            Self::NoToken => Some("Bearer"),
            Self::Several | Self::Token(_) => Some(r#"Bearer error="invalid_token""#),
            Self::Scope => Some(r#"Bearer error="insufficient_scope""#),
            _ => None,
        };
        let mut answer = (status, Json(json!({ "error": self.to_string() }))).into_response();
        if let Some(challenge) = challenge {
            let challenge = HeaderValue::from_static(challenge);
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        answer
    }
}
