//! Notifications to the service manager, by the sd_notify(3) protocol. They do nothing unless
//! systemd, or a similar service manager, has set `NOTIFY_SOCKET`.

#![expect(clippy::doc_markdown, reason = "sd_notify(3) is a manual page")]

use axum::http::StatusCode;
use sd_notify::NotifyState;

use crate::http::HttpService;

/// Reports that the configuration is being reloaded; `Ready` ends this state.
pub(super) fn notify_reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "cannot read the monotonic clock"),
    }
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

pub(super) fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::test_service;

    #[tokio::test]
    async fn the_watchdog_health_check_returns_the_service_status() {
        let dir = tempfile::tempdir().unwrap();
        let empty_service = test_service(dir.path()).await;
        assert_eq!(empty_service.check_health().await, StatusCode::NOT_FOUND);
        let service = HttpService::new(empty_service.state().clone());
        assert_eq!(service.check_health().await, StatusCode::OK);
    }
}
