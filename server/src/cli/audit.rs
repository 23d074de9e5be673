//! `belfry audit`

use clap::Args;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};
use serde_json::json;

use super::output::{json_line, print, text_line};
use super::{CliError, account, or_dash};
use crate::store::{AuditEvent, AuditFilter, Store};

#[derive(Args)]
pub(super) struct Command {
    /// Only events of this account: its name, or its id if it was deleted
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only events of the app with this id
    #[arg(long, value_name = "ID")]
    app: Option<i64>,
    /// Only events since a time, such as 2030-01-31, 2030-01-31T12:00:00Z or 24h (ago)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Maximum number of events; the newest are shown
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(i64).range(1..=1_000_000))]
    limit: i64,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Number of events that are printed with one write.
const PAGE: usize = 1000;

impl Command {
    pub(super) async fn run(self, store: &Store, now: Timestamp) -> Result<(), CliError> {
        let account = match &self.account {
            None => None,
            Some(name) => match name.parse() {
                Ok(id) if store.account_by_name(name).await?.is_none() => Some(id),
                _ => Some(account::find(store, name).await?.id),
            },
        };
        let since = self.since.as_deref().map(|text| parse_time(text, now)).transpose()?;
        let filter = AuditFilter { account, app: self.app, since };
        let events = store.audit_events(filter, self.limit).await?;
        for page in events.chunks(PAGE) {
            let rows = page.iter().map(|event| {
                if self.json { json_line(&to_json(event)) } else { text_line(&columns(event)) }
            });
            print(&rows.collect::<String>())?;
        }
        Ok(())
    }
}

/// Parses a time, a date (in UTC), or a duration before now.
fn parse_time(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(date) = text.parse::<Date>() {
        let midnight = date.to_zoned(TimeZone::UTC);
        return midnight.map(|time| time.timestamp()).map_err(|error| error.to_string());
    }
    let span = text.parse::<Span>().ok();
    let ago = span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
    ago.and_then(|ago| now.checked_sub(ago).ok()).ok_or_else(|| {
        format!("--since: {text:?} is not a time such as 2030-01-31T12:00:00Z, 2030-01-31 or 24h")
    })
}

/// The columns: time, kind, outcome, count, account, app, address, request id and detail.
fn columns(event: &AuditEvent) -> Vec<String> {
    let name_or_id = |name: &Option<String>, id: Option<i64>| match (name, id) {
        (Some(name), _) => name.clone(),
        (None, Some(id)) => format!("#{id}"),
        (None, None) => "-".to_owned(),
    };
    vec![
        event.at.to_string(),
        event.kind.clone(),
        event.outcome.clone(),
        event.count.to_string(),
        name_or_id(&event.account, event.account_id),
        name_or_id(&event.app, event.app_id),
        event.address.as_ref().unwrap_or(&event.origin).clone(),
        or_dash(event.request_id.as_ref()),
        or_dash(event.detail.as_ref()),
    ]
}

fn to_json(event: &AuditEvent) -> serde_json::Value {
    json!({
        "at": event.at.to_string(),
        "last_at": event.last_at.to_string(),
        "kind": event.kind,
        "outcome": event.outcome,
        "count": event.count,
        "account_id": event.account_id.map(|id| id.to_string()),
        "account": event.account,
        "app_id": event.app_id.map(|id| id.to_string()),
        "app": event.app,
        "origin": event.origin,
        "address": event.address,
        "request_id": event.request_id,
        "detail": event.detail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_timestamp_a_date_or_a_duration_before_now() {
        let now: Timestamp = "2030-01-31T12:00:00Z".parse().unwrap();
        for (text, time) in [
            ("2030-01-30T10:00:00Z", "2030-01-30T10:00:00Z"),
            ("2030-01-30T10:00:00+02:00", "2030-01-30T08:00:00Z"),
            ("2030-01-30", "2030-01-30T00:00:00Z"),
            ("90m", "2030-01-31T10:30:00Z"),
            ("2d", "2030-01-29T12:00:00Z"),
        ] {
            assert_eq!(parse_time(text, now).unwrap().to_string(), time, "{text}");
        }
        for text in ["", "yesterday", "12", "2030-13-01"] {
            assert!(parse_time(text, now).unwrap_err().contains("is not a time"), "{text}");
        }
    }
}
