//! Request bodies, read completely, with a maximum size and a timeout.

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
        Self::read_at_most(state.config.http.max_body_bytes, request, state).await
    }
}

impl FullBody {
    pub(crate) async fn read_at_most(
        max_bytes: usize,
        request: Request,
        state: &AppState,
    ) -> Result<Self, CommonError> {
        let content_length = request
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        if content_length.is_some_and(|length: usize| length > max_bytes) {
            return Err(CommonError::BodyTooLarge(max_bytes));
        }
        let body = Limited::new(request.into_body(), max_bytes).collect();
        match timeout(state.config.http.body_timeout, body).await {
            Ok(Ok(body)) => Ok(Self(body.to_bytes())),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                Err(CommonError::BodyTooLarge(max_bytes))
            }
            Ok(Err(_)) => Err(CommonError::BodyIncomplete),
            Err(_) => Err(CommonError::BodyTimeout),
        }
    }
}
