//! Opens the store at start, and waits for PostgreSQL if it is started later.

use std::time::{Duration, Instant};

use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::duration;
use belfry_store::{Database, Options, Store, StoreError};
use sd_notify::NotifyState;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::service_manager;

/// The shortest and the longest delay between two attempts.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Interval of the log lines about a database that is waited for.
const REPORT_INTERVAL: Duration = Duration::from_secs(15);

/// Opens the store. A PostgreSQL that cannot be reached is tried again for
/// [`Options::start_timeout`]; any other error, such as a wrong password, is final. `None` if the
/// server is to stop first.
pub(super) async fn open_store(
    database: &Database,
    options: &Options,
    stop: &CancellationToken,
) -> Result<Option<Store>, StoreError> {
    if let Database::Sqlite(_) = database {
        return Store::open(database, options, SystemClock.now()).await.map(Some);
    }
    let waiting = wait_for_database(database, options);
    stop.run_until_cancelled(waiting).await.transpose()
}

async fn wait_for_database(database: &Database, options: &Options) -> Result<Store, StoreError> {
    let start = Instant::now();
    let mut reported = None;
    let mut delay = RETRY_DELAYS.0;
    loop {
        let error = match Store::open(database, options, SystemClock.now()).await {
            Err(error @ StoreError::Unreachable { .. })
                if start.elapsed() + delay <= options.start_timeout =>
            {
                error
            }
            Ok(store) => {
                if reported.is_some() {
                    tracing::info!(%database, "the database responds");
                }
                return Ok(store);
            }
            Err(error) => return Err(error),
        };
        if reported.is_none_or(|time: Instant| time.elapsed() >= REPORT_INTERVAL) {
            reported = Some(Instant::now());
            let left =
                duration::format_seconds(options.start_timeout.saturating_sub(start.elapsed()));
            tracing::warn!(%error, left, "waiting for the database");
            service_manager::notify(&[NotifyState::Status("waiting for the database")]);
        }
        sleep(delay).await;
        delay = RETRY_DELAYS.1.min(delay * 2);
    }
}
