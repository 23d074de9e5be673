//! `belfry push test`

use std::time::Duration;

use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::receiver::{Protocol, ReceiverState};
use belfry_delivery::acceptance::outgoing::enqueue_test;
use belfry_delivery::sealed::open_secrets;
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::duration;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{ListedReceiver, LoggedDelivery, Receiver, Store, StoreError};
use clap::Args;
use jiff::Timestamp;

use super::advice::advise_on_error;
use super::list::format_app;
use super::{not_found_error, read_sealing_key};
use crate::cli::output::{format_count, print};
use crate::cli::{CliError, Context};
use crate::escape::escape;

/// Interval between reads of a test's state.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The text that the device shows.
const TEST_BODY: &str = "The operator of the server sent this notification as a test.";

#[derive(Args)]
pub(in crate::cli) struct SendTest {
    /// Account: its name, id, e-mail address or user id
    #[arg(value_name = "ACCOUNT")]
    account: String,
    /// Id of the receiver, from belfry push list [default: all receivers of the account]
    id: Option<i64>,
    /// Maximum time to wait for the outcome
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    wait: Duration,
}

fn parse_duration(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse::<u32>().ok().map(|seconds| Duration::from_secs(seconds.into()));
    seconds
        .or_else(|| duration::parse(text))
        .ok_or("expected seconds, or a duration such as 30s or 2m")
}

/// The last known state of a test.
struct TestState {
    /// The line of the delivery log; `None` if it was deleted with the account.
    delivery: Option<LoggedDelivery>,
}

impl SendTest {
    pub(super) async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        let Context { store, config, now } = context;
        let sealing_key = read_sealing_key(config)?;
        let account = context.find_account(&self.account).await?;
        let mut receivers = store.listed_receivers(Some(account.id), None, i64::MAX, now).await?;
        if let Some(id) = self.id {
            receivers.retain(|row| row.receiver.id == id);
            if receivers.is_empty() {
                return Err(not_found_error(&account, id));
            }
        }
        if receivers.is_empty() {
            let name = &account.name;
            return Err(format!("{name} has no receivers: a client must subscribe first").into());
        }
        let mut tests = Vec::new();
        for row in &receivers {
            let event_id = match find_refusal(row, &sealing_key) {
                Some(reason) => Err(reason),
                None => enqueue_test(store, &sealing_key, &row.receiver, "Test", TEST_BODY, now)
                    .await?
                    .ok_or("too many messages wait for it; belfry push log shows them"),
            };
            tests.push((row, event_id));
        }
        let deadline = now.checked_add(self.wait).unwrap_or(Timestamp::MAX);
        let mut undelivered_count = 0;
        for (row, event_id) in tests {
            let (is_delivered, result) = match event_id {
                Ok(event_id) => {
                    let test_state = wait_for_outcome(store, row, &event_id, deadline).await?;
                    (test_state.is_delivered(), test_state.describe(row, self.wait))
                }
                Err(reason) => (false, format!("not sent: {reason}")),
            };
            undelivered_count += usize::from(!is_delivered);
            let id = row.receiver.id;
            let origin = &row.receiver.origin;
            let app = format_app(row);
            print(&format!("{}\n", escape(&format!("{id} {app}, {origin}: {result}"))))?;
        }
        match undelivered_count {
            0 => Ok(()),
            count => Err(format!("{} not delivered", format_count(count, "tests")).into()),
        }
    }
}

/// Returns the reason for not sending a test to a receiver, if there is one.
fn find_refusal(row: &ListedReceiver, sealing_key: &SealingKey) -> Option<&'static str> {
    let Receiver { account_id, id, secrets, .. } = &row.receiver;
    // A push gateway gets no secrets.
    let is_lost = row.receiver.protocol() != Protocol::Gateway
        && open_secrets(sealing_key, *account_id, *id, secrets)
            == Err(AttemptError::SecretsSealingKey);
    match row.state() {
        ReceiverState::Ended => {
            Some("its account or app is disabled, or its token is no longer valid")
        }
        ReceiverState::Unacknowledged => {
            Some("its client has not acknowledged it yet; after 5 minutes, it must register again")
        }
        ReceiverState::Disabled => Some("the client has disabled the pusher"),
        ReceiverState::Active if is_lost => Some(
            "its secrets were sealed with a different sealing key: stop the server and put a copy \
             of that key back",
        ),
        ReceiverState::Active => None,
    }
}

/// Waits until a test has an outcome, or until there is no attempt before the deadline.
async fn wait_for_outcome(
    store: &Store,
    row: &ListedReceiver,
    event_id: &str,
    deadline: Timestamp,
) -> Result<TestState, StoreError> {
    loop {
        let mut deliveries = store.delivery_log(row.receiver.account_id, Some(event_id), 1).await?;
        let delivery = deliveries.pop();
        let is_waiting = delivery
            .as_ref()
            .is_some_and(|delivery| delivery.outcome.is_none() && delivery.due_at <= deadline);
        if !is_waiting || SystemClock.now() >= deadline {
            return Ok(TestState { delivery });
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

impl TestState {
    fn is_delivered(&self) -> bool {
        let delivery = self.delivery.as_ref();
        delivery.is_some_and(|delivery| delivery.outcome == Some(DeliveryOutcome::Delivered))
    }

    /// Describes the outcome and what to do.
    fn describe(&self, row: &ListedReceiver, wait: Duration) -> String {
        let Some(delivery) = &self.delivery else {
            return "not delivered: the account was deleted".to_owned();
        };
        let LoggedDelivery { attempts, outcome, due_at, .. } = delivery;
        let advice = delivery
            .error
            .as_ref()
            .and_then(|error| advise_on_error(error, row.receiver.protocol()));
        let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
        let error = delivery.error.as_ref().map(ToString::to_string);
        let error = error.as_deref();
        match outcome {
            Some(DeliveryOutcome::Delivered) => {
                let status = delivery.status.unwrap_or_default();
                format!("delivered, status {status}")
            }
            Some(DeliveryOutcome::Removed) => match error {
                Some(error) => format!("not delivered, receiver removed: {error}{advice}"),
                None => "not delivered: the receiver or its token has ended".to_owned(),
            },
            Some(DeliveryOutcome::Dropped | DeliveryOutcome::Expired) => {
                format!("not delivered: {}{advice}", error.unwrap_or("the test has expired"))
            }
            None => match (error, *due_at > SystemClock.now()) {
                (Some(error), _) => {
                    let attempts = format_count(*attempts, "attempts");
                    format!(
                        "not delivered after {attempts}: {error}; next attempt at {due_at}{advice}"
                    )
                }
                (None, true) => format!(
                    "not sent yet: earlier messages failed, next attempt at {due_at}; belfry push \
                     list shows why"
                ),
                (None, false) => format!(
                    "no result within {}: an attempt may take 10 seconds, or no server sends \
                     messages: start belfry serve with this database and push.contact",
                    duration::format_seconds(wait)
                ),
            },
        }
    }
}
