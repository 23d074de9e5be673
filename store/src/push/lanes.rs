//! Lanes: the deliveries to one origin, which pause together if the origin fails.

use belfry_core::push::lane::LaneRecord;
use jiff::Timestamp;

use crate::engine::{FromRow, Row, sql};
use crate::error::StoreError;
use crate::store::{Change, Store};

/// A lane that may have due deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueLane {
    pub origin: String,
    /// One of the accounts with a delivery that waits in the lane.
    pub account_id: i64,
    pub record: LaneRecord,
}

impl FromRow for DueLane {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            origin: row.take()?,
            account_id: row.take::<Option<i64>>()?.unwrap_or_default(),
            record: LaneRecord {
                failures: row.take()?,
                max_in_flight: row.take()?,
                is_proven: row.take::<i64>()? != 0,
                succeeded_at: row.take()?,
            },
        })
    }
}

impl Store {
    /// Returns at most `limit` lanes that may have due deliveries, either the proven ones or the
    /// others: first those that do not fail, then the longest due.
    pub async fn due_lanes(
        &self,
        are_proven: bool,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<DueLane>, StoreError> {
        let is_proven = i64::from(are_proven);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read_all(sql!(
            r"
                select l.origin, (
                    select r.account_id
                    from receivers r
                    where r.origin = l.origin
                      and r.due_at is not null
                    limit 1
                ), l.failures, l.max_in_flight, l.is_proven, l.succeeded_at
                from lanes l
                where l.is_proven = $is_proven
                  and l.due_at <= $now
                order by case when l.failures > 0 then 1 else 0 end, l.due_at, l.origin
                limit $limit
            ",
            [is_proven, now, limit]
        ))
        .await
    }

    /// Returns a lane with this origin, due or not; `None` if none is stored.
    pub async fn lane(&self, origin: &str) -> Result<Option<DueLane>, StoreError> {
        self.read_one(sql!(
            r"
                select origin, cast(null as bigint), failures, max_in_flight, is_proven,
                    succeeded_at
                from lanes
                where origin = $origin
            ",
            [origin]
        ))
        .await
    }

    /// Pauses a lane and stores the number of its failures, unless another node has paused it for
    /// longer.
    pub async fn pause_lane(
        &self,
        origin: &str,
        until: Timestamp,
        failures: i64,
    ) -> Result<(), StoreError> {
        let update = sql!(
            r"
                update lanes
                set due_at = $until, paused_until = $until, failures = $failures
                where origin = $origin
                  and paused_until not between $until and $until + 90000
            ",
            [origin, until, failures]
        );
        self.write(Change::unaudited(update)).await.map(drop)
    }

    /// Stores the state of a lane that this node no longer works on, and when it is due again: with
    /// its first receiver, but not before the end of its pause. During a pause by another node, the
    /// number of failures remains.
    pub async fn rest_lane(
        &self,
        origin: &str,
        record: &LaneRecord,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let update = sql!(
            r"
                update lanes
                set due_at = (
                        select case when {lane_is_paused} and lanes.paused_until > due then lanes.paused_until
                            else due end
                        from (
                            select min(due_at) as due
                            from (
                                select (
                                    select min(due_at)
                                    from receivers
                                    where origin = $origin and is_proven = 0
                                ) as due_at
                                union all
                                select (
                                    select min(due_at)
                                    from receivers
                                    where origin = $origin and is_proven = 1
                                )
                            ) as by_kind
                        ) as first
                    ),
                    failures = case when {lane_is_paused} then failures else $failures end,
                    max_in_flight = $max_in_flight,
                    is_proven = $is_proven,
                    succeeded_at = $succeeded_at
                where origin = $origin
            ",
            [
                origin,
                now,
                failures = record.failures,
                max_in_flight = record.max_in_flight,
                is_proven = i64::from(record.is_proven),
                succeeded_at = record.succeeded_at
            ]
        );
        self.write(Change::unaudited(update)).await.map(drop)
    }
}
