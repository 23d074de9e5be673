//! Lanes: the deliveries to one origin, which pause together after failures.

use jiff::Timestamp;

use crate::engine::{Statement, from_row, sql};
use crate::error::StoreError;
use crate::store::{Change, Store};

/// The state of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// The end of the pause.
    pub paused_until: Timestamp,
    /// Number of failures since the last success.
    pub failures: i64,
}

/// SQL condition: a lane is paused. A pause that is longer than any server can request is ignored:
/// it was stored by a node whose clock was wrong.
macro_rules! is_paused {
    () => {
        "(paused_until > $now and paused_until <= $now + 90000)"
    };
}

pub(crate) use is_paused;

from_row!(Lane, lane_columns { paused_until, failures });

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
            "insert into lanes (origin, paused_until, failures) \
             values ($origin, $until, $failures) on conflict (origin) do update \
             set paused_until = excluded.paused_until, failures = excluded.failures \
             where lanes.paused_until not between excluded.paused_until \
             and excluded.paused_until + 90000",
            [origin, until, failures]
        );
        self.write(Change::unaudited(upsert)).await.map(drop)
    }

    /// Returns the state of a lane; `None` if no failure is stored.
    pub async fn lane(&self, origin: &str) -> Result<Option<Lane>, StoreError> {
        self.read_one(sql!(
            concat!(
                "select ",
                lane_columns!(),
                " from lanes where origin = $origin and (paused_until > 0 or failures > 0)"
            ),
            [origin]
        ))
        .await
    }

    /// Resets the number of a lane's failures, unless a different node has paused the lane.
    pub async fn clear_lane(&self, origin: &str, now: Timestamp) -> Result<(), StoreError> {
        let update = sql!(
            concat!(
                "update lanes set paused_until = 0, failures = 0 where origin = $origin \
                 and (paused_until > 0 or failures > 0) and not ",
                is_paused!()
            ),
            [origin, now]
        );
        self.write(Change::unaudited(update)).await.map(drop)
    }
}

/// Returns the statement that locks a lane for the rest of a transaction.
pub(crate) fn lock_lane_statement(origin: &str) -> Statement {
    sql!(
        "insert into lanes (origin, paused_until, failures) values ($origin, 0, 0) \
         on conflict (origin) do update set failures = lanes.failures",
        [origin]
    )
}
