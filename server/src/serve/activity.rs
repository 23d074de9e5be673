//! Records the current activity of a connection, to detect stalled connections.
//!
//! hyper's own `header_read_timeout` is not used, because it also runs while a connection waits for
//! its next request, so idle connections would get the short timeout of slow request heads. For
//! HTTP/2, hyper has no idle timeout.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Maximum number of bytes that an HTTP/2 peer may send without a request or a part of a body that
/// a handler reads. Requests that no rate limit counts yet, and hyper's window of 1 MiB for unread
/// bodies, remain far below it.
pub(super) const MAX_UNREQUESTED_BYTES: usize = 2 * 1024 * 1024;

/// Size of an HTTP/2 frame header (RFC 9113, section 4.1).
const FRAME_HEADER_BYTES: usize = 9;

/// The current activity of one connection, shared by its stream, its requests and its timeouts.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<ActivityState>,
    /// True if the body of the last HTTP/1 request was not read to the end.
    has_unread_body: AtomicBool,
    /// Notified when an HTTP/2 connection should close after the requests in flight.
    close_notify: Notify,
}

#[derive(Debug)]
struct ActivityState {
    requests_in_flight: usize,
    /// True if part of the next HTTP/1 request head, or of the HTTP/2 preface, has arrived.
    is_reading_head: bool,
    /// The time from which timeouts are measured: when the connection became idle, a request head
    /// began to arrive, or a response made progress.
    timeout_start: Instant,
    protocol: Protocol,
    /// True if a request has been received.
    has_had_request: bool,
    /// Number of bytes received since the last HTTP/2 request, without those of bodies that were
    /// read.
    unrequested_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// Only this many bytes have arrived, all of them part of the HTTP/2 preface.
    Unknown(usize),
    Http1,
    /// Some frames do not belong to any request (pings, window updates), so reads and writes do not
    /// indicate requests. `response_body` records the progress of large responses.
    Http2,
}

/// The first bytes of every HTTP/2 connection (RFC 9113, section 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reason why the server closes a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseReason {
    Idle,
    SlowHead,
}

impl Activity {
    pub(super) fn new() -> Self {
        let state = ActivityState {
            requests_in_flight: 0,
            is_reading_head: false,
            timeout_start: Instant::now(),
            protocol: Protocol::Unknown(0),
            has_had_request: false,
            unrequested_bytes: 0,
        };
        Self {
            state: Mutex::new(state),
            has_unread_body: AtomicBool::new(false),
            close_notify: Notify::new(),
        }
    }

    /// Starts a request. It ends when the returned guard is dropped, even by a panic or a reset.
    pub(super) fn begin_request(&self) -> RequestGuard<'_> {
        let mut state = self.lock();
        state.requests_in_flight += 1;
        (state.is_reading_head, state.has_had_request) = (false, true);
        state.unrequested_bytes = 0;
        RequestGuard(self)
    }

    /// Records that a handler has read this many bytes of an HTTP/2 body, the data of one frame.
    pub(super) fn record_body(&self, size: usize) {
        if size > 0 {
            let mut state = self.lock();
            let frame_bytes = size + FRAME_HEADER_BYTES;
            state.unrequested_bytes = state.unrequested_bytes.saturating_sub(frame_bytes);
        }
    }

    /// Closes the connection after the requests in flight. Only for HTTP/2: HTTP/1 responses have
    /// `Connection: close` instead.
    pub(super) fn close(&self) {
        self.close_notify.notify_one();
    }

    pub(super) async fn wait_for_close(&self) {
        self.close_notify.notified().await;
    }

    /// Waits until the connection must be closed, because a timeout has passed. The state is checked
    /// at intervals of the shorter timeout, without a timer for each request, so a timeout is
    /// detected after at most twice its time.
    pub(super) async fn wait_for_close_reason(
        &self,
        head_timeout: Duration,
        idle_timeout: Duration,
    ) -> CloseReason {
        loop {
            sleep(head_timeout.min(idle_timeout)).await;
            let state = self.lock();
            let (timeout, reason) = if state.is_reading_head {
                (head_timeout, CloseReason::SlowHead)
            } else {
                (idle_timeout, CloseReason::Idle)
            };
            if state.requests_in_flight == 0 && state.timeout_start.elapsed() >= timeout {
                return reason;
            }
        }
    }

    /// Returns whether no request has been received. Always false for HTTP/2, whose requests start
    /// in separate tasks.
    pub(super) fn is_unused(&self) -> bool {
        let state = self.lock();
        !state.has_had_request && state.protocol != Protocol::Http2
    }

    pub(super) fn is_http2(&self) -> bool {
        self.lock().protocol == Protocol::Http2
    }

    /// Returns whether this is an HTTP/2 connection that has had no request in flight and no
    /// response progress for this long.
    pub(super) fn is_idle_http2(&self, time: Duration) -> bool {
        let state = self.lock();
        let is_idle = state.requests_in_flight == 0 && state.timeout_start.elapsed() >= time;
        is_idle && state.protocol == Protocol::Http2
    }

    /// Records that the body of the last request was not read to the end.
    pub(super) fn record_unread_body(&self) {
        self.has_unread_body.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_unread_body(&self) -> bool {
        self.has_unread_body.load(Ordering::Relaxed)
    }

    /// Records received bytes. They determine the protocol, and may be the start of a request head.
    /// It is an error if an HTTP/2 peer has sent too many of them without a request.
    pub(super) fn record_read(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        if let Protocol::Unknown(received_bytes) = state.protocol {
            let expected = &HTTP2_PREFACE[received_bytes..];
            let length = expected.len().min(bytes.len());
            state.protocol = if bytes[..length] != expected[..length] {
                Protocol::Http1
            } else if length < expected.len() {
                Protocol::Unknown(received_bytes + length)
            } else {
                Protocol::Http2
            };
        }
        let is_reading_head = state.requests_in_flight == 0 && state.protocol != Protocol::Http2;
        if state.is_reading_head != is_reading_head {
            (state.is_reading_head, state.timeout_start) = (is_reading_head, Instant::now());
        }
        if state.protocol == Protocol::Http2 {
            state.unrequested_bytes += bytes.len();
            if state.unrequested_bytes > MAX_UNREQUESTED_BYTES {
                return Err(io::Error::other("the peer sends frames without requests"));
            }
        }
        Ok(())
    }

    /// Records a write. With HTTP/1, every write is part of a response.
    pub(super) fn record_write(&self) {
        if self.lock().protocol == Protocol::Http1 {
            self.restart_timeout();
        }
    }

    /// Restarts the timeout, because a response made progress: clients may read slowly.
    pub(super) fn restart_timeout(&self) {
        self.lock().timeout_start = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct RequestGuard<'a>(&'a Activity);

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.requests_in_flight -= 1;
        if state.requests_in_flight == 0 {
            state.timeout_start = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
    const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

    /// Returns the reason and the time at which the connection is closed while the peer acts;
    /// `None` if it is still open after ten minutes.
    async fn measure_timeout(act: impl AsyncFnOnce(&Activity)) -> Option<(CloseReason, Duration)> {
        let activity = Activity::new();
        let start = Instant::now();
        let peer = async {
            act(&activity).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            reason = activity.wait_for_close_reason(HEAD_TIMEOUT, IDLE_TIMEOUT) => {
                Some((reason, start.elapsed()))
            }
            () = peer => None,
            () = sleep(IDLE_TIMEOUT * 10) => None,
        }
    }

    async fn sleep_seconds(seconds: f64) {
        sleep(Duration::from_secs_f64(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_times_out_before_and_after_a_request() {
        assert_eq!(measure_timeout(async |_| {}).await, Some((CloseReason::Idle, IDLE_TIMEOUT)));
        let one_request = async |activity: &Activity| {
            sleep_seconds(1.0).await;
            drop(activity.begin_request());
        };
        assert_eq!(
            measure_timeout(one_request).await,
            Some((CloseReason::Idle, IDLE_TIMEOUT + HEAD_TIMEOUT))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_or_second_head_in_small_pieces_times_out() {
        for requests in [0, 1] {
            let timeout = measure_timeout(async |activity| {
                for _ in 0..requests {
                    activity.record_read(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                    drop(activity.begin_request());
                }
                loop {
                    activity.record_read(b"x").unwrap();
                    sleep_seconds(1.0).await;
                }
            });
            assert_eq!(timeout.await, Some((CloseReason::SlowHead, HEAD_TIMEOUT)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_in_two_quick_pieces_never_times_out() {
        for pause_seconds in [14.9, 1.0, 15.1] {
            let timeout = measure_timeout(async |activity| {
                for _ in 0..100 {
                    sleep_seconds(pause_seconds).await;
                    activity.record_read(b"GET / HT").unwrap();
                    sleep_seconds(0.2).await;
                    activity.record_read(b"TP/1.1\r\n\r\n").unwrap();
                    drop(activity.begin_request());
                }
            });
            assert!(
                matches!(timeout.await, None | Some((CloseReason::Idle, _))),
                "{pause_seconds}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_regular_requests_is_not_idle() {
        let timeout = measure_timeout(async |activity| {
            loop {
                sleep_seconds(59.0).await;
                activity.record_read(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                drop(activity.begin_request());
            }
        });
        assert_eq!(timeout.await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn handling_a_request_and_writing_its_response_may_take_any_time() {
        let timeout = measure_timeout(async |activity| {
            loop {
                activity.record_read(b"POST / HTTP/1.1\r\n\r\n").unwrap();
                let request = activity.begin_request();
                sleep_seconds(14.0).await;
                activity.record_read(b"the rest of its body").unwrap();
                sleep_seconds(200.0).await;
                drop(request);
                for _ in 0..20 {
                    activity.record_write();
                    activity
                        .record_read(b"the next request, before the response is written")
                        .unwrap();
                    sleep_seconds(14.0).await;
                }
            }
        });
        assert_eq!(timeout.await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn pings_do_not_keep_an_idle_http2_connection_open() {
        for requests in [0, 1] {
            let timeout = measure_timeout(async |activity| {
                activity.record_read(HTTP2_PREFACE).unwrap();
                for _ in 0..requests {
                    drop(activity.begin_request());
                }
                loop {
                    activity.record_read(b"ping").unwrap();
                    activity.record_write();
                    sleep_seconds(10.0).await;
                }
            });
            assert_eq!(timeout.await, Some((CloseReason::Idle, IDLE_TIMEOUT)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_when_its_last_concurrent_request_has_ended() {
        let activity = Activity::new();
        activity.record_read(HTTP2_PREFACE).unwrap();
        let first_request = activity.begin_request();
        let second_request = activity.begin_request();
        drop(first_request);
        assert!(!activity.is_idle_http2(Duration::ZERO));
        drop(second_request);
        assert!(activity.is_idle_http2(Duration::ZERO));
    }

    #[test]
    fn http2_is_recognised_by_its_whole_preface_in_any_pieces() {
        let detect_protocol = |pieces: &[&[u8]]| {
            let activity = Activity::new();
            for piece in pieces {
                activity.record_read(piece).unwrap();
            }
            activity.lock().protocol
        };
        for split in 0..HTTP2_PREFACE.len() {
            let (start, end) = HTTP2_PREFACE.split_at(split);
            assert_eq!(detect_protocol(&[start]), Protocol::Unknown(split));
            assert_eq!(detect_protocol(&[start, end]), Protocol::Http2);
            assert_eq!(detect_protocol(&[start, end, b"x"]), Protocol::Http2);
            assert_eq!(detect_protocol(&[start, b"GET"]), Protocol::Http1);
        }
        assert_eq!(detect_protocol(&[b"PRI /x HTTP/1.1\r\n"]), Protocol::Http1);
        assert_eq!(detect_protocol(&[b"GET / HTTP/1.1\r\n", HTTP2_PREFACE]), Protocol::Http1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_preface_in_small_pieces_times_out() {
        let timeout = measure_timeout(async |activity| {
            for byte in HTTP2_PREFACE {
                activity.record_read(&[*byte]).unwrap();
                sleep_seconds(1.0).await;
            }
        });
        assert_eq!(timeout.await, Some((CloseReason::SlowHead, HEAD_TIMEOUT)));
    }
}
