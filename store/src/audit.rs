//! The audit trail: events that are stored in the transaction of their change, and counted events.

use belfry_core::audit::{
    AuditKind, AuditOrigin, AuditOutcome, CountedSubject, EventCount, NewAuditEvents,
};
use jiff::Timestamp;

use crate::engine::{Statement, from_row, sql};
use crate::error::StoreError;
use crate::store::event_source::{EventSource, counted_id};
use crate::store::{Change, Store};

/// A stored event, with the names of its account and app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// The id, which orders the events of the same second.
    pub id: String,
    /// The time of the event, or of the first event if several are counted together.
    pub at: Timestamp,
    /// The time of the last event if it is a counted event; otherwise the same as `at`.
    pub last_at: Timestamp,
    /// The kind of event. A string, because a newer release may have stored kinds that this one
    /// does not support.
    pub kind: String,
    /// `success`, `failure` or `denied`.
    pub outcome: String,
    pub origin: String,
    /// The client's address, reduced according to the settings.
    pub address: Option<String>,
    pub request_id: Option<String>,
    pub detail: Option<String>,
    pub account_id: Option<i64>,
    /// The account name, unless the account was deleted.
    pub account: Option<String>,
    pub app_id: Option<i64>,
    /// The app name, unless the app was deleted.
    pub app: Option<String>,
    /// Number of events, or of tokens that were revoked.
    pub count: i64,
}

from_row!(
    AuditEvent: id, at, last_at, kind, outcome, origin, address, request_id, detail, account_id,
    account, app_id, app, count
);

#[derive(Debug, Clone, Copy, Default)]
pub struct AuditFilter<'a> {
    /// Only events of this account.
    pub account: Option<i64>,
    /// Only events of this app.
    pub app: Option<i64>,
    /// Only events of the apps that have this name, or had it when they were deleted, ignoring
    /// case.
    pub app_name: Option<&'a str>,
    /// Only events of this kind.
    pub kind: Option<AuditKind>,
    /// Only events with this outcome.
    pub outcome: Option<AuditOutcome>,
    /// Only events of this origin.
    pub origin: Option<AuditOrigin>,
    /// Only events from this time on. A counted event is included if its last occurrence is.
    pub since: Option<Timestamp>,
    /// Only events before this time.
    pub before: Option<Timestamp>,
}

impl Store {
    /// Stores the events of an action that changes no row, such as a backup.
    pub async fn record_events(&self, events: &NewAuditEvents) -> Result<(), StoreError> {
        self.write(Change::new(events, [], EventSource::without_subject())).await.map(drop)
    }

    /// Adds counts to the rows of their hours and subjects.
    pub async fn add_audit_counts(&self, counts: &[EventCount]) -> Result<(), StoreError> {
        let mut change = Change::unaudited([]);
        for events in counts {
            let CountedSubject { kind, outcome, origin, account, app, address, detail } =
                &events.subject;
            change = change.and(sql!(
                r"
                    insert into audit_events (id, at, last_at, kind, outcome, origin, address,
                        detail, account_id, app_id, count)
                    values ($id, $first, $last, $kind, $outcome, $origin, $address, $detail,
                        $account, $app, $count)
                    on conflict (id) do update
                    set count = audit_events.count + excluded.count, last_at = case when
                        excluded.last_at > audit_events.last_at then excluded.last_at else
                        audit_events.last_at end
                ",
                [
                    id = counted_id(events.hour, &events.subject),
                    first = events.first,
                    last = events.last,
                    kind = kind.as_str(),
                    outcome = outcome.as_str(),
                    origin = origin.as_str(),
                    address = address.as_deref(),
                    detail = detail.as_deref(),
                    account = *account,
                    app = *app,
                    count = events.count
                ]
            ));
        }
        self.write(change).await.map(drop)
    }

    /// Returns the newest `limit` events that match a filter, in order of time and id.
    pub async fn audit_events(
        &self,
        filter: AuditFilter<'_>,
        limit: i64,
    ) -> Result<Vec<AuditEvent>, StoreError> {
        let mut newest_first = self
            .read_all::<AuditEvent>(sql!(
                r"
                    select e.id, e.at, e.last_at, e.kind, e.outcome, e.origin, e.address,
                        e.request_id, e.detail, e.account_id, a.name, e.app_id, p.name, e.count
                    from audit_events e
                    left join accounts a on a.id = e.account_id
                    left join apps p on p.id = e.app_id
                    where (cast($account as bigint) is null or e.account_id = $account)
                      and (cast($app as bigint) is null or e.app_id = $app)
                      and (
                          cast($app_name as text) is null
                            or lower(p.name) = lower($app_name)
                            or e.app_id in (
                                select app_id
                                from audit_events
                                where kind = $app_delete
                                  and lower(detail) = lower('name ' || cast($app_name as text))
                            )
                      )
                      and e.last_at >= $since
                      and (cast($kind as text) is null or e.kind = $kind)
                      and (cast($outcome as text) is null or e.outcome = $outcome)
                      and (cast($origin as text) is null or e.origin = $origin)
                      and (cast($before as bigint) is null or e.at < $before)
                    order by e.at desc, e.id desc
                    limit $limit
                ",
                [
                    account = filter.account,
                    app = filter.app,
                    app_name = filter.app_name,
                    app_delete = AuditKind::AppDelete.as_str(),
                    since = filter.since.unwrap_or(Timestamp::UNIX_EPOCH),
                    limit,
                    kind = filter.kind.map(AuditKind::as_str),
                    outcome = filter.outcome.map(AuditOutcome::as_str),
                    origin = filter.origin.map(AuditOrigin::as_str),
                    before = filter.before
                ]
            ))
            .await?;
        newest_first.reverse();
        Ok(newest_first)
    }

    /// Deletes the oldest audit events before a time, at most `limit` of them. Returns their number.
    pub async fn delete_audit_events_before(
        &self,
        time: Timestamp,
        limit: i64,
    ) -> Result<usize, StoreError> {
        let delete = Change::unaudited(delete_audit_events_statement(time, limit));
        Ok(self.write(delete).await?.iter().map(Vec::len).sum())
    }
}

/// Returns the statement that deletes the oldest events before a time, at most `limit` of them,
/// and returns their ids.
pub(crate) fn delete_audit_events_statement(time: Timestamp, limit: i64) -> Statement {
    sql!(
        r"
            delete from audit_events
            where id in (
                select id
                from audit_events
                where at < $time
                order by at
                limit $limit
            )
            returning id
        ",
        [time, limit]
    )
}
