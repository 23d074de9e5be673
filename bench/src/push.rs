//! Adds pushers and waiting deliveries, to measure delivery.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use belfry::sealing::load_sealing_key;
use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_core::push::message::{DeliveryDetails, EventMessage, Message};
use belfry_core::push::receiver::{Pusher, PusherKind, ReceiverDocument, ReceiverSecrets};
use belfry_core::secret::Sha256Digest;
use belfry_delivery::sealed::{seal_message, seal_secrets};
use belfry_delivery::vapid_keys::VapidKeys;
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::random;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{
    Admission, Database, NewDelivery, NewMessage, Options, Receiver, Store, StoreError,
};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::task::JoinSet;

/// Number of concurrent tasks: enough for large group commits.
const TASKS: i64 = 64;

/// Number of pushers per account.
const PUSHERS: i64 = 10;

/// The keys of every device. The cost of a message does not depend on them.
const P256DH: &str =
    "BKsiaJLo_FH-n1enrkeKiR_PgdGvlzcA6ZQsMx7V1jYY1aTe9sxjFeQvbthBHJZbFx__Y7qHOKc_gFy8hkjFxuo";
const AUTH: &str = "i8AmeDhS5GxHbglXd1KJzg";

/// The accounts and the push service of their pushers.
#[derive(Debug, Args)]
pub(crate) struct PusherArguments {
    /// Number of accounts, as added by `fill`
    accounts: i64,
    /// Origin of the push service, such as `http://127.0.0.1:9000`
    origin: String,
}

/// The accounts that get an event.
#[derive(Debug, Args)]
pub(crate) struct QueueArguments {
    /// Number of accounts with pushers
    accounts: i64,
}

/// Gives each account ten activated pushers for Web Push.
pub(crate) async fn add_pushers(arguments: &PusherArguments) -> Result<(), Box<dyn Error>> {
    let (now, store, key) = open_data_directory().await?;
    let vapid_keys = VapidKeys::load(&store, &key, "mailto:ops@ring.example", now).await?;
    let store = Arc::new(store);
    let key = Arc::new(key);
    let events: Arc<NewAuditEvents> =
        Arc::new(NewAuditEvent::for_server(now, AuditKind::ReceiverAdd).into());
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(&store);
        let key = Arc::clone(&key);
        let events = Arc::clone(&events);
        let origin = arguments.origin.clone();
        let vapid_key = vapid_keys.newest();
        let accounts = arguments.accounts;
        tasks.spawn(async move {
            for account in (task..accounts).step_by(usize::try_from(TASKS).unwrap_or(1)) {
                for number in 0..PUSHERS {
                    let pusher = pusher(account, number, &origin);
                    let receiver = receiver(pusher, account + 1, &key, &origin, &vapid_key, now);
                    store.set_receiver(&events, &receiver).await?;
                }
            }
            Ok::<_, StoreError>(())
        });
    }
    for outcome in tasks.join_all().await {
        outcome?;
    }
    // Deletes the audit events, because sweeps would otherwise do so during a measurement.
    while store.delete_audit_events_before(Timestamp::MAX, 10_000).await? > 0 {}
    Ok(())
}

/// Stores an event in the queue, for all pushers of the accounts.
pub(crate) async fn add_event(arguments: &QueueArguments) -> Result<(), Box<dyn Error>> {
    let (now, store, key) = open_data_directory().await?;
    let accounts: Vec<i64> = (1..=arguments.accounts).collect();
    let receivers = store.receivers_of_accounts(&accounts, now).await?;
    let id = random::hex_id();
    let event = EventMessage {
        event_id: format!("${id}"),
        room_id: Some("!kitchen:ring.example".to_owned()),
        event_type: Some("m.room.message".to_owned()),
        sender: Some("@bob:ring.example".to_owned()),
        sender_display_name: Some("Bob".to_owned()),
        room_name: Some("Kitchen".to_owned()),
        content: Some(json!({ "msgtype": "m.text", "body": "There is cake in the kitchen!" })),
    };
    let delivery = |receiver: &Receiver| NewDelivery {
        dedup_key: Sha256Digest::compute(&format!("{id} {} {}", receiver.account_id, receiver.id)),
        account_id: receiver.account_id,
        receiver_id: receiver.id,
        event_id: event.event_id.clone(),
        room_id: event.room_id.clone(),
        topic: None,
        details: DeliveryDetails::default(),
        expires_at: now + SignedDuration::from_hours(24),
    };
    let deliveries: Vec<NewDelivery> = receivers.iter().map(delivery).collect();
    let content = seal_message(&key, &id, &Message::Event(event));
    let delivery_count = store
        .enqueue(&NewMessage { id, content }, &deliveries, Admission::All, now)
        .await?
        .new
        .len();
    println!("{delivery_count}");
    Ok(())
}

/// Opens the database and the sealing key in the data directory. Also returns the current time.
async fn open_data_directory() -> Result<(Timestamp, Store, SealingKey), Box<dyn Error>> {
    let now = SystemClock.now();
    let options = Options { timeout: Duration::from_mins(1), ..Options::default() };
    let store = Store::open(&Database::Sqlite("data/belfry.db".into()), &options, now).await?;
    Ok((now, store, load_sealing_key("data/belfry.key".as_ref(), true)?))
}

fn pusher(account: i64, number: i64, origin: &str) -> Pusher {
    let url = format!("{origin}/push/{account}/{number}");
    Pusher {
        kind: PusherKind::WebPush,
        app_id: format!("app{number}"),
        pushkey: P256DH.to_owned(),
        app_display_name: "App".to_owned(),
        device_display_name: "Phone".to_owned(),
        profile_tag: None,
        lang: "en".to_owned(),
        data: [("url".to_owned(), json!(url))].into_iter().collect(),
        enabled: true,
        append: true,
    }
}

fn receiver(
    pusher: Pusher,
    account_id: i64,
    key: &SealingKey,
    origin: &str,
    vapid_key: &str,
    now: Timestamp,
) -> Receiver {
    let id = i64::from(u32::from_be_bytes(random::bytes()) >> 1).max(1);
    let secrets = ReceiverSecrets { auth: Some(AUTH.to_owned()), access_token: None };
    Receiver {
        account_id,
        id,
        token: None,
        document: ReceiverDocument::Pusher(pusher),
        secrets: seal_secrets(key, account_id, id, &secrets),
        origin: origin.to_owned(),
        vapid_key: Some(vapid_key.to_owned()),
        pending_ack: None,
        created_at: now,
        succeeded_at: None,
        failed_at: None,
        failure: None,
        denied_since: None,
        denied_count: 0,
        failures: 0,
        is_proven: false,
    }
}
