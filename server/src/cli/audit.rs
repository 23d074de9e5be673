//! `belfry audit`

mod time;

use std::collections::HashMap;

use belfry_core::audit::{AuditKind, AuditOutcome};
use belfry_store::{AuditEvent, AuditFilter, DeletedAccount, Store};
use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use self::time::parse_time;
use super::output::{Table, one_of, print, print_message};
use super::{CliError, account, or_dash};
use crate::config::Config;

#[derive(Args)]
pub(super) struct Command {
    /// Only events of this account: its name, id, e-mail address or user id, even if it was deleted
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Only events of the app with this id
    #[arg(long, value_name = "ID")]
    app: Option<i64>,
    /// Only events of this kind, such as sign_in or account_delete
    #[arg(long, value_parser = one_of(AuditKind::ALL, AuditKind::as_str), hide_possible_values = true)]
    kind: Option<AuditKind>,
    /// Only events with this outcome
    #[arg(long, value_parser = one_of(AuditOutcome::ALL, AuditOutcome::as_str))]
    outcome: Option<AuditOutcome>,
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

/// Number of events that are shown without `--limit`.
const DEFAULT_LIMIT: i64 = 100;

const TITLES: [&str; 9] =
    ["time", "kind", "outcome", "count", "account", "app", "address", "request", "detail"];

impl Command {
    pub(super) async fn run(
        self,
        store: &Store,
        config: &Config,
        now: Timestamp,
    ) -> Result<(), CliError> {
        let account = match &self.account {
            Some(text) => Some(account::find_id(store, config, text).await?),
            None => None,
        };
        let time = |flag: &str, text: Option<&str>| {
            let time = text.map(|text| parse_time(text, now)).transpose();
            time.map_err(|error| format!("{flag}: {error}"))
        };
        let filter = AuditFilter {
            account,
            app: self.app,
            kind: self.kind,
            outcome: self.outcome,
            since: time("--since", self.since.as_deref())?,
            before: time("--before", self.before.as_deref())?,
        };
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let mut events = store.audit_events(filter, limit + 1).await?;
        // One more is read to see whether there are more.
        let has_more = i64::try_from(events.len())? > limit;
        if has_more {
            events.remove(0);
        }
        let deleted = deleted_names(store, &events).await?;
        let mut table = Table::new(&TITLES, self.json);
        print(&table.page(
            &events,
            |event| columns(event, &deleted),
            |event| to_json(event, &deleted),
        ))?;
        if has_more && self.limit.is_none() {
            print_message(format_args!(
                "belfry: the newest {limit} events are shown; --limit N shows more"
            ));
        }
        Ok(())
    }
}

/// The names of the deleted accounts that events refer to, by id.
async fn deleted_names(
    store: &Store,
    events: &[AuditEvent],
) -> Result<HashMap<i64, String>, CliError> {
    let is_deleted = |event: &&AuditEvent| event.account_id.is_some() && event.account.is_none();
    // An account is deleted after its other events.
    let Some(first) = events.iter().find(is_deleted) else { return Ok(HashMap::new()) };
    let deleted = store.deleted_accounts(first.at).await?.into_iter();
    Ok(deleted.map(|DeletedAccount { id, name }| (id, name)).collect())
}

/// The columns of the titles.
fn columns(event: &AuditEvent, deleted: &HashMap<i64, String>) -> Vec<String> {
    let account = match (&event.account, event.account_id) {
        (Some(name), _) => name.clone(),
        (None, Some(id)) => match deleted.get(&id) {
            Some(name) => format!("{name} (deleted)"),
            None => format!("#{id}"),
        },
        (None, None) => "-".to_owned(),
    };
    let app = match (&event.app, event.app_id) {
        (Some(name), _) => name.clone(),
        (None, Some(id)) => format!("#{id}"),
        (None, None) => "-".to_owned(),
    };
    vec![
        event.at.to_string(),
        event.kind.clone(),
        event.outcome.clone(),
        event.count.to_string(),
        account,
        app,
        event.address.as_ref().unwrap_or(&event.origin).clone(),
        or_dash(event.request_id.as_ref()),
        or_dash(event.detail.as_ref()),
    ]
}

fn to_json(event: &AuditEvent, deleted: &HashMap<i64, String>) -> serde_json::Value {
    let deleted = event.account_id.and_then(|id| deleted.get(&id));
    json!({
        "at": event.at.to_string(),
        "last_at": event.last_at.to_string(),
        "kind": event.kind,
        "outcome": event.outcome,
        "count": event.count,
        "account_id": event.account_id.map(|id| id.to_string()),
        "account": event.account.as_ref().or(deleted),
        "app_id": event.app_id.map(|id| id.to_string()),
        "app": event.app,
        "origin": event.origin,
        "address": event.address,
        "request_id": event.request_id,
        "detail": event.detail,
    })
}
