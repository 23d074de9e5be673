//! Statements that insert the audit events of a change, for the rows that it affects.

use std::sync::atomic::{AtomicU32, Ordering};

use belfry_core::audit::{AuditClient, CountedSubject, NewAuditEvent};
use belfry_runtime::random;
use jiff::Timestamp;

use crate::engine::{Rows, Statement, Value, values};
use crate::error::StoreError;

/// The statement that inserts a change's audit events, one for each row of its source query
/// (`account_id`, `app_id`, `number`).
pub(crate) struct EventSource {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<Value>,
}

/// Creates an [`EventSource`] from the rest of a `select`, and the values of its parameters.
/// `detail` is an SQL expression; by default the event's detail. A source with several rows
/// adds the column that distinguishes them to the event id: `each "app_id"`. For kinds that are counted per hour, a `counted`
/// source adds to the row of the hour, account and app.
macro_rules! event_source {
    (
        id = $id:expr,
        detail = $detail:literal,
        conflict = $conflict:literal,
        $source:expr,
        [$($name:ident $(= $value:expr)?),* $(,)?] $(,)?
    ) => {
        $crate::store::event_source::EventSource {
            sql: $crate::engine::numbered_sql!(
                0,
                r"
                    insert into audit_events (
                        id, at, last_at, kind, outcome, origin, address, request_id, detail,
                        account_id, app_id, count
                    )
                    select
                        {id}, cast($event_at as bigint), cast($event_at as bigint),
                        cast($kind as text), cast($outcome as text), cast($origin as text),
                        cast($address as text), cast($request_id as text), {detail},
                        account_id, app_id, number
                    from (select {source}) as source
                    {conflict}
                    returning account_id, app_id, count, detail
                ",
                [
                    event_id, event_at, kind, outcome, origin, address, request_id, detail
                    $(, $name)*
                ],
                {id = $id, detail = $detail, source = $source, conflict = $conflict}
            ),
            values: $crate::engine::values![$($name $(= $value)?),*],
        }
    };
    (detail = $detail:literal, $source:expr, $values:tt $(,)?) => {
        $crate::store::event_source::event_source!(
            id = "cast($event_id as text)",
            detail = $detail,
            conflict = "",
            $source,
            $values
        )
    };
    (counted, $source:expr, $values:tt $(,)?) => {
        $crate::store::event_source::event_source!(
            id = "cast($event_id as text) || '-' || account_id || '-' || coalesce(app_id, 0)",
            detail = "cast($detail as text)",
            conflict = "where true on conflict (id) do update
                set count = audit_events.count + excluded.count, last_at = excluded.last_at",
            $source,
            $values
        )
    };
    (each $subject:literal, $source:expr, $values:tt $(,)?) => {
        $crate::store::event_source::event_source!(
            id = concat!("cast($event_id as text) || ", $subject),
            detail = "cast($detail as text)",
            conflict = "",
            $source,
            $values
        )
    };
    ($source:expr, $values:tt $(,)?) => {
        $crate::store::event_source::event_source!(
            detail = "cast($detail as text)",
            $source,
            $values
        )
    };
}

/// Creates the [`EventSource`] for a table's rows that meet a condition.
macro_rules! event_source_for {
    (receivers, $condition:expr, $values:tt $(,)?) => {
        $crate::store::event_source::event_source!(
            counted,
            concat!(
                "account_id, (select app_id from tokens where lookup = receivers.token limit 1) \
                 as app_id, 1 as number from receivers where ",
                $condition
            ),
            $values
        )
    };
    ($table:ident, $condition:expr, $values:tt $(,)?) => {
        $crate::store::event_source::event_source!(
            concat!(
                $crate::store::event_source::event_columns!($table),
                ", 1 as number from ",
                stringify!($table),
                " where ",
                $condition
            ),
            $values
        )
    };
}

/// The account and app columns of a table.
macro_rules! event_columns {
    (accounts) => {
        "id as account_id, cast(null as bigint) as app_id"
    };
    (apps) => {
        "cast(null as bigint) as account_id, id as app_id"
    };
    (sessions) => {
        "account_id, cast(null as bigint) as app_id"
    };
    ($table:ident) => {
        "account_id, app_id"
    };
}

pub(crate) use {event_columns, event_source, event_source_for};

impl EventSource {
    /// Returns a source with one row, without an account or app.
    pub(crate) fn without_subject() -> Self {
        event_source!(
            "cast(null as bigint) as account_id, cast(null as bigint) as app_id, 1 as number",
            []
        )
    }

    pub(crate) fn insert_statement(&self, event: &NewAuditEvent) -> Statement {
        let (address, request_id) = client_columns(event.client.as_ref());
        let event_id = match event.counted_subject() {
            Some(subject) => counted_id(event.at.as_second().div_euclid(3600), &subject),
            None => new_id(event.at),
        };
        let mut values = values![
            event_id,
            event_at = event.at,
            kind = event.kind.as_str(),
            outcome = event.outcome.as_str(),
            origin = event.origin.as_str(),
            address,
            request_id,
            detail = event.detail.as_deref()
        ];
        values.extend(self.values.iter().cloned());
        Statement::new(self.sql, values)
    }
}

/// Logs the events that a change has inserted, in the order of their statements.
pub(crate) fn log_events(
    events: &[&NewAuditEvent],
    inserted_rows: impl Iterator<Item = Rows>,
) -> Result<(), StoreError> {
    for (event, rows) in events.iter().zip(inserted_rows) {
        for mut row in rows {
            let (account, app): (Option<i64>, Option<i64>) = (row.take()?, row.take()?);
            let (count, detail): (i64, Option<String>) = (row.take()?, row.take()?);
            // The others of the hour are only counted, so that clients cannot fill the log.
            if count > 1 && event.counted_subject().is_some() {
                continue;
            }
            let (address, request_id) = client_columns(event.client.as_ref());
            tracing::info!(
                target: "belfry::audit",
                kind = event.kind.as_str(),
                outcome = event.outcome.as_str(),
                account = account.map(tracing::field::display),
                app = app.map(tracing::field::display),
                origin = event.origin.as_str(),
                address,
                request_id,
                detail,
                count,
                "audit event"
            );
        }
    }
    Ok(())
}

/// Returns the values of the columns that describe a client: its address and request id.
fn client_columns(client: Option<&AuditClient>) -> (Option<&str>, Option<&str>) {
    let address = client.and_then(|client| client.address.as_deref());
    (address, client.map(|client| client.request_id.as_str()))
}

/// Returns a new id, which sorts by time.
pub(crate) fn new_id(at: Timestamp) -> String {
    event_id(at.as_millisecond(), next_suffix())
}

/// Returns the time of an id, to the millisecond.
pub(crate) fn id_time(id: &str) -> Option<Timestamp> {
    let millisecond = i64::from_str_radix(id.get(..12)?, 16).ok()?;
    Timestamp::from_millisecond(millisecond).ok()
}

/// Returns the suffix of an id: a sequence number, which orders this process's ids of one
/// millisecond, and random bits, which distinguish them from those of other processes.
fn next_suffix() -> u64 {
    static SEQUENCE: AtomicU32 = AtomicU32::new(0);
    let number = SEQUENCE.fetch_add(1, Ordering::Relaxed);
    (u64::from(number) << 32) | u64::from(u32::from_be_bytes(random::bytes()))
}

pub(crate) fn counted_id(hour: i64, subject: &CountedSubject) -> String {
    event_id(hour * 3_600_000, subject.digest())
}

/// Returns an id that sorts by time.
pub(crate) fn event_id(millisecond: i64, suffix: u64) -> String {
    format!("{millisecond:012x}{suffix:016x}")
}
