//! Notifications of accounts that have silenced everything with a pause or quiet hours.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{DeliveringService, NOTIFICATIONS, SUBSCRIPTION, subscription_body};
use crate::support::service::START_SECONDS;
use crate::support::{PushService, TestClient};

const HOUR_SECONDS: i64 = 3600;

/// A user who is subscribed to mentions and favourites.
struct Subscriber {
    fixture: DeliveringService,
    client: TestClient,
    push_service: PushService,
}

impl Subscriber {
    async fn start() -> Self {
        let push_service = PushService::start().await;
        let fixture = DeliveringService::start().await;
        let client = fixture.service.user_client("alice").await;
        let mut body = subscription_body(&push_service.url);
        body["data"]["alerts"]["favourite"] = true.into();
        let request_line = format!("POST {SUBSCRIPTION}");
        let response = client.with_json().send(&request_line, body.to_string()).await;
        response.expect_json(StatusCode::OK);
        Self { fixture, client, push_service }
    }

    /// Changes the user's push rules.
    async fn put(&self, path: &str, body: &Value) {
        let request_line = format!("PUT /_matrix/client/v3/pushrules/global/{path}");
        self.client.send(&request_line, body.to_string()).await.expect_json(StatusCode::OK);
    }

    /// Reports a mention and a favourite. Returns which of them were accepted, and asserts that the
    /// push service gets exactly these.
    async fn notify(&self) -> [bool; 2] {
        let earlier_count = self.push_service.requests().len();
        let mut accepted = [false; 2];
        for (kind, is_accepted) in ["mention", "favourite"].into_iter().zip(&mut accepted) {
            let id = format!("{}{}", self.fixture.service.now().as_second(), kind.len());
            let body =
                json!({ "account": "@alice:ring.example", "type": kind, "id": id, "title": "t" });
            let response = self.fixture.product.send(NOTIFICATIONS, body.to_string()).await;
            *is_accepted = response.expect_json(StatusCode::OK)["accepted"] == 1;
        }
        self.fixture.wait_until_idle().await;
        let sent_count = self.push_service.requests().len() - earlier_count;
        assert_eq!(sent_count, accepted.iter().filter(|accepted| **accepted).count());
        accepted
    }
}

/// Returns quiet hours in the first hour of the test's clock, which starts at 08:00 UTC.
fn quiet_hours() -> Value {
    let intervals = json!([{ "time_of_day": ["08:00", "08:59"] }]);
    json!({ "actions": [], "conditions": [{ "kind": "time_and_day", "intervals": intervals }] })
}

#[tokio::test]
async fn a_pause_silences_notifications_until_it_ends() {
    let subscriber = Subscriber::start().await;
    assert_eq!(subscriber.notify().await, [true, true]);
    let end = (START_SECONDS + HOUR_SECONDS) * 1000;
    subscriber
        .put("override/.m.rule.master/enabled", &json!({ "enabled": true, "until": end }))
        .await;
    subscriber.fixture.service.clock.advance(HOUR_SECONDS - 1);
    assert_eq!(subscriber.notify().await, [false, false]);
    subscriber.fixture.service.clock.advance(1);
    assert_eq!(subscriber.notify().await, [true, true]);
}

/// A Matrix client can turn mentions off. Other rules than those for everything do not apply to
/// notifications, whose types the subscription selects.
#[tokio::test]
async fn a_built_in_rule_without_actions_silences_no_notification() {
    let subscriber = Subscriber::start().await;
    let actions = json!({ "actions": [] });
    subscriber.put("override/.m.rule.is_user_mention/actions", &actions).await;
    assert_eq!(subscriber.notify().await, [true, true]);
}

#[tokio::test]
async fn total_quiet_hours_silence_every_notification() {
    let subscriber = Subscriber::start().await;
    subscriber.put("override/quiet-hours", &quiet_hours()).await;
    assert_eq!(subscriber.notify().await, [false, false]);
    subscriber.fixture.service.clock.advance(HOUR_SECONDS);
    assert_eq!(subscriber.notify().await, [true, true]);
}

/// An `underride` rule silences only what no rule of another kind matches.
#[tokio::test]
async fn quiet_hours_that_exempt_mentions_silence_other_notifications() {
    let subscriber = Subscriber::start().await;
    subscriber.put("underride/quiet-hours", &quiet_hours()).await;
    assert_eq!(subscriber.notify().await, [true, false]);
    subscriber.fixture.service.clock.advance(HOUR_SECONDS);
    assert_eq!(subscriber.notify().await, [true, true]);
}
