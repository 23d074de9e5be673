//! Opens the store at startup, and waits for a PostgreSQL server that is not running yet.

use std::time::{Duration, Instant};

use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::duration;
use belfry_store::{Database, Options, Store, StoreError};
use sd_notify::NotifyState;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::service_manager;

/// The delay after the first attempt; it doubles after each additional attempt.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The longest delay between two attempts.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(2);
/// Interval between log lines while waiting for the database.
const REPORT_INTERVAL: Duration = Duration::from_secs(15);

/// Opens the store. An unreachable PostgreSQL server is retried for [`Options::start_timeout`]; any
/// other error, such as a wrong password, is final. Returns `None` if `stop` is cancelled first.
pub(super) async fn open_store(
    database: &Database,
    options: &Options,
    stop: &CancellationToken,
) -> Result<Option<Store>, StoreError> {
    if let Database::Sqlite(_) = database {
        return Store::open(database, options, SystemClock.now()).await.map(Some);
    }
    let opening = open_with_retries(database, options);
    stop.run_until_cancelled(opening).await.transpose()
}

async fn open_with_retries(database: &Database, options: &Options) -> Result<Store, StoreError> {
    let start = Instant::now();
    let mut last_report = None;
    let mut delay = MIN_RETRY_DELAY;
    loop {
        let error = match Store::open(database, options, SystemClock.now()).await {
            Err(error @ StoreError::Unreachable { .. })
                if start.elapsed() + delay <= options.start_timeout =>
            {
                error
            }
            Ok(store) => {
                if last_report.is_some() {
                    tracing::info!(%database, "database responds");
                }
                return Ok(store);
            }
            Err(error) => return Err(error),
        };
        if last_report.is_none_or(|time: Instant| time.elapsed() >= REPORT_INTERVAL) {
            last_report = Some(Instant::now());
            let remaining =
                duration::format_seconds(options.start_timeout.saturating_sub(start.elapsed()));
            tracing::warn!(%error, remaining, "waiting for the database");
            service_manager::notify(&[NotifyState::Status("waiting for the database")]);
        }
        sleep(delay).await;
        delay = MAX_RETRY_DELAY.min(delay * 2);
    }
}
