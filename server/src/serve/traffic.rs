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
    /// As many as that when the last call ended: if more has come, it is a part of a head.
    settled: AtomicUsize,
    /// How often something went to the peer.
    said: AtomicUsize,
    begun: AtomicUsize,
    in_flight: AtomicUsize,
    /// Whether it is HTTP/2, where both sides also have other things to say than calls.
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
    pub(super) fn begin(&self) -> Call<'_> {
        self.begun.fetch_add(1, Relaxed);
        self.in_flight.fetch_add(1, Relaxed);
        Call(self)
    }

    /// Waits until the connection has to be ended. What is wrong is found when it has lasted for
    /// the whole of the time allowed for it, and at the latest after twice that time.
    pub(super) async fn fault(&self, head: Duration, idle: Duration) -> Fault {
        let look = head.min(idle);
        let (mut begun, mut said) = (0, 0);
        // How long nothing has been done, and for how long a head has been coming.
        let (mut quiet, mut coming) = (Duration::ZERO, None);
        loop {
            sleep(look).await;
            let before = (begun, said);
            begun = self.begun.load(Relaxed);
            said = if self.is_multiplexed() { 0 } else { self.said.load(Relaxed) };
            let in_use = before != (begun, said) || self.in_flight.load(Relaxed) > 0;
            quiet = if in_use { Duration::ZERO } else { quiet + look };
            coming = match coming.filter(|_| !in_use) {
                _ if !self.has_part_of_a_head() => None,
                Some(time) => Some(time + look),
                None => Some(Duration::ZERO),
            };
            if coming.is_some_and(|time| time >= head) {
                return Fault::SlowHead;
            }
            if quiet >= idle {
                return Fault::Idle;
            }
        }
    }

    /// Whether no call has begun. Of HTTP/2 that is not known: its calls begin elsewhere.
    pub(super) fn is_unused(&self) -> bool {
        self.begun.load(Relaxed) == 0 && !self.is_multiplexed()
    }

    /// Whether it is HTTP/2 and no call is in flight.
    pub(super) fn is_at_rest(&self) -> bool {
        self.is_multiplexed() && self.in_flight.load(Relaxed) == 0
    }

    fn is_multiplexed(&self) -> bool {
        self.multiplexed.load(Relaxed)
    }

    fn has_part_of_a_head(&self) -> bool {
        let idle = self.in_flight.load(Relaxed) == 0 && !self.is_multiplexed();
        idle && self.heard.load(Relaxed) != self.settled.load(Relaxed)
    }

    fn hear(&self, bytes: &[u8]) {
        if self.heard.fetch_add(1, Relaxed) == 0 && bytes.starts_with(b"PRI ") {
            self.multiplexed.store(true, Relaxed);
        }
    }
}

/// A call that is being answered.
pub(super) struct Call<'a>(&'a Traffic);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.settled.store(self.0.heard.load(Relaxed), Relaxed);
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
        let before = buffer.filled().len();
        let outcome = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        self.traffic.hear(&buffer.filled()[before..]);
        Poll::Ready(outcome)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.traffic.said.fetch_add(1, Relaxed);
        Poll::Ready(written)
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
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, pieces));
        self.traffic.said.fetch_add(1, Relaxed);
        Poll::Ready(written)
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

    /// What is found wrong, and when, while `peer` does its part; `None` for ten minutes of peace.
    async fn fault_of(peer: impl AsyncFnOnce(&Traffic)) -> Option<(Fault, Duration)> {
        let (traffic, began) = (Traffic::default(), tokio::time::Instant::now());
        let peer = async {
            peer(&traffic).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            fault = traffic.fault(HEAD, IDLE) => Some((fault, began.elapsed())),
            () = peer => None,
            () = sleep(IDLE * 10) => None,
        }
    }

    async fn seconds(seconds: f64) {
        sleep(Duration::from_secs_f64(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_idle() {
        assert_eq!(fault_of(async |_| {}).await, Some((Fault::Idle, IDLE)));
        let call = async |traffic: &Traffic| drop(traffic.begin());
        assert_eq!(fault_of(call).await, Some((Fault::Idle, IDLE + HEAD)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_in_small_pieces_is_slow_be_it_the_first_or_the_second() {
        for calls in [0, 1] {
            let fault = fault_of(async |traffic| {
                for _ in 0..calls {
                    traffic.hear(b"GET / HTTP/1.1\r\n\r\n");
                    drop(traffic.begin());
                }
                loop {
                    traffic.hear(b"x");
                    seconds(1.0).await;
                }
            });
            assert_eq!(fault.await, Some((Fault::SlowHead, HEAD * 2)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_in_two_pieces_is_no_fault_whenever_we_look() {
        for first in [14.9, 1.0, 15.1] {
            let fault = fault_of(async |traffic| {
                for _ in 0..100 {
                    seconds(first).await;
                    traffic.hear(b"GET / HT");
                    seconds(0.2).await;
                    traffic.hear(b"TP/1.1\r\n\r\n");
                    drop(traffic.begin());
                }
            });
            assert!(matches!(fault.await, None | Some((Fault::Idle, _))), "{first}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_may_take_as_long_as_it_takes_and_so_may_its_answer() {
        let fault = fault_of(async |traffic| {
            loop {
                traffic.hear(b"POST / HTTP/1.1\r\n\r\n");
                let call = traffic.begin();
                seconds(14.0).await;
                traffic.hear(b"the rest of its body");
                seconds(200.0).await;
                drop(call);
                for _ in 0..20 {
                    traffic.said.fetch_add(1, Relaxed);
                    traffic.hear(b"and the next, before the answer is written");
                    seconds(14.0).await;
                }
            }
        });
        assert_eq!(fault.await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_of_http_2_may_ping_also_before_its_first_call() {
        for calls in [0, 1] {
            let fault = fault_of(async |traffic| {
                traffic.hear(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
                for _ in 0..calls {
                    drop(traffic.begin());
                }
                loop {
                    traffic.hear(b"ping");
                    traffic.said.fetch_add(1, Relaxed);
                    seconds(10.0).await;
                }
            });
            let after = if calls == 0 { IDLE } else { IDLE + HEAD };
            assert_eq!(fault.await, Some((Fault::Idle, after)));
        }
    }
}
