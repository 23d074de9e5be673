//! Retention: deletes rows that are no longer needed.
//!
//! Every node attempts a sweep once a minute; the one that updates the row of `sweeps` runs it.
//! Rows are deleted in small batches, so that other writes do not wait for long.
//!
//! Rows that are deleted because of a wrong clock cannot be restored, so the clock is trusted only
//! while it advances regularly between sweeps. After a jump ahead of more than [`MAX_GAP`], nothing
//! is deleted until sweeps have followed each other for [`SETTLING_TIME`]. A start after a downtime
//! counts as a jump ahead, too.

mod apps;
mod excess;
mod orphans;
mod push;
mod rules;

use std::time::Duration;

use belfry_runtime::duration;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::audit::delete_audit_events_statement;
use crate::engine::{from_row, sql};
use crate::error::StoreError;
use crate::push::deliveries::{expire_statements, wake_lanes_statement};
use crate::store::{Change, Store};

/// Retention times of rows: the section `[retention]` of `belfry.toml`. Skipped fields are
/// constants that tests replace. Authorization requests, codes and sessions are deleted when they
/// have expired.
#[derive(Debug, Clone, Copy, SmartDefault, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// Tokens after they were revoked or expired.
    #[default(Duration::from_hours(30 * 24))]
    #[serde(skip)]
    pub tokens: Duration,
    /// Apps that no user authorized, after their last use.
    #[default(Duration::from_hours(30 * 24))]
    #[serde(skip)]
    pub unused_apps: Duration,
    /// Maximum number of apps that no user authorized. Beyond it, the least recently used are
    /// deleted earlier.
    #[default(20_000)]
    #[serde(skip)]
    pub max_unauthorized_apps: u32,
    #[default(Duration::from_hours(90 * 24))]
    #[serde(with = "duration")]
    pub audit_events: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweepOutcome {
    /// The number of deleted rows by table; for `rulesets`, of rows from which rules were removed.
    Swept(Vec<(&'static str, usize)>),
    /// The clock jumped; nothing is deleted before the given time.
    ClockUntrusted(Timestamp),
    /// The last sweep ran less than half a minute ago, or another node has just begun this one.
    NotDue,
}

/// Maximum number of rows deleted in one transaction. The statements contain it as a literal.
const BATCH_ROWS: usize = 1000;

/// Maximum number of transactions per table and sweep, so that a sweep ends before the next one is
/// due.
const MAX_BATCHES: usize = 500;

/// Minimum time between two sweeps of any nodes.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_secs(30);

/// Maximum time between sweeps, and maximum difference between the clocks of nodes.
const MAX_GAP: SignedDuration = SignedDuration::from_mins(10);

/// Time without a jump after which the clock is trusted.
const SETTLING_TIME: SignedDuration = SignedDuration::from_hours(1);

/// Time between expiry and deletion, because the clocks of nodes differ slightly.
const GRACE_PERIOD: SignedDuration = SignedDuration::from_mins(2);

/// Retention time of finished deliveries, and of waiting ones after they have expired.
const DELIVERY_LOG_TIME: SignedDuration = SignedDuration::from_hours(7 * 24);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SweepState {
    swept_at: Timestamp,
    trusted_from: Timestamp,
}

from_row!(SweepState: swept_at, trusted_from);

impl SweepState {
    /// Returns the state after a sweep at `now`; `None` if none is due.
    fn next(previous: Option<Self>, now: Timestamp) -> Option<Self> {
        let settling_state =
            Self { swept_at: now, trusted_from: saturating_add(now, SETTLING_TIME) };
        let Some(previous) = previous else { return Some(settling_state) };
        let gap = now.duration_since(previous.swept_at);
        if gap > MAX_GAP {
            Some(settling_state)
        } else if gap < -MAX_GAP {
            // An earlier time deletes fewer rows, so it is always safe.
            Some(Self { swept_at: now, trusted_from: now })
        } else {
            (gap >= MIN_INTERVAL).then_some(Self { swept_at: now, ..previous })
        }
    }
}

/// The times before which rows are deleted.
struct Cutoffs {
    expired: Timestamp,
    deliveries: Timestamp,
    tokens: Timestamp,
    audit_events: Timestamp,
}

/// A function that returns the change that deletes one batch of a table's oldest rows.
type DeleteOldest = fn(&Cutoffs) -> Change<'static>;

/// The statement that deletes one batch of the rows with a time in this column before the given
/// one, the oldest first.
macro_rules! delete_oldest {
    ($table:literal, $column:literal, $before:expr) => {
        sql!(
            r"
                delete from {table}
                where lookup in (
                    select lookup
                    from {table}
                    where {column} < $before
                    order by {column}, lookup
                    limit 1000
                )
                returning lookup
            ",
            [before = $before],
            {table = $table, column = $column}
        )
    };
}

/// The change that deletes one batch of rows like [`delete_oldest`]. Before that, it deletes their
/// grants, except those with a pending code or with a token that meets this condition.
///
/// If a code is issued concurrently, its grant is updated before this or inserted again, so it
/// remains.
macro_rules! delete_with_grants {
    ($table:literal, $column:literal, $is_kept:expr, $before:expr, $expired:expr) => {
        Change::unaudited(sql!(
            r"
                delete from grants
                where (account_id, app_id, id) in (
                    select account_id, app_id, grant_id
                    from {table}
                    where {column} < $before
                    order by {column}, lookup
                    limit 1000
                )
                and pending_until < $expired
                and not exists (
                    select 1
                    from tokens t
                    where t.account_id = grants.account_id
                      and t.app_id = grants.app_id
                      and t.grant_id = grants.id
                      and {is_kept}
                )
            ",
            [before = $before, expired = $expired],
            {table = $table, column = $column, is_kept = $is_kept}
        ))
        .and(delete_oldest!($table, $column, $before))
    };
}

/// The change that deletes one batch of tokens with their grants, except grants with a token that
/// remains.
macro_rules! delete_tokens {
    ($column:literal, $cutoffs:ident) => {
        delete_with_grants!(
            "tokens",
            $column,
            concat!("coalesce(t.", $column, ", $before) >= $before"),
            $cutoffs.tokens,
            $cutoffs.expired
        )
    };
}

/// The tables, each with the change that deletes one batch of its rows. The last statement returns
/// the deleted rows.
const TABLE_DELETIONS: [(&str, DeleteOldest); 10] = [
    ("requests", |cutoffs| {
        Change::unaudited(delete_oldest!("requests", "expires_at", cutoffs.expired))
    }),
    ("sessions", |cutoffs| {
        Change::unaudited(delete_oldest!("sessions", "expires_at", cutoffs.expired))
    }),
    ("sign_ins", |cutoffs| {
        Change::unaudited(delete_oldest!("sign_ins", "expires_at", cutoffs.expired))
    }),
    ("codes", |cutoffs| {
        delete_with_grants!("codes", "expires_at", "true", cutoffs.expired, cutoffs.expired)
    }),
    ("tokens", |cutoffs| delete_tokens!("expires_at", cutoffs)),
    ("tokens", |cutoffs| delete_tokens!("revoked_at", cutoffs)),
    ("audit_events", |cutoffs| {
        Change::unaudited(delete_audit_events_statement(cutoffs.audit_events, 1000))
    }),
    ("deliveries", |cutoffs| {
        Change::unaudited(push::delete_deliveries_statement(cutoffs.deliveries))
    }),
    ("messages", |_| Change::unaudited(push::delete_messages_statement())),
    ("lanes", |cutoffs| {
        Change::unaudited(push::delete_lanes_statement(cutoffs.deliveries, cutoffs.expired))
    }),
];

impl Store {
    /// The tables from which sweeps delete rows.
    pub const SWEPT_TABLES: [&str; 14] = [
        "requests",
        "sessions",
        "sign_ins",
        "codes",
        "grants",
        "tokens",
        "apps",
        "audit_events",
        "rulesets",
        "accounts",
        "receivers",
        "messages",
        "deliveries",
        "lanes",
    ];

    /// Deletes rows that are no longer needed, if a sweep is due and the clock is trusted.
    pub async fn sweep(
        &self,
        settings: &RetentionSettings,
        now: Timestamp,
    ) -> Result<SweepOutcome, StoreError> {
        let Some(trusted_from) = self.begin_sweep(now).await? else {
            return Ok(SweepOutcome::NotDue);
        };
        if now < trusted_from {
            // The clock does not decide which messages are needed.
            self.repeat_change(|| Change::unaudited(push::delete_messages_statement())).await?;
            return Ok(SweepOutcome::ClockUntrusted(trusted_from));
        }
        if trusted_from == now {
            let correct = || Change::unaudited(push::correct_due_times_statement(now));
            self.repeat_change(correct).await?;
        }
        let cutoffs = Cutoffs {
            expired: saturating_add(now, -GRACE_PERIOD),
            deliveries: saturating_add(now, -DELIVERY_LOG_TIME),
            tokens: time_before(now, settings.tokens),
            audit_events: time_before(now, settings.audit_events),
        };
        repeat_batches(|| async {
            let expire = Change::unaudited(expire_statements(cutoffs.expired, now));
            let [_, expired_rows, _] = self.write_rows(expire).await?;
            Ok(expired_rows.len())
        })
        .await?;
        self.write(Change::unaudited(wake_lanes_statement(now))).await?;
        let mut deleted_counts = Vec::new();
        for (table, delete_batch) in TABLE_DELETIONS {
            deleted_counts.push((table, self.repeat_change(|| delete_batch(&cutoffs)).await?));
        }
        deleted_counts.push(("rulesets", self.delete_expired_rules(cutoffs.expired).await?));
        deleted_counts.push(("receivers", self.delete_ended_receivers(cutoffs.expired).await?));
        deleted_counts.push(("accounts", self.delete_due_accounts(cutoffs.expired, now).await?));
        deleted_counts.extend(self.delete_orphans(now).await?);
        let cutoff = self.unused_apps_cutoff(settings, now).await?;
        deleted_counts.extend(self.delete_unused_apps(cutoff).await?);
        Ok(SweepOutcome::Swept(deleted_counts))
    }

    /// Writes a change until its last statement returns fewer than [`BATCH_ROWS`] rows, or
    /// [`MAX_BATCHES`] times. Returns the total number of these rows.
    async fn repeat_change(
        &self,
        change: impl Fn() -> Change<'static>,
    ) -> Result<usize, StoreError> {
        repeat_batches(|| async { Ok(self.write(change()).await?.last().map_or(0, Vec::len)) })
            .await
    }

    /// Records a sweep. Returns the time from which the clock is trusted, which is `now` after a jump
    /// back; `None` if no sweep is due.
    async fn begin_sweep(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let select = sql!("select swept_at, trusted_from from sweeps where id = 1");
        let previous: Option<SweepState> = self.read_one(select).await?;
        let Some(next) = SweepState::next(previous, now) else { return Ok(None) };
        let SweepState { swept_at, trusted_from } = next;
        // If several nodes begin concurrently, one of them writes the row.
        let write = match previous {
            None => sql!(
                r"
                    insert into sweeps (id, swept_at, trusted_from)
                    values (1, $swept_at, $trusted_from)
                    on conflict do nothing
                    returning id
                ",
                [swept_at, trusted_from]
            ),
            Some(previous) => sql!(
                r"
                    update sweeps
                    set swept_at = $swept_at, trusted_from = $trusted_from
                    where id = 1
                      and swept_at = $stored_swept_at
                    returning id
                ",
                [swept_at, trusted_from, stored_swept_at = previous.swept_at]
            ),
        };
        let [rows] = self.write_rows(Change::unaudited(write)).await?;
        Ok((!rows.is_empty()).then_some(trusted_from))
    }
}

/// Changes batches of rows until one has fewer than [`BATCH_ROWS`], or there were [`MAX_BATCHES`].
/// `change_batch` returns its number of rows. Returns the total number.
async fn repeat_batches<F>(mut change_batch: impl FnMut() -> F) -> Result<usize, StoreError>
where
    F: Future<Output = Result<usize, StoreError>>,
{
    let mut total_count = 0;
    for _ in 0..MAX_BATCHES {
        let count = change_batch().await?;
        total_count += count;
        if count < BATCH_ROWS {
            break;
        }
        tokio::task::yield_now().await;
    }
    Ok(total_count)
}

/// Adds a duration to a time, within the range of timestamps.
fn saturating_add(time: Timestamp, duration: SignedDuration) -> Timestamp {
    let end = if duration.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
    time.checked_add(duration).unwrap_or(end)
}

/// Returns the time that is `age` before `now`, within the range of timestamps.
fn time_before(now: Timestamp, age: Duration) -> Timestamp {
    saturating_add(now, -SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_minute(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minute).unwrap()
    }

    #[test]
    fn the_clock_is_trusted_after_an_hour_without_a_jump() {
        const DAY: i64 = 24 * 60;
        let state = |swept_at, trusted_from| SweepState {
            swept_at: at_minute(swept_at),
            trusted_from: at_minute(trusted_from),
        };
        for (name, previous, now, next) in [
            ("the first sweep", None, 0, Some(state(0, 60))),
            ("a minute later", Some(state(0, 60)), 1, Some(state(1, 60))),
            ("a second node at the same time", Some(state(0, 60)), 0, None),
            ("a second node whose clock is behind", Some(state(5, 60)), 0, None),
            ("a jump ahead", Some(state(0, 0)), 2 * DAY, Some(state(2 * DAY, 2 * DAY + 60))),
            ("a jump while settling", Some(state(0, 60)), 61, Some(state(61, 121))),
            ("the clock is corrected", Some(state(2 * DAY, 2 * DAY + 60)), 5, Some(state(5, 5))),
            ("just before trust", Some(state(58, 60)), 59, Some(state(59, 60))),
        ] {
            assert_eq!(SweepState::next(previous, at_minute(now)), next, "{name}");
        }
    }

    #[test]
    fn a_retention_time_beyond_the_first_timestamp_ends_at_it() {
        assert_eq!(time_before(at_minute(0), Duration::MAX), Timestamp::MIN);
        assert_eq!(time_before(at_minute(0), Duration::from_mins(1)), at_minute(-1));
    }
}
