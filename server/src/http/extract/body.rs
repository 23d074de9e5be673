//! Request bodies, read completely, with a maximum size and a timeout.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use crate::app::AppState;
use crate::http::error::CommonError;

/// The complete body of a request.
pub(crate) struct FullBody(pub(crate) Bytes);

impl FromRequest<Arc<AppState>> for FullBody {
    type Rejection = CommonError;

    async fn from_request(request: Request, state: &Arc<AppState>) -> Result<Self, CommonError> {
        Self::within(state.config.http.max_body_bytes, request, state).await
    }
}

impl FullBody {
    /// Reads a body of at most this many bytes.
    pub(crate) async fn within(
        limit: usize,
        request: Request,
        state: &AppState,
    ) -> Result<Self, CommonError> {
        let length = request
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > limit) {
            return Err(CommonError::BodyTooLarge(limit));
        }
        let body = Limited::new(request.into_body(), limit).collect();
        match timeout(state.config.http.body_timeout, body).await {
            Ok(Ok(body)) => Ok(Self(body.to_bytes())),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                Err(CommonError::BodyTooLarge(limit))
            }
            Ok(Err(_)) => Err(CommonError::BodyIncomplete),
            Err(_) => Err(CommonError::BodyTimeout),
        }
    }
}
