//! A connection's stream, which records reads and writes as activity.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::activity::Activity;

/// Maximum time for the peer to read the last response when a connection is closed.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct RecordingStream<S> {
    stream: S,
    activity: Arc<Activity>,
    /// Limits how long the unread part of a request body is discarded.
    discard_timer: Option<Pin<Box<Sleep>>>,
}

impl<S> RecordingStream<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity, discard_timer: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RecordingStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled_before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.activity.record_read(&buffer.filled()[filled_before..]))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for RecordingStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let byte_count = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.activity.record_write();
        Poll::Ready(Ok(byte_count))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let byte_count = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices))?;
        self.activity.record_write();
        Poll::Ready(Ok(byte_count))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// After a request body that was not read, the connection stays half-open for a while: closing
    /// a socket with unread bytes resets it, and the peer may lose the response.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, activity, discard_timer } = self.get_mut();
        if discard_timer.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            if !activity.has_unread_body() {
                return Poll::Ready(Ok(()));
            }
        }
        let discard_timer = discard_timer.get_or_insert_with(|| Box::pin(sleep(CLOSE_TIMEOUT)));
        let mut discard_buffer = [0; 8 * 1024];
        while discard_timer.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut discard_buffer);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer))?;
            if buffer.filled().is_empty() {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}
