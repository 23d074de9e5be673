//! The devices that get the account's notifications, and the latest deliveries.

use std::borrow::Cow;
use std::time::Duration;

use askama::Template;
use belfry_core::push::answer::DeliveryOutcome;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::message::MessageKind;
use belfry_core::push::receiver::{Protocol, ReceiverState};
use belfry_core::rules::{Rule, RuleKind};
use belfry_store::{ListedReceiver, LoggedDelivery};
use jiff::Timestamp;

use super::rule_title::rule_title;
use super::timed_text::{TimeFormat, TimedText};
use super::{AccountNav, AuthenticationError, Form, Layout, format_name};
use crate::language::Argument;

/// `templates/devices.html`. Posts `device`, a receiver's id, and `change`: `test` or `remove`.
#[derive(Clone, Template)]
#[template(path = "devices.html")]
pub struct DevicesPage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    pub form: Form<'a>,
    /// False if this server delivers no notifications.
    pub is_delivery_on: bool,
    pub devices: &'a [ListedReceiver],
    /// The latest deliveries, the newest first.
    pub deliveries: &'a [ListedDelivery],
    pub now: Timestamp,
    /// Time until the next test is allowed, if one was rejected.
    pub retry_after: Option<Duration>,
}

/// A delivery, with the rule that caused it.
pub struct ListedDelivery {
    pub delivery: LoggedDelivery,
    /// The rule and its kind, if it still exists.
    pub rule: Option<(RuleKind, Rule)>,
}

pub fn device_test_text(layout: &Layout<'_>) -> (String, String) {
    let title = layout.title.to_owned();
    let body = layout.text("devices-test-body").into_owned();
    (title, body)
}

impl DevicesPage<'_> {
    /// Returns the reason why a test was not sent.
    fn rejection(&self) -> Option<String> {
        let retry_after = self.retry_after?;
        Some(AuthenticationError::TooManyAttempts(retry_after).text(&self.layout))
    }

    fn device_name(device: &ListedReceiver) -> String {
        format_name(&device.name())
    }

    /// Returns the kind of a device and the host of its push service.
    fn device_kind(&self, device: &ListedReceiver) -> String {
        let key = match device.receiver.protocol() {
            Protocol::Mastodon => "devices-mastodon",
            Protocol::Gateway => "devices-gateway",
            Protocol::WebPush => "devices-web-push",
        };
        self.layout.language.text_with(key, "host", &*device.host())
    }

    /// Returns the reason why a device gets no messages.
    fn inactive_mark(&self, device: &ListedReceiver) -> Option<Cow<'static, str>> {
        match device.state() {
            ReceiverState::Unacknowledged => Some(self.layout.text("devices-waiting")),
            ReceiverState::Disabled => Some(self.layout.text("devices-disabled")),
            ReceiverState::Active | ReceiverState::Ended => None,
        }
    }

    /// Returns the text about the last delivered message.
    fn last_success(&self, device: &ListedReceiver) -> Option<TimedText> {
        let time = device.receiver.succeeded_at?;
        Some(self.timed_text("devices-delivered", time))
    }

    /// Returns the time and the reason of the last failure, unless a message was delivered later.
    fn last_failure(&self, device: &ListedReceiver) -> Option<(TimedText, String)> {
        let receiver = &device.receiver;
        let time = receiver.failed_at.filter(|time| Some(*time) >= receiver.succeeded_at)?;
        let reason = describe_failure(&self.layout, receiver.failure.as_ref());
        Some((self.timed_text("devices-failed", time), reason))
    }

    fn can_test(&self, device: &ListedReceiver) -> bool {
        self.is_delivery_on && device.state() == ReceiverState::Active
    }

    /// Returns the subject of a delivery: the title of its rule, unless it is about no event.
    fn delivery_title(&self, listed: &ListedDelivery) -> String {
        let key = match (listed.delivery.details.kind, &listed.rule) {
            (MessageKind::Test, _) => "deliveries-test",
            (MessageKind::Ack, _) => "deliveries-ack",
            (MessageKind::Counts, _) => "deliveries-counts",
            (_, Some((kind, rule))) => return rule_title(*kind, rule, &self.layout),
            (_, None) => "deliveries-other",
        };
        self.layout.text(key).into_owned()
    }

    /// Returns the messages and the tests, each with the id and the title of its list.
    fn delivery_lists(&self) -> [(&'static str, Cow<'static, str>, Vec<&ListedDelivery>); 2] {
        let (messages, tests) = self.deliveries.iter().partition(|listed| {
            !matches!(listed.delivery.details.kind, MessageKind::Test | MessageKind::Ack)
        });
        [
            ("deliveries", self.layout.text("deliveries-title"), messages),
            ("tests", self.layout.text("deliveries-tests"), tests),
        ]
    }

    fn delivery_device(&self, listed: &ListedDelivery) -> String {
        let id = listed.delivery.receiver_id;
        match self.devices.iter().find(|device| device.receiver.id == id) {
            Some(device) => Self::device_name(device),
            None => self.layout.text("deliveries-former-device").into_owned(),
        }
    }

    /// Returns the state of a delivery, with the time at which it began.
    fn delivery_state(&self, listed: &ListedDelivery) -> TimedText {
        let delivery = &listed.delivery;
        let key = match (delivery.outcome, &delivery.error) {
            (None, _) => "deliveries-waiting",
            (Some(DeliveryOutcome::Delivered), _) => "deliveries-delivered",
            (Some(DeliveryOutcome::Dropped), _) => "deliveries-dropped",
            (Some(DeliveryOutcome::Expired), _) => "deliveries-expired",
            (_, Some(AttemptError::ReadElsewhere)) => "deliveries-read",
            (_, Some(AttemptError::Replaced)) => "deliveries-replaced",
            (Some(DeliveryOutcome::Removed), _) => "deliveries-removed",
        };
        self.timed_text(key, delivery.finished_at.unwrap_or(delivery.created_at))
    }

    /// Returns the reason why the last attempt failed, unless the state contains the reason.
    fn delivery_failure(&self, listed: &ListedDelivery) -> Option<String> {
        let LoggedDelivery { error, outcome, status, .. } = &listed.delivery;
        let error = error.as_ref()?;
        if matches!(error, AttemptError::ReadElsewhere | AttemptError::Replaced) {
            return None;
        }
        if *outcome == Some(DeliveryOutcome::Removed) && status.is_some() {
            return Some(self.layout.text("devices-error-gone").into_owned());
        }
        Some(describe_failure(&self.layout, Some(error)))
    }

    /// Returns the time of the next attempt, if an earlier one failed.
    fn next_attempt(&self, listed: &ListedDelivery) -> Option<TimedText> {
        let delivery = &listed.delivery;
        let is_retried = delivery.outcome.is_none() && delivery.attempts > 0;
        is_retried.then(|| self.timed_text("deliveries-next", delivery.due_at))
    }

    fn timed_text(&self, key: &str, time: Timestamp) -> TimedText {
        TimedText::new(&self.layout, key, time, TimeFormat::Short(self.now))
    }
}

/// Describes a failed attempt, for users.
fn describe_failure(layout: &Layout<'_>, error: Option<&AttemptError>) -> String {
    use AttemptError as E;
    let key = match error {
        Some(E::Status(401 | 403)) => "devices-error-denied",
        Some(E::Status(408) | E::Timeout) => "devices-error-timeout",
        Some(E::Status(429) | E::StreamRefused) => "devices-error-busy",
        Some(E::Status(status)) => {
            let is_rejection = (400..500).contains(status);
            let key = if is_rejection { "devices-error-rejected" } else { "devices-error-status" };
            let status = status.to_string();
            return layout.language.text_with(key, "status", Argument::Trusted(&status));
        }
        // The same for a name in the operator's network and for one that does not exist, so that
        // users cannot find such names.
        Some(E::Dns | E::ForbiddenAddress | E::Refused | E::Tls | E::Certificate | E::Protocol) => {
            "devices-error-unreachable"
        }
        _ => "devices-error-other",
    };
    layout.text(key).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::sample_layout;

    #[test]
    fn errors_are_described_in_words() {
        use AttemptError::{
            Busy, Certificate, Dns, ForbiddenAddress, Refused, Status, StreamRefused, Timeout,
            VapidKeyUnknown,
        };
        let denied = "The push service does not accept messages from this server.";
        let unreachable = "The push service cannot be reached.";
        for (error, expected) in [
            (Status(401), denied),
            (Status(403), denied),
            (Status(404), "The push service rejected the message (status 404)."),
            (Status(413), "The push service rejected the message (status 413)."),
            (Status(408), "The push service did not respond in time."),
            (Status(429), "The push service is overloaded and asks this server to wait."),
            (StreamRefused, "The push service is overloaded and asks this server to wait."),
            (Status(301), "The push service reports an error (status 301)."),
            (Status(503), "The push service reports an error (status 503)."),
            (Timeout, "The push service did not respond in time."),
            (Refused, unreachable),
            (Certificate, unreachable),
            (ForbiddenAddress, unreachable),
            (Dns, unreachable),
            (Busy, "The message could not be sent."),
            (VapidKeyUnknown, "The message could not be sent."),
        ] {
            assert_eq!(describe_failure(&sample_layout(), Some(&error)), expected, "{error}");
        }
        assert_eq!(describe_failure(&sample_layout(), None), "The message could not be sent.");
    }
}
