//! Samples of the devices page in every state.

use std::time::Duration;

use askama::Template;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::message::{DeliveryDetails, MessageKind};
use belfry_core::push::pusher::PendingAck;
use belfry_core::push::receiver::{
    Protocol, Pusher, PusherKind, ReceiverDocument, Subscription, SubscriptionSettings,
};
use belfry_core::rules::{Rule, RuleKind};
use belfry_core::secret::Sha256Digest;
use belfry_store::{DeliveryOutcome, ListedReceiver, LoggedDelivery, StoredReceiver};

use super::super::{DevicesPage, ListedDelivery};
use super::{AccountSection, Form, Layout, Sample, nav, now, timestamp};

/// Renders the devices page in every state; `app` is an app name.
pub(super) fn render_pages(layout: Layout<'_>, app: &str) -> Result<Vec<Sample>, askama::Error> {
    let devices = sample_devices(app);
    let deliveries = sample_deliveries();
    let empty_page = DevicesPage {
        layout,
        nav: nav(AccountSection::Devices, None),
        form: Form { action: "/oauth/account/devices", csrf: "c", request: None },
        is_delivery_on: true,
        devices: &[],
        deliveries: &[],
        now: now(),
        retry_after: None,
    };
    let delivery_off_page = DevicesPage { is_delivery_on: false, ..empty_page.clone() };
    let devices_page =
        DevicesPage { devices: &devices, deliveries: &deliveries, ..empty_page.clone() };
    let rate_limited_page =
        DevicesPage { retry_after: Some(Duration::from_secs(40)), ..devices_page.clone() };
    Ok(vec![
        ("devices", devices_page.render()?),
        ("devices-too-many", rate_limited_page.render()?),
        ("no-devices", empty_page.render()?),
        ("no-devices-off", delivery_off_page.render()?),
    ])
}

/// Returns devices of every kind, with each kind of failure.
fn sample_devices(app: &str) -> Vec<ListedReceiver> {
    let subscription = ListedReceiver {
        receiver: StoredReceiver {
            account_id: 1,
            id: 1,
            protocol: Protocol::Mastodon,
            document: ReceiverDocument::Subscription(Subscription {
                endpoint: "https://push.example/send/AbC".to_owned(),
                p256dh: String::new(),
                standard: true,
                settings: SubscriptionSettings::default(),
            }),
            secrets: String::new(),
            origin: "https://push.example".to_owned(),
            vapid_key: None,
            pending_ack: None,
            created_at: timestamp(1_790_000_000),
            succeeded_at: Some(timestamp(1_799_999_700)),
            failed_at: None,
            failure: None,
            denied_since: None,
            denied_count: 0,
        },
        account: "alice".to_owned(),
        token_app: Some(app.to_owned()),
        is_live: true,
    };
    let sample_pusher =
        |id: i64, kind: PusherKind, enabled: bool, failure: Option<AttemptError>| {
            let pusher = Pusher {
                kind,
                app_id: "org.example.app".to_owned(),
                pushkey: String::new(),
                app_display_name: if id == 2 { "Element" } else { " " }.to_owned(),
                device_display_name: "Pixel 9".to_owned(),
                profile_tag: None,
                lang: "en".to_owned(),
                data: serde_json::Map::new(),
                enabled,
                append: false,
            };
            let receiver = StoredReceiver {
                id,
                protocol: pusher.protocol(),
                document: ReceiverDocument::Pusher(pusher),
                origin: "https://matrix.example:8448".to_owned(),
                pending_ack: (id == 3).then(|| PendingAck {
                    digest: Sha256Digest::compute(""),
                    expires_at: timestamp(1_800_000_000),
                }),
                succeeded_at: None,
                failed_at: failure.is_some().then(|| timestamp(1_799_999_000)),
                failure,
                ..subscription.receiver.clone()
            };
            ListedReceiver { receiver, token_app: None, ..subscription.clone() }
        };
    let mut devices = vec![
        subscription.clone(),
        sample_pusher(2, PusherKind::Http, true, Some(AttemptError::Status(503))),
        sample_pusher(3, PusherKind::WebPush, true, None),
        sample_pusher(4, PusherKind::Http, false, Some(AttemptError::Status(403))),
    ];
    for (error, id) in [
        AttemptError::Timeout,
        AttemptError::Refused,
        AttemptError::ForbiddenAddress,
        AttemptError::Status(429),
        AttemptError::VapidKeyUnknown,
    ]
    .into_iter()
    .zip(5..)
    {
        devices.push(sample_pusher(id, PusherKind::WebPush, true, Some(error)));
    }
    devices
}

/// Returns deliveries in every state.
fn sample_deliveries() -> Vec<ListedDelivery> {
    use DeliveryOutcome::{Delivered, Dropped, Expired, Removed};
    use MessageKind::{Ack, Event, Notification, Test};
    let rule = Rule { rule_id: ".m.rule.message".to_owned(), ..Rule::default() };
    let builtin_rule = Some((RuleKind::Underride, rule));
    let sample_delivery = |kind, event_id: &str, receiver_id: i64, outcome, status: Option<u16>| {
        let is_waiting = Option::is_none(&outcome);
        let delivery = LoggedDelivery {
            receiver_id,
            event_id: event_id.to_owned(),
            details: DeliveryDetails { kind, ..DeliveryDetails::default() },
            created_at: timestamp(1_799_990_000),
            expires_at: timestamp(1_800_090_000),
            due_at: timestamp(1_800_000_600),
            attempts: i64::from(status.is_some()),
            outcome,
            status: status.map(i64::from),
            error: status.map(AttemptError::Status),
            finished_at: (!is_waiting).then(|| timestamp(1_799_999_700)),
        };
        ListedDelivery { delivery, rule: None }
    };
    let event = "$8jrlYsRYkM3bJKvVBcJ0Qb0Vdn";
    vec![
        sample_delivery(Test, "test-0123456789abcdef", 1, None, None),
        ListedDelivery {
            rule: builtin_rule,
            ..sample_delivery(Event, event, 1, Some(Delivered), None)
        },
        sample_delivery(Notification, "42", 2, None, Some(503)),
        sample_delivery(Ack, "ack", 3, Some(Expired), None),
        sample_delivery(Notification, "43", 4, Some(Dropped), Some(413)),
        sample_delivery(Notification, "44", 99, Some(Removed), Some(410)),
    ]
}
