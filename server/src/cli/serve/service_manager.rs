//! Notifications to the service manager, by the protocol of sd_notify(3). They do nothing unless
//! systemd, or a program like it, has set `NOTIFY_SOCKET`.

#![expect(clippy::doc_markdown, reason = "sd_notify(3) is a manual page")]

use std::time::Duration;

use axum::http::StatusCode;
use sd_notify::NotifyState;

use crate::http::HttpService;

/// Reports that the server accepts requests.
pub(super) fn notify_ready(url: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(&format!("listening on {url}"))]);
}

/// Reports what the server is doing, for `systemctl status`.
pub(super) fn notify_status(status: &str) {
    notify(&[NotifyState::Status(status)]);
}

/// Reports that the configuration is being reloaded, until [`notify_reloaded`].
pub(super) fn notify_reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "the monotonic clock cannot be read"),
    }
}

/// Reports the end of a reload.
pub(super) fn notify_reloaded() {
    notify(&[NotifyState::Ready]);
}

/// Reports that the server shuts down, and what it is doing until then.
pub(super) fn notify_stopping(status: &str) {
    notify(&[NotifyState::Stopping, NotifyState::Status(status)]);
}

/// The interval at which the watchdog is to be reset, twice as often as necessary; `None` without a
/// watchdog.
pub(super) fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|interval| interval / 2)
}

/// Resets the watchdog if the service responds to requests.
///
/// The request does not come from the network: the server must not be restarted because a flood of
/// connections delays new ones.
pub(super) async fn reset_watchdog(service: HttpService) {
    if service.check_health().await == StatusCode::OK {
        notify(&[NotifyState::Watchdog]);
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be notified");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::http::test_service;

    #[tokio::test]
    async fn the_watchdog_is_reset_only_if_the_service_responds_with_success() {
        let folder = tempfile::tempdir().unwrap();
        let other = test_service(folder.path()).await;
        assert_eq!(other.check_health().await, StatusCode::NOT_FOUND);
        let service = HttpService::new(Arc::clone(other.state()));
        assert_eq!(service.check_health().await, StatusCode::OK);
    }
}
