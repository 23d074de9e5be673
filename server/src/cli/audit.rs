//! `belfry audit`

mod time;

use std::collections::HashMap;

use belfry_core::audit::{AuditKind, AuditOrigin, AuditOutcome};
use belfry_store::{AuditEvent, AuditFilter, DeletedAccount, Store};
use clap::Args;
use serde_json::json;

use self::time::parse_time;
use super::output::{Table, one_of, print, print_message};
use super::{CliError, Context, DatabaseUse, StoreCommand, app, or_dash};

#[derive(Args)]
pub(super) struct Command {
    /// Only events of this account: its name, id, e-mail address or user id. A name also matches
    /// deleted accounts
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Only events of this app: its id, client id or name. A name matches every app with it,
    /// including deleted ones; a client id does not match deleted apps
    #[arg(long, value_name = "APP")]
    app: Option<String>,
    /// Only events of this kind, such as sign_in or account_delete
    #[arg(long, value_parser = one_of(AuditKind::ALL, AuditKind::as_str), hide_possible_values = true)]
    kind: Option<AuditKind>,
    /// Only events with this outcome
    #[arg(long, value_parser = one_of(AuditOutcome::ALL, AuditOutcome::as_str))]
    outcome: Option<AuditOutcome>,
    /// Only events of this origin: page (a browser on this server's pages), client (an app or
    /// other API client), command-line (belfry commands) or server
    #[arg(long, value_parser = one_of(AuditOrigin::ALL, AuditOrigin::as_str))]
    origin: Option<AuditOrigin>,
    /// Only events since a time: today, yesterday, 2h or 3d (ago), 2030-01-31 or
    /// 2030-01-31T12:00:00Z; days begin at midnight UTC
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only events before a time
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// Maximum number of events; the newest are shown [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=1_000_000))]
    limit: Option<i64>,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Number of events shown without `--limit`.
const DEFAULT_LIMIT: i64 = 100;

const HEADERS: [&str; 10] = [
    "time", "kind", "outcome", "count", "account", "app", "origin", "address", "request", "detail",
];

impl StoreCommand for Command {
    fn database_use(&self) -> DatabaseUse {
        DatabaseUse::Read
    }

    async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        let Context { store, now, .. } = context;
        let accounts = match &self.account {
            Some(argument) => {
                context.find_account_ids(argument).await?.into_iter().map(Some).collect()
            }
            None => vec![None],
        };
        let (app, app_name) = match &self.app {
            Some(argument) => app::find_for_audit(store, argument).await?,
            None => (None, None),
        };
        let parse_time_flag = |flag: &str, text: Option<&str>| {
            let time = text.map(|text| parse_time(text, now)).transpose();
            time.map_err(|error| format!("{flag}: {error}"))
        };
        let filter = AuditFilter {
            account: None,
            app,
            app_name,
            kind: self.kind,
            outcome: self.outcome,
            origin: self.origin,
            since: parse_time_flag("--since", self.since.as_deref())?,
            before: parse_time_flag("--before", self.before.as_deref())?,
        };
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let mut events = Vec::new();
        for account in accounts {
            // Reads one event more than the limit, to find out whether there are more.
            events.extend(store.audit_events(AuditFilter { account, ..filter }, limit + 1).await?);
        }
        events.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        let excess = events.len().saturating_sub(usize::try_from(limit)?);
        let has_more = excess > 0;
        events.drain(..excess);
        let names = DeletedNames::load(store, &events).await?;
        let mut table = Table::new(&HEADERS, self.json);
        print(&table.format_page(
            &events,
            |event| to_columns(event, &names),
            |event| to_json(event, &names),
        ))?;
        if has_more && self.limit.is_none() {
            print_message(format_args!(
                "belfry: the newest {limit} events are shown; --limit N shows more"
            ));
        }
        Ok(())
    }
}

/// The names of deleted accounts, by id.
struct DeletedNames(HashMap<i64, String>);

impl DeletedNames {
    async fn load(store: &Store, events: &[AuditEvent]) -> Result<Self, CliError> {
        let has_deleted_account =
            |event: &&AuditEvent| event.account_id.is_some() && event.account.is_none();
        let accounts = match events.iter().find(has_deleted_account) {
            // Events are sorted by time, so all deleted accounts were deleted after this event.
            Some(event) => store.deleted_accounts(event.at).await?,
            None => Vec::new(),
        };
        Ok(Self(accounts.into_iter().map(|DeletedAccount { id, name }| (id, name)).collect()))
    }

    /// Returns the name that the account of an event has or had.
    fn account_name<'a>(&'a self, event: &'a AuditEvent) -> Option<&'a str> {
        let deleted_name = event.account_id.and_then(|id| self.0.get(&id));
        event.account.as_ref().or(deleted_name).map(String::as_str)
    }

    /// Formats the account of an event, with its id if other accounts may have the name.
    fn format_account(&self, event: &AuditEvent) -> String {
        match (&event.account, event.account_id, self.account_name(event)) {
            (Some(name), ..) => name.clone(),
            (None, Some(id), Some(name)) => format!("{name} (deleted, #{id})"),
            (None, Some(id), None) => format!("#{id}"),
            (None, None, _) => "-".to_owned(),
        }
    }
}

/// Formats the app of an event with its id, because anyone may register an app with the same name.
fn format_app(event: &AuditEvent) -> String {
    match (&event.app, event.app_id) {
        (Some(name), Some(id)) => format!("{name} (#{id})"),
        (Some(name), None) => name.clone(),
        (None, Some(id)) => format!("#{id}"),
        (None, None) => "-".to_owned(),
    }
}

/// Returns the columns in the order of [`HEADERS`].
fn to_columns(event: &AuditEvent, names: &DeletedNames) -> Vec<String> {
    let last_time = (event.last_at != event.at).then(|| format!("last at {}", event.last_at));
    let details: Vec<String> = event.detail.clone().into_iter().chain(last_time).collect();
    vec![
        event.at.to_string(),
        event.kind.clone(),
        event.outcome.clone(),
        event.count.to_string(),
        names.format_account(event),
        format_app(event),
        event.origin.clone(),
        or_dash(event.address.as_ref()),
        or_dash(event.request_id.as_ref()),
        if details.is_empty() { "-".to_owned() } else { details.join("; ") },
    ]
}

fn to_json(event: &AuditEvent, names: &DeletedNames) -> serde_json::Value {
    json!({
        "at": event.at.to_string(),
        "last_at": event.last_at.to_string(),
        "kind": event.kind,
        "outcome": event.outcome,
        "count": event.count,
        "account_id": event.account_id.map(|id| id.to_string()),
        "account": names.account_name(event),
        "app_id": event.app_id.map(|id| id.to_string()),
        "app": event.app,
        "origin": event.origin,
        "address": event.address,
        "request_id": event.request_id,
        "detail": event.detail,
    })
}
