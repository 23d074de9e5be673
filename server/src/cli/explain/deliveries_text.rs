//! An event's deliveries as text for a terminal, one line each.

use std::fmt;

use jiff::Timestamp;

use crate::cli::output::format_count;
use crate::delivery::event_delivery::EventDelivery;
use crate::escape::escape;

/// The text of an event's deliveries; empty if there are none.
pub(super) struct DeliveriesText<'a>(pub(super) &'a [EventDelivery]);

impl fmt::Display for DeliveriesText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        writeln!(f, "\ndeliveries of this event")?;
        let names: Vec<String> = self.0.iter().map(receiver_name).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
        for (delivery, name) in self.0.iter().zip(names) {
            writeln!(f, "{name:width$}  {}", describe(delivery))?;
        }
        Ok(())
    }
}

fn receiver_name(delivery: &EventDelivery) -> String {
    match &delivery.receiver {
        Some(receiver) => escape(&format!("{} ({})", receiver.name, receiver.kind)).into_owned(),
        None => "a receiver that is gone".to_owned(),
    }
}

fn describe(delivery: &EventDelivery) -> String {
    let state = match (delivery.finished_ts, delivery.next_attempt_ts) {
        (Some(time), _) => format!("{} at {}", delivery.state, format_time(time)),
        (None, Some(time)) => format!("waiting, next attempt at {}", format_time(time)),
        (None, None) => delivery.state.to_owned(),
    };
    let attempts = format_count(delivery.attempts, "attempts");
    // If the status is the reason, the error contains it.
    let reason_suffix = match (&delivery.error, delivery.status) {
        (Some(error), _) => format!(": {error}"),
        (None, Some(status)) => format!(": status {status}"),
        (None, None) => String::new(),
    };
    format!("{state}, {attempts}{reason_suffix}")
}

fn format_time(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default().to_string()
}
