//! The audit trail: events that are stored in the transaction of their change, and counted events.

use belfry_core::audit::{
    AggregatedEvent, AuditEntry, AuditKind, AuditOrigin, AuditOutcome, Events, Subject,
};
use belfry_runtime::random;
use jiff::Timestamp;

use super::engine::{Rows, Statement, Value, from_row, sql, values};
use super::{Change, Store, StoreError};

/// The source of the events of a change: a query that returns a row for each event, with the
/// account, the app, and the `number` of rows that the change affects.
pub(super) struct EventSource {
    pub(super) sql: &'static str,
    pub(super) values: Vec<Value>,
}

/// An [`EventSource`] from the rest of a `select`, and the values of its parameters. The detail is
/// that of the entry, or an expression.
macro_rules! event_source {
    (
        detail = $detail:literal,
        $source:expr,
        [$($name:ident $(= $value:expr)?),* $(,)?] $(,)?
    ) => {
        $crate::audit::EventSource {
            sql: $crate::engine::numbered!(
                concat!(
                    "insert into audit_events (id, at, last_at, kind, outcome, origin, address, \
                     request_id, detail, account_id, app_id, count) \
                     select cast($event_id as text), cast($event_at as bigint), cast($event_at as \
                     bigint), cast($kind as text), cast($outcome as text), cast($origin as text), \
                     cast($address as text), cast($request_id as text), ",
                    $detail,
                    ", account_id, app_id, number from (select ",
                    $source,
                    ") as source returning account_id, app_id, count"
                ),
                event_id, event_at, kind, outcome, origin, address, request_id, detail $(, $name)*
            ),
            values: $crate::engine::values![$($name $(= $value)?),*],
        }
    };
    ($source:expr, $values:tt $(,)?) => {
        $crate::audit::event_source!(
            detail = "cast($detail as text)",
            $source,
            $values
        )
    };
}

/// The [`EventSource`] of the rows of a table that meet a condition.
macro_rules! events_of {
    ($table:ident, $condition:expr, $values:tt $(,)?) => {
        $crate::audit::event_source!(
            concat!(
                $crate::audit::event_columns!($table),
                ", 1 as number from ",
                stringify!($table),
                " where ",
                $condition
            ),
            $values
        )
    };
}

/// The account and the app of a row of a table.
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
pub(super) use {event_columns, event_source, events_of};

impl EventSource {
    /// No account and no app.
    pub(super) fn none() -> Self {
        event_source!(
            "cast(null as bigint) as account_id, cast(null as bigint) as app_id, 1 as number",
            []
        )
    }

    /// The statement that inserts an event for each row of the source.
    pub(super) fn insert(&self, entry: &AuditEntry) -> Statement {
        let (origin, address, request_id) = origin_columns(&entry.origin);
        let mut values = values![
            event_id = event_id(entry.at.as_millisecond(), u64::from_be_bytes(random::bytes())),
            event_at = entry.at,
            kind = entry.kind.as_str(),
            outcome = entry.outcome.as_str(),
            origin,
            address,
            request_id,
            detail = entry.detail.as_deref()
        ];
        values.extend(self.values.iter().cloned());
        Statement::new(self.sql, values)
    }
}

/// An event as it is shown to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// The time of the event; the first time, if it was counted.
    pub at: Timestamp,
    /// The last time of a counted event; otherwise the same as `at`.
    pub last_at: Timestamp,
    /// The kind of event. A text, because a newer release may have stored kinds that this one does
    /// not know.
    pub kind: String,
    /// The outcome.
    pub outcome: String,
    /// `client`, `command line` or `server`.
    pub origin: String,
    /// The client's address, as far as the settings allow.
    pub address: Option<String>,
    /// The id of the request.
    pub request_id: Option<String>,
    /// Further details.
    pub detail: Option<String>,
    /// The id of the account.
    pub account_id: Option<i64>,
    /// The name of the account, unless it was deleted.
    pub account: Option<String>,
    /// The id of the app.
    pub app_id: Option<i64>,
    /// The name of the app, unless it was deleted.
    pub app: Option<String>,
    /// The number of events, or of tokens that were revoked.
    pub count: i64,
}

from_row!(AuditEvent {
    at,
    last_at,
    kind,
    outcome,
    origin,
    address,
    request_id,
    detail,
    account_id,
    account,
    app_id,
    app,
    count
});

/// Selects the events to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditFilter {
    /// Only events of this account.
    pub account: Option<i64>,
    /// Only events of this app.
    pub app: Option<i64>,
    /// Only events of this kind.
    pub kind: Option<AuditKind>,
    /// Only events with this outcome.
    pub outcome: Option<AuditOutcome>,
    /// Only events from this time on.
    pub since: Option<Timestamp>,
    /// Only events before this time.
    pub before: Option<Timestamp>,
}

fn origin_columns(origin: &AuditOrigin) -> (&'static str, Option<&str>, Option<&str>) {
    match origin {
        AuditOrigin::CommandLine => (COMMAND_LINE, None, None),
        AuditOrigin::Server => (SERVER, None, None),
        AuditOrigin::Client { address, request_id } => {
            (CLIENT, address.as_deref(), Some(request_id.as_str()))
        }
    }
}

const COMMAND_LINE: &str = "command line";
const SERVER: &str = "server";
const CLIENT: &str = "client";

/// An id that is ordered by time.
fn event_id(millisecond: i64, suffix: u64) -> String {
    format!("{millisecond:012x}{suffix:016x}")
}

impl Store {
    /// Stores the events of an action that changes no row, such as a backup.
    pub async fn record_events(&self, events: &Events) -> Result<(), StoreError> {
        self.write(Change::new(events, [], EventSource::none())).await.map(drop)
    }

    /// Adds counted events to the rows of their hours and subjects.
    pub async fn add_audit_counts(&self, events: &[AggregatedEvent]) -> Result<(), StoreError> {
        let mut change = Change::unaudited([]);
        for event in events {
            let Subject { kind, outcome, account, app, address, detail } = &event.subject;
            change = change.and(sql!(
                "insert into audit_events (id, at, last_at, kind, outcome, origin, address, \
                 detail, account_id, app_id, count) values ($id, $first, $last, $kind, $outcome, \
                 $origin, $address, $detail, $account, $app, $count) on conflict (id) do update \
                 set count = audit_events.count + excluded.count, last_at = case \
                 when excluded.last_at > audit_events.last_at \
                 then excluded.last_at else audit_events.last_at end",
                [
                    id = event_id(event.hour * 3_600_000, event.subject_digest()),
                    first = event.first,
                    last = event.last,
                    kind = kind.as_str(),
                    outcome = outcome.as_str(),
                    origin = CLIENT,
                    address = address.as_deref(),
                    detail = detail.as_deref(),
                    account = *account,
                    app = *app,
                    count = event.count
                ]
            ));
        }
        self.write(change).await.map(drop)
    }

    /// The newest events, in order of time.
    pub async fn audit_events(
        &self,
        filter: AuditFilter,
        limit: i64,
    ) -> Result<Vec<AuditEvent>, StoreError> {
        let mut newest_first = self
            .read_all::<AuditEvent>(sql!(
                "select e.at, e.last_at, e.kind, e.outcome, e.origin, e.address, e.request_id, \
                 e.detail, e.account_id, a.name, e.app_id, p.name, e.count from audit_events e \
                 left join accounts a on a.id = e.account_id left join apps p on p.id = e.app_id \
                 where (cast($account as bigint) is null or e.account_id = $account) \
                 and (cast($app as bigint) is null or e.app_id = $app) and e.last_at >= $since \
                 and (cast($kind as text) is null or e.kind = $kind) \
                 and (cast($outcome as text) is null or e.outcome = $outcome) \
                 and (cast($before as bigint) is null or e.at < $before) \
                 order by e.at desc, e.id desc limit $limit",
                [
                    account = filter.account,
                    app = filter.app,
                    since = filter.since.unwrap_or(Timestamp::UNIX_EPOCH),
                    limit,
                    kind = filter.kind.map(AuditKind::as_str),
                    outcome = filter.outcome.map(AuditOutcome::as_str),
                    before = filter.before
                ]
            ))
            .await?;
        newest_first.reverse();
        Ok(newest_first)
    }

    /// Deletes the oldest events from before a time, `at_most` this many, and returns their number.
    /// To delete all of them, call it until it returns fewer than `at_most`.
    pub async fn delete_audit_events_before(
        &self,
        time: Timestamp,
        at_most: i64,
    ) -> Result<usize, StoreError> {
        let [deleted] =
            self.write_rows(Change::unaudited(delete_audit_events(time, at_most))).await?;
        Ok(deleted.len())
    }
}

/// Logs the events that a change has inserted: those of its first source in order, then those of
/// the next one.
pub(super) fn log_events(
    entries: &[AuditEntry],
    inserted: impl Iterator<Item = Rows>,
) -> Result<(), StoreError> {
    for (entry, rows) in entries.iter().cycle().zip(inserted) {
        for mut row in rows {
            let (account, app): (Option<i64>, Option<i64>) = (row.take()?, row.take()?);
            let count: i64 = row.take()?;
            let (origin, address, request_id) = origin_columns(&entry.origin);
            tracing::info!(
                target: "belfry::audit",
                kind = entry.kind.as_str(),
                outcome = entry.outcome.as_str(),
                account,
                app,
                origin,
                address,
                request_id,
                detail = entry.detail.as_deref(),
                count,
                "audit event"
            );
        }
    }
    Ok(())
}

/// Deletes the oldest events from before a time, `at_most` this many, and returns their ids.
pub(super) fn delete_audit_events(time: Timestamp, at_most: i64) -> Statement {
    sql!(
        "delete from audit_events where id in (select id from audit_events where at < $time \
         order by at limit $at_most) returning id",
        [time, at_most]
    )
}
