//! `belfry audit`

mod time;

use std::collections::{HashMap, HashSet};

use belfry_core::audit::{AuditKind, AuditOrigin, AuditOutcome};
use belfry_store::{AuditEvent, AuditFilter, DeletedAccount, Store};
use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use self::time::parse_time;
use super::output::{Table, one_of, print, print_message};
use super::{CliError, account, app, or_dash};
use crate::config::Config;

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

impl Command {
    pub(super) async fn run(
        self,
        store: &Store,
        config: &Config,
        now: Timestamp,
    ) -> Result<(), CliError> {
        let accounts = match &self.account {
            Some(argument) => account::find_account_ids(store, config, argument)
                .await?
                .into_iter()
                .map(Some)
                .collect(),
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
        let names = EventNames::new(store, &events).await?;
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

/// The names of the accounts and apps that events refer to.
struct EventNames {
    /// The names of deleted accounts, by id.
    deleted_accounts_by_id: HashMap<i64, String>,
    /// The names that several of the accounts have or had.
    ambiguous_names: HashSet<String>,
    /// The names that several of the apps have.
    ambiguous_app_names: HashSet<String>,
}

impl EventNames {
    /// Loads the names of deleted accounts, and finds the ambiguous names.
    async fn new(store: &Store, events: &[AuditEvent]) -> Result<Self, CliError> {
        let has_deleted_account =
            |event: &&AuditEvent| event.account_id.is_some() && event.account.is_none();
        let deleted_accounts = match events.iter().find(has_deleted_account) {
            // Events are sorted by time, so all deleted accounts were deleted after this event.
            Some(event) => store.deleted_accounts(event.at).await?,
            None => Vec::new(),
        };
        let deleted_accounts_by_id =
            deleted_accounts.into_iter().map(|DeletedAccount { id, name }| (id, name)).collect();
        let names = Self {
            deleted_accounts_by_id,
            ambiguous_names: HashSet::new(),
            ambiguous_app_names: find_ambiguous(
                events.iter().map(|event| (event.app.as_deref(), event.app_id)),
            ),
        };
        let accounts = events.iter().map(|event| (names.account_name(event), event.account_id));
        let ambiguous_names = find_ambiguous(accounts);
        Ok(Self { ambiguous_names, ..names })
    }

    /// Returns the name that the account of an event has or had.
    fn account_name<'a>(&'a self, event: &'a AuditEvent) -> Option<&'a str> {
        let deleted_name = event.account_id.and_then(|id| self.deleted_accounts_by_id.get(&id));
        event.account.as_ref().or(deleted_name).map(String::as_str)
    }

    /// Formats the account of an event, with its id if the name is ambiguous or unknown.
    fn format_account(&self, event: &AuditEvent) -> String {
        let Some(id) = event.account_id else { return "-".to_owned() };
        let Some(name) = self.account_name(event) else { return format!("#{id}") };
        match (event.account.is_none(), self.ambiguous_names.contains(name)) {
            (false, false) => name.to_owned(),
            (false, true) => format!("{name} (#{id})"),
            (true, false) => format!("{name} (deleted)"),
            (true, true) => format!("{name} (deleted, #{id})"),
        }
    }

    /// Formats the app of an event, with its id if the name is ambiguous or unknown.
    fn format_app(&self, event: &AuditEvent) -> String {
        match (&event.app, event.app_id) {
            (Some(name), Some(id)) if self.ambiguous_app_names.contains(name) => {
                format!("{name} (#{id})")
            }
            (Some(name), _) => name.clone(),
            (None, Some(id)) => format!("#{id}"),
            (None, None) => "-".to_owned(),
        }
    }
}

/// Returns the names that belong to several ids.
fn find_ambiguous<'a>(
    pairs: impl Iterator<Item = (Option<&'a str>, Option<i64>)>,
) -> HashSet<String> {
    let mut ids = HashMap::new();
    let mut ambiguous_names = HashSet::new();
    for (name, id) in pairs {
        if let (Some(name), Some(id)) = (name, id)
            && *ids.entry(name).or_insert(id) != id
        {
            ambiguous_names.insert(name.to_owned());
        }
    }
    ambiguous_names
}

/// Returns the columns in the order of [`HEADERS`].
fn to_columns(event: &AuditEvent, names: &EventNames) -> Vec<String> {
    let last_time = (event.last_at != event.at).then(|| format!("last at {}", event.last_at));
    let details: Vec<String> = event.detail.clone().into_iter().chain(last_time).collect();
    vec![
        event.at.to_string(),
        event.kind.clone(),
        event.outcome.clone(),
        event.count.to_string(),
        names.format_account(event),
        names.format_app(event),
        event.origin.clone(),
        or_dash(event.address.as_ref()),
        or_dash(event.request_id.as_ref()),
        if details.is_empty() { "-".to_owned() } else { details.join("; ") },
    ]
}

fn to_json(event: &AuditEvent, names: &EventNames) -> serde_json::Value {
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
