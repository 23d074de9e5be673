//! Bodies: read whole, within a size and a time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use super::Belfry;
use super::error::Problem;

/// The whole body of a request.
pub(super) struct Whole(pub(super) Bytes);

impl FromRequest<Arc<Belfry>> for Whole {
    type Rejection = Problem;

    async fn from_request(request: Request, belfry: &Arc<Belfry>) -> Result<Self, Problem> {
        Self::within(belfry.config.http.max_body_bytes, request, belfry).await
    }
}

impl Whole {
    /// The body, if it has at most so many bytes.
    pub(super) async fn within(
        most: usize,
        request: Request,
        belfry: &Belfry,
    ) -> Result<Self, Problem> {
        let told = request.headers().get(header::CONTENT_LENGTH);
        let told = told.and_then(|length| length.to_str().ok()?.parse().ok());
        if told.is_some_and(|length: usize| length > most) {
            return Err(Problem::TooLarge(most));
        }
        read(request.into_body(), most, belfry.config.http.body_timeout).await.map(Self)
    }
}

async fn read(body: Body, most: usize, deadline: Duration) -> Result<Bytes, Problem> {
    let reading = Limited::new(body, most).collect();
    match timeout(deadline, reading).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::TooLarge(most)),
        Ok(Err(_)) => Err(Problem::Broken),
        Err(_) => Err(Problem::TooSlow),
    }
}
