//! The audit trail: events that are stored in the transaction of their change, and counted events.

use std::sync::Arc;

use belfry_core::audit::{
    AggregatedEvent, AuditEntry, AuditKind, AuditOrigin, AuditOutcome, Subject,
};
use belfry_runtime::random;
use jiff::Timestamp;

use super::engine::{Batch, Row, Statement, Value, from_row, sql};
use super::{Store, StoreError};

/// The statement that inserts an event for each row of a source. A row has the account, the app,
/// and the `number` of rows that the change affects. The parameters of the source begin with `$9`.
/// The detail is that of the entry, or an expression.
macro_rules! insert_event {
    (detail $detail:literal, $source:expr) => {
        concat!(
            "insert into audit_events (id, at, last_at, kind, outcome, origin, address, \
             request_id, detail, account_id, app_id, count) \
             select cast($1 as text), cast($2 as bigint), cast($2 as bigint), cast($3 as text), \
             cast($4 as text), cast($5 as text), cast($6 as text), cast($7 as text), ",
            $detail,
            ", account_id, app_id, number from (select ",
            $source,
            ") as source returning account_id, app_id, count"
        )
    };
    ($source:expr) => {
        insert_event!(detail "cast($8 as text)", $source)
    };
}
pub(super) use insert_event;

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

impl Batch {
    /// Adds the events of a change, with a statement made by [`insert_event`]. The events must be
    /// added before a statement that deletes the rows of the source, and after one that inserts
    /// them; those of several changes one after another.
    pub(super) fn and_events(mut self, entries: &[AuditEntry], source: &Statement) -> Self {
        let start = match &self.events {
            events if events.is_empty() => self.statements.len(),
            events => events.start,
        };
        self.statements.extend(entries.iter().map(|entry| {
            let mut values = values_of(entry);
            values.extend(source.values.iter().cloned());
            Statement::new(source.sql, values)
        }));
        self.events = start..self.statements.len();
        self
    }
}

/// The statement that inserts an event about no account and no app.
pub(super) fn event_statement(entry: &AuditEntry) -> Statement {
    let sql = insert_event!(
        "cast(null as bigint) as account_id, cast(null as bigint) as app_id, 1 as number"
    );
    Statement::new(sql, values_of(entry))
}

fn values_of(entry: &AuditEntry) -> Vec<Value> {
    let (origin, address, request_id) = origin_columns(&entry.origin);
    vec![
        event_id(entry.at.as_millisecond(), u64::from_be_bytes(random::bytes())).into(),
        entry.at.into(),
        entry.kind.as_str().into(),
        entry.outcome.as_str().into(),
        origin.into(),
        address.into(),
        request_id.into(),
        entry.detail.as_deref().into(),
    ]
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
    /// The same store, which adds these events to the transaction of a change. The events of an
    /// earlier call are replaced.
    ///
    /// Every method that changes accounts, apps, sessions, codes and tokens supports events. An
    /// event is added only if the change takes effect.
    pub fn audited(&self, entries: impl Into<Arc<[AuditEntry]>>) -> Self {
        Self { entries: entries.into(), ..self.clone() }
    }

    /// The same store without events.
    pub fn unaudited(&self) -> Self {
        self.audited(Vec::new())
    }

    /// Stores the events of an action that changes no row, such as a backup.
    pub async fn record_events(&self) -> Result<(), StoreError> {
        let statements: Vec<Statement> = self.entries.iter().map(event_statement).collect();
        let events = 0..statements.len();
        self.write(Batch { statements, events, ..Batch::default() }).await.map(drop)
    }

    /// Logs the events that a batch has inserted, for each of its changes.
    pub(super) fn log_events(&self, inserted: Vec<Vec<Row>>) -> Result<(), StoreError> {
        for (entry, rows) in self.entries.iter().cycle().zip(inserted) {
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

    /// Adds counted events to the rows of their hours and subjects.
    pub async fn add_audit_counts(&self, events: &[AggregatedEvent]) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        for event in events {
            let Subject { kind, outcome, account, app, address, detail } = &event.subject;
            batch = batch.and(sql(
                "insert into audit_events (id, at, last_at, kind, outcome, origin, address, \
                 detail, account_id, app_id, count) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
                 on conflict (id) do update set count = audit_events.count + excluded.count, \
                 last_at = case when excluded.last_at > audit_events.last_at \
                 then excluded.last_at else audit_events.last_at end",
                [
                    event_id(event.hour * 3_600_000, event.subject_digest()).into(),
                    event.first.into(),
                    event.last.into(),
                    kind.as_str().into(),
                    outcome.as_str().into(),
                    CLIENT.into(),
                    address.as_deref().into(),
                    detail.as_deref().into(),
                    (*account).into(),
                    (*app).into(),
                    event.count.into(),
                ],
            ));
        }
        self.engine.write(batch).await.map(drop)
    }

    /// The newest events, in order of time.
    pub async fn audit_events(
        &self,
        filter: AuditFilter,
        limit: i64,
    ) -> Result<Vec<AuditEvent>, StoreError> {
        let mut newest_first = self
            .read_all::<AuditEvent>(sql(
                "select e.at, e.last_at, e.kind, e.outcome, e.origin, e.address, e.request_id, \
                 e.detail, e.account_id, a.name, e.app_id, p.name, e.count from audit_events e \
                 left join accounts a on a.id = e.account_id left join apps p on p.id = e.app_id \
                 where (cast($1 as bigint) is null or e.account_id = $1) \
                 and (cast($2 as bigint) is null or e.app_id = $2) and e.last_at >= $3 \
                 and (cast($5 as text) is null or e.kind = $5) \
                 and (cast($6 as text) is null or e.outcome = $6) \
                 and (cast($7 as bigint) is null or e.at < $7) \
                 order by e.at desc, e.id desc limit $4",
                [
                    filter.account.into(),
                    filter.app.into(),
                    filter.since.unwrap_or(Timestamp::UNIX_EPOCH).into(),
                    limit.into(),
                    filter.kind.map(AuditKind::as_str).into(),
                    filter.outcome.map(AuditOutcome::as_str).into(),
                    filter.before.into(),
                ],
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
        let [deleted] = self.write_rows(delete_audit_events(time, at_most)).await?;
        Ok(deleted.len())
    }
}

/// Deletes the oldest events from before a time, `at_most` this many, and returns their ids.
pub(super) fn delete_audit_events(time: Timestamp, at_most: i64) -> Statement {
    sql(
        "delete from audit_events where id in \
         (select id from audit_events where at < $1 order by at limit $2) returning id",
        [time.into(), at_most.into()],
    )
}
