//! Request bodies. With HTTP/1, a small part that a handler does not read is discarded: hyper closes a connection whose request body was not read, without sending `Connection: close`.
//! Clients often send the body in a second packet, so after a response that depends on the head
//! alone (401, 404, 429) their next request would fail.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::{Request, Version, header};
use tokio::time::timeout;

use super::activity::Activity;

/// Maximum number of bytes that are discarded to keep a connection open.
const MAX_DISCARDED_BYTES: usize = 64 * 1024;
/// Maximum time to wait for these bytes.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);

/// The body of a request, shared by its handler and its connection.
#[derive(Clone)]
pub(super) struct RequestBody(Arc<Mutex<BodyState>>);

struct BodyState {
    body: Incoming,
    /// True if the client is expected to send the body: it did not send `Expect`, or the body was
    /// polled, which makes hyper send `100 Continue`.
    is_arriving: bool,
}

impl RequestBody {
    /// Shares the body of a request. The second value is `None` if there is no body, and for
    /// HTTP/2, where an unread body resets only its own stream.
    pub(super) fn share(
        request: Request<Incoming>,
        activity: &Arc<Activity>,
    ) -> (Request<Body>, Option<Self>) {
        if request.body().is_end_stream() {
            return (request.map(Body::new), None);
        }
        if request.version() >= Version::HTTP_2 {
            let activity = Arc::clone(activity);
            return (request.map(|body| Body::new(Http2Body { body, activity })), None);
        }
        let is_arriving = !request.headers().contains_key(header::EXPECT);
        let (parts, body) = request.into_parts();
        let shared_body = Self(Arc::new(Mutex::new(BodyState { body, is_arriving })));
        (Request::from_parts(parts, Body::new(shared_body.clone())), Some(shared_body))
    }

    /// Discards the unread part of the body, if it is small and arrives soon. Returns whether the
    /// body has ended.
    pub(super) async fn discard_unread(self) -> bool {
        let is_small = self.size_hint().lower() <= MAX_DISCARDED_BYTES as u64;
        if !is_small || !self.lock().is_arriving {
            return false;
        }
        let mut unread_body = Limited::new(self, MAX_DISCARDED_BYTES);
        let discard = async {
            while let Some(frame) = unread_body.frame().await {
                if frame.is_err() {
                    return false;
                }
            }
            true
        };
        timeout(DISCARD_TIMEOUT, discard).await.unwrap_or(false)
    }

    fn lock(&self) -> MutexGuard<'_, BodyState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut state = self.lock();
        state.is_arriving = true;
        Pin::new(&mut state.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.lock().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.lock().body.size_hint()
    }
}

/// The body of an HTTP/2 request. Its parts are recorded as activity when a handler reads them.
struct Http2Body {
    body: Incoming,
    activity: Arc<Activity>,
}

impl HttpBody for Http2Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let poll = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &poll {
            self.activity.record_body(frame.data_ref().map_or(0, Bytes::len));
        }
        poll
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
