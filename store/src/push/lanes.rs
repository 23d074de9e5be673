//! Lanes: the deliveries to one origin, which pause together after failures.

use jiff::Timestamp;

use crate::engine::{Statement, from_row, sql};
use crate::error::StoreError;
use crate::store::{Change, Store};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    pub paused_until: Timestamp,
    /// Number of failures since the last success.
    pub failures: i64,
}

from_row!(Lane: paused_until, failures);

impl Store {
    /// Pauses a lane and stores the number of its failures, unless another node has paused it for
    /// longer.
    pub async fn pause_lane(
        &self,
        origin: &str,
        until: Timestamp,
        failures: i64,
    ) -> Result<(), StoreError> {
        let upsert = sql!(
            r"
                insert into lanes (origin, paused_until, failures)
                values ($origin, $until, $failures)
                on conflict (origin) do update
                set paused_until = excluded.paused_until, failures = excluded.failures
                where lanes.paused_until not between excluded.paused_until and
                    excluded.paused_until + 90000
            ",
            [origin, until, failures]
        );
        self.write(Change::unaudited(upsert)).await.map(drop)
    }

    /// Returns the state of a lane; `None` if no failure is stored.
    pub async fn lane(&self, origin: &str) -> Result<Option<Lane>, StoreError> {
        self.read_one(sql!(
            r"
                select paused_until, failures
                from lanes
                where origin = $origin
                  and (paused_until > 0 or failures > 0)
            ",
            [origin]
        ))
        .await
    }

    /// Resets the number of a lane's failures, unless a different node has paused the lane.
    pub async fn clear_lane(&self, origin: &str, now: Timestamp) -> Result<(), StoreError> {
        let update = sql!(
            r"
                update lanes
                set paused_until = 0, failures = 0
                where origin = $origin
                  and (paused_until > 0 or failures > 0)
                  and not {is_paused}
            ",
            [origin, now]
        );
        self.write(Change::unaudited(update)).await.map(drop)
    }
}

/// Returns the statement that locks a lane for the rest of a transaction.
pub(crate) fn lock_lane_statement(origin: &str) -> Statement {
    sql!(
        r"
            insert into lanes (origin, paused_until, failures)
            values ($origin, 0, 0)
            on conflict (origin) do update
            set failures = lanes.failures
        ",
        [origin]
    )
}
