//! Request bodies, read completely, with a maximum size and a timeout.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::header;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use crate::app::AppState;
use crate::http::error::CommonError;

pub(crate) struct FullBody(pub(crate) Bytes);

impl FromRequest<AppState> for FullBody {
    type Rejection = CommonError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, CommonError> {
        let Ok(body) = UnreadBody::from_request(request, state).await;
        body.read(state.config.http.max_body_bytes).await.map(Self)
    }
}

/// A body that the handler reads, because its maximum size differs from the others, or because other
/// checks come first.
pub(crate) struct UnreadBody {
    content_length: Option<usize>,
    body: Body,
    timeout: Duration,
}

impl FromRequest<AppState> for UnreadBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Infallible> {
        let content_length = request
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let timeout = state.config.http.body_timeout;
        Ok(Self { content_length, body: request.into_body(), timeout })
    }
}

impl UnreadBody {
    /// Returns whether the body is known to have at most this size.
    pub(crate) fn is_at_most(&self, bytes: usize) -> bool {
        self.body.size_hint().upper().is_some_and(|length| length <= bytes as u64)
    }

    pub(crate) async fn read(self, max_bytes: usize) -> Result<Bytes, CommonError> {
        if self.content_length.is_some_and(|length| length > max_bytes) {
            return Err(CommonError::BodyTooLarge(max_bytes));
        }
        let body = Limited::new(self.body, max_bytes).collect();
        match timeout(self.timeout, body).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                Err(CommonError::BodyTooLarge(max_bytes))
            }
            Ok(Err(_)) => Err(CommonError::BodyIncomplete),
            Err(_) => Err(CommonError::BodyTimeout),
        }
    }
}
