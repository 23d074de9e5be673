//! Signals that stop the server.

use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::service_manager;
use crate::app::AppState;
use crate::cli::CliError;

/// The status while requests in flight are finished, for the service manager.
const DRAINING_STATUS: NotifyState<'_> = NotifyState::Status("finishing requests in flight");

pub(super) struct StopSignals {
    pub(super) stop: CancellationToken,
    /// Cancelled before `stop` if the first signal is SIGINT.
    interrupt: CancellationToken,
}

impl StopSignals {
    /// Handles the signals from now on. The second one exits the process immediately.
    pub(super) fn handle() -> Result<Self, CliError> {
        let mut terminate_signal = signal(SignalKind::terminate())?;
        let mut interrupt_signal = signal(SignalKind::interrupt())?;
        let stop = CancellationToken::new();
        let interrupt = CancellationToken::new();
        let signals = Self { stop: stop.clone(), interrupt: interrupt.clone() };
        tokio::spawn(async move {
            loop {
                let is_interrupt = tokio::select! {
                    _ = terminate_signal.recv() => false,
                    _ = interrupt_signal.recv() => true,
                };
                if stop.is_cancelled() {
                    std::process::exit(1);
                }
                if is_interrupt {
                    interrupt.cancel();
                }
                stop.cancel();
            }
        });
        Ok(signals)
    }

    /// Waits until the server must stop accepting connections: for a signal, and after SIGTERM also
    /// for `http.shutdown_delay`, during which load balancers notice that `/readyz` is 503. SIGINT
    /// comes from a person at a terminal, who does not want to wait.
    pub(super) async fn wait(&self, state: &AppState) {
        self.stop.cancelled().await;
        // Before the delay, so that no load balancer learns of the shutdown from a refused
        // connection.
        state.begin_shutdown();
        let delay = state.config.http.shutdown_delay;
        if delay.is_zero() || self.interrupt.is_cancelled() {
            service_manager::notify(&[NotifyState::Stopping, DRAINING_STATUS]);
            return;
        }
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(delay_ms, "not ready, accepting connections until the shutdown delay ends");
        let accepting_status = NotifyState::Status("not ready, still accepting connections");
        service_manager::notify(&[NotifyState::Stopping, accepting_status]);
        sleep(delay).await;
        service_manager::notify(&[DRAINING_STATUS]);
    }
}
