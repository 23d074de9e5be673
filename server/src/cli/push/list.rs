//! `belfry push list`

use belfry_store::{ListedReceiver, Receiver};
use clap::Args;
use serde_json::{Value, json};

use super::key::list_keys;
use crate::cli::output::ListOptions;
use crate::cli::{CliError, Context, or_dash, or_never};

#[derive(Args)]
pub(in crate::cli) struct List {
    /// Account: its name, id, e-mail address or user id [default: all accounts]
    #[arg(value_name = "ACCOUNT")]
    account: Option<String>,
    /// List the public VAPID keys instead: key, creation time, receivers, state
    #[arg(long, conflicts_with_all = ["account", "limit"])]
    keys: bool,
    #[command(flatten)]
    options: ListOptions,
}

impl List {
    pub(super) async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        if self.keys {
            return list_keys(context, self.options.json).await;
        }
        let account_id = match &self.account {
            Some(argument) => Some(context.find_account(argument).await?.id),
            None => None,
        };
        let read_page = async |last_row: Option<&ListedReceiver>, limit| {
            let after = last_row.map(|row| (row.receiver.account_id, row.receiver.id));
            context.store.listed_receivers(account_id, after, limit, context.now).await
        };
        self.options.print(&HEADERS, read_page, to_columns, to_json).await
    }
}

const HEADERS: [&str; 9] =
    ["account", "id", "kind", "app", "origin", "state", "last success", "last failure", "reason"];

/// Returns the columns in the order of [`HEADERS`]. The rest of the URL is not shown, because
/// anyone who knows it can send messages to the device.
fn to_columns(row: &ListedReceiver) -> Vec<String> {
    let receiver = &row.receiver;
    vec![
        row.account.clone(),
        receiver.id.to_string(),
        receiver.protocol().as_str().to_owned(),
        format_app(row),
        receiver.origin.clone(),
        row.state().as_str().to_owned(),
        or_never(receiver.succeeded_at),
        or_never(receiver.failed_at),
        or_dash(receiver.failure.as_ref()),
    ]
}

fn to_json(row: &ListedReceiver) -> Value {
    let Receiver { id, account_id, origin, .. } = &row.receiver;
    json!({
        "account": row.account,
        "account_id": account_id.to_string(),
        "id": id.to_string(),
        "kind": row.receiver.protocol().as_str(),
        "app": row.app(),
        "device": row.device(),
        "profile_tag": profile_tag(row),
        "origin": origin,
        "vapid_key": row.receiver.vapid_key,
        "state": row.state().as_str(),
        "created_at": row.receiver.created_at.to_string(),
        "succeeded_at": row.receiver.succeeded_at.map(|time| time.to_string()),
        "failed_at": row.receiver.failed_at.map(|time| time.to_string()),
        "failure": row.receiver.failure,
    })
}

/// Formats the app, with the device and the profile tag of a pusher:
/// `Example (Phone, profile_tag home)`.
pub(super) fn format_app(row: &ListedReceiver) -> String {
    match (row.app(), row.device(), profile_tag(row)) {
        (Some(app), Some(device), Some(tag)) => format!("{app} ({device}, profile_tag {tag})"),
        (Some(app), Some(device), None) => format!("{app} ({device})"),
        (app, ..) => or_dash(app),
    }
}

fn profile_tag(row: &ListedReceiver) -> Option<&str> {
    row.receiver.document.as_pusher()?.profile_tag.as_deref()
}
