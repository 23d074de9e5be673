//! Bodies: read whole, within a size and a time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use crate::app::AppState;
use crate::http::error::CommonError;

/// The whole body of a request.
pub(crate) struct Whole(pub(crate) Bytes);

impl FromRequest<Arc<AppState>> for Whole {
    type Rejection = CommonError;

    async fn from_request(request: Request, state: &Arc<AppState>) -> Result<Self, CommonError> {
        Self::within(state.config.http.max_body_bytes, request, state).await
    }
}

impl Whole {
    /// The body, if it has at most so many bytes.
    pub(crate) async fn within(
        most: usize,
        request: Request,
        state: &AppState,
    ) -> Result<Self, CommonError> {
        let told = request.headers().get(header::CONTENT_LENGTH);
        let told = told.and_then(|length| length.to_str().ok()?.parse().ok());
        if told.is_some_and(|length: usize| length > most) {
            return Err(CommonError::TooLarge(most));
        }
        read(request.into_body(), most, state.config.http.body_timeout).await.map(Self)
    }
}

async fn read(body: Body, most: usize, deadline: Duration) -> Result<Bytes, CommonError> {
    let reading = Limited::new(body, most).collect();
    match timeout(deadline, reading).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(CommonError::TooLarge(most)),
        Ok(Err(_)) => Err(CommonError::Broken),
        Err(_) => Err(CommonError::TooSlow),
    }
}
