//! Large HTTP/2 responses, sent in pieces to record their progress as connection activity.
//!
//! h2 accepts a complete body and sends it as the peer's flow-control windows allow. Without
//! the pieces, a connection whose peer reads slowly would look idle.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

use super::activity::Activity;

/// Size of a piece: the default maximum of a frame (RFC 9113, section 4.2).
const PIECE_BYTES: usize = 16 * 1024;

/// A body that yields its data in pieces of at most [`PIECE_BYTES`].
struct ProgressBody {
    body: Body,
    /// The rest of the data that was last read from `body`.
    unsent_data: Bytes,
    activity: Arc<Activity>,
}

/// Returns a response that records its progress as activity while it is sent, unless it is small.
pub(super) fn record_progress(response: Response, activity: &Arc<Activity>) -> Response {
    if response.body().size_hint().upper().is_some_and(|size| size <= PIECE_BYTES as u64) {
        return response;
    }
    let activity = Arc::clone(activity);
    response.map(|body| Body::new(ProgressBody { body, unsent_data: Bytes::new(), activity }))
}

impl HttpBody for ProgressBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // hyper polls only when the peer can receive more.
        self.activity.restart_timeout();
        if self.unsent_data.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.unsent_data = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let size = self.unsent_data.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.unsent_data.split_to(size)))))
    }

    fn is_end_stream(&self) -> bool {
        self.unsent_data.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let unsent_bytes = self.unsent_data.len() as u64;
        let body = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower() + unsent_bytes);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + unsent_bytes);
        }
        hint
    }
}
