//! What happens on a connection, counted without a clock: a timer for every call would cost more
//! than many a call.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::sleep;

/// What has happened on one connection so far.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// How often something came from the peer.
    heard: AtomicUsize,
    begun: AtomicUsize,
    in_flight: AtomicUsize,
    /// Whether it is HTTP/2, where a peer may also have other things to say than calls.
    multiplexed: AtomicBool,
}

/// Why a connection is ended from our side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing was asked for too long.
    Idle,
    /// A head is being sent so slowly that it may never end.
    SlowHead,
}

impl Traffic {
    /// A call begins; it ends when what is returned is dropped, also by a panic or a reset.
    pub(super) fn begin(&self, multiplexed: bool) -> Call<'_> {
        self.multiplexed.store(multiplexed, Relaxed);
        self.begun.fetch_add(1, Relaxed);
        self.in_flight.fetch_add(1, Relaxed);
        Call(self)
    }

    /// Waits until the connection has to be ended. What is wrong is found when it has lasted for
    /// the whole of the time allowed for it, and at the latest after twice that time.
    pub(super) async fn fault(&self, head: Duration, idle: Duration) -> Fault {
        let look = head.min(idle);
        let (mut begun, mut heard, mut quiet) = (0, 0, Duration::ZERO);
        loop {
            sleep(look).await;
            let (begun_before, heard_before) = (begun, heard);
            (begun, heard) = (self.begun.load(Relaxed), self.heard.load(Relaxed));
            if begun != begun_before || self.in_flight.load(Relaxed) > 0 {
                quiet = Duration::ZERO;
            } else if heard != heard_before && look == head && !self.multiplexed.load(Relaxed) {
                return Fault::SlowHead;
            } else {
                quiet += look;
            }
            if quiet >= idle {
                return Fault::Idle;
            }
        }
    }
}

/// A call that is being answered.
pub(super) struct Call<'a>(&'a Traffic);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

/// A stream that counts what comes through it.
pub(super) struct Counted<S> {
    pub(super) stream: S,
    pub(super) traffic: Arc<Traffic>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        self.traffic.heard.fetch_add(1, Relaxed);
        Poll::Ready(outcome)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Duration = Duration::from_secs(15);
    const IDLE: Duration = Duration::from_mins(1);

    /// What is found wrong when `peer` does its part every ten seconds, and when.
    async fn fault_of(peer: impl Fn(&Traffic)) -> (Fault, Duration) {
        let (traffic, began) = (Traffic::default(), tokio::time::Instant::now());
        let peer = async {
            loop {
                peer(&traffic);
                sleep(Duration::from_secs(10)).await;
            }
        };
        tokio::select! {
            fault = traffic.fault(HEAD, IDLE) => (fault, began.elapsed()),
            () = peer => unreachable!(),
            () = sleep(IDLE * 10) => panic!("nothing is found wrong"),
        }
    }

    fn hear(traffic: &Traffic) {
        traffic.heard.fetch_add(1, Relaxed);
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_idle_and_a_head_in_small_pieces_is_slow() {
        assert_eq!(fault_of(|_| {}).await, (Fault::Idle, IDLE));
        assert_eq!(fault_of(hear).await, (Fault::SlowHead, HEAD));
        // A first call, and then pieces of a second that never is one.
        let (fault, after) = fault_of(|traffic| {
            if traffic.begun.load(Relaxed) == 0 {
                drop(traffic.begin(false));
            }
            hear(traffic);
        })
        .await;
        assert_eq!(fault, Fault::SlowHead);
        assert!(after <= HEAD * 2, "{after:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_of_http_2_may_ping() {
        let ping = |traffic: &Traffic| {
            if traffic.begun.load(Relaxed) == 0 {
                drop(traffic.begin(true));
            }
            hear(traffic);
        };
        assert_eq!(fault_of(ping).await, (Fault::Idle, IDLE + HEAD));
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "nothing is found wrong")]
    async fn calls_are_no_fault() {
        fault_of(|traffic| drop(traffic.begin(false))).await;
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "nothing is found wrong")]
    async fn a_call_may_take_as_long_as_it_takes() {
        fault_of(|traffic| std::mem::forget(traffic.begin(false))).await;
    }
}
