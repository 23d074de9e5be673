//! `belfry push log`

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::rules::RuleRef;
use belfry_store::LoggedDelivery;
use clap::Args;
use serde_json::{Value, json};

use crate::cli::output::{Table, print, print_message};
use crate::cli::{CliError, Context, or_dash};
use crate::escape::escape;

#[derive(Args)]
pub(in crate::cli) struct Log {
    /// Account: its name, id, e-mail address or user id
    #[arg(value_name = "ACCOUNT")]
    account: String,
    /// Only deliveries of this event or notification
    #[arg(long, value_name = "ID")]
    event: Option<String>,
    /// Maximum number of deliveries; the newest are shown [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=1_000_000))]
    limit: Option<i64>,
    /// Print each delivery as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Number of deliveries shown without `--limit`.
const DEFAULT_LIMIT: i64 = 100;

const HEADERS: [&str; 8] =
    ["accepted", "event", "rule", "receiver", "attempts", "outcome", "status", "error"];

impl Log {
    pub(super) async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        let account = context.find_account(&self.account).await?;
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        // Reads one more delivery than are shown, to find out whether there are more.
        let mut deliveries =
            context.store.delivery_log(account.id, self.event.as_deref(), limit + 1).await?;
        let shown_count = usize::try_from(limit)?;
        let has_more = deliveries.len() > shown_count;
        deliveries.truncate(shown_count);
        deliveries.reverse();
        let mut table = Table::new(&HEADERS, self.json);
        print(&table.format_page(&deliveries, to_columns, to_json))?;
        if let (Some(event_id), true) = (&self.event, deliveries.is_empty()) {
            let event_id = escape(event_id);
            let name = &account.name;
            print_message(format_args!("belfry: no delivery of {event_id} to {name} is recorded"));
        }
        if has_more && self.limit.is_none() {
            print_message(format_args!(
                "belfry: the newest {limit} deliveries are shown; --limit N shows more"
            ));
        }
        Ok(())
    }
}

/// Returns the push rule that matched. Tests and notifications of Mastodon's API have none.
fn matched_rule(delivery: &LoggedDelivery) -> Option<String> {
    let RuleRef { scope, kind, id } = RuleRef::from_path(delivery.details.rule.as_deref()?).ok()?;
    Some(format!("{scope}/{kind}/{id}"))
}

/// Returns the columns in the order of [`HEADERS`].
fn to_columns(delivery: &LoggedDelivery) -> Vec<String> {
    let outcome = match delivery.outcome {
        Some(outcome) => outcome.as_str().to_owned(),
        None => format!("waiting, due {}", delivery.due_at),
    };
    vec![
        delivery.created_at.to_string(),
        delivery.event_id.clone(),
        or_dash(matched_rule(delivery)),
        delivery.receiver_id.to_string(),
        delivery.attempts.to_string(),
        outcome,
        or_dash(delivery.status),
        or_dash(delivery.error.as_ref()),
    ]
}

fn to_json(delivery: &LoggedDelivery) -> Value {
    let is_waiting = delivery.outcome.is_none();
    json!({
        "accepted_at": delivery.created_at.to_string(),
        "event_id": delivery.event_id,
        "rule": matched_rule(delivery),
        "receiver_id": delivery.receiver_id.to_string(),
        "attempts": delivery.attempts,
        "outcome": delivery.outcome.map(DeliveryOutcome::as_str),
        "due_at": is_waiting.then(|| delivery.due_at.to_string()),
        "expires_at": delivery.expires_at.to_string(),
        "finished_at": delivery.finished_at.map(|time| time.to_string()),
        "status": delivery.status,
        "error": delivery.error,
    })
}
