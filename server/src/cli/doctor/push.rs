//! Delivery of notifications: the sealing key, the VAPID keys, the queue, and connections to push
//! services.

use std::cmp::Reverse;
use std::io;
use std::path::Path;

use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, HeaderValue};
use belfry_core::push::address::PushAddressPolicy;
use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::endpoint::Endpoint;
use belfry_core::push::receiver::Protocol;
use belfry_delivery::outbound::{OutboundClient, OutboundOptions};
use belfry_delivery::vapid_keys::is_readable;
use belfry_runtime::certificate::verifier::system_authorities;
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::file_access::describe_file_error;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Access, Database, Options, SchemaPolicy, Store, StoreError, VapidKeyUse};
use bytes::Bytes;
use futures_util::future::join_all;
use jiff::SignedDuration;
use tokio::time::timeout;

use super::engines::DATABASE_TIMEOUT;
use super::report::Report;
use crate::cli::output::format_count;
use crate::cli::push::advise_on_error;
use crate::config::Config;

/// Maximum normal age of a waiting delivery. Pauses between attempts are up to ten minutes.
const MAX_WAITING_TIME: SignedDuration = SignedDuration::from_mins(15);
/// Maximum number of origins in the message about the queue.
const MAX_NAMED_ORIGINS: usize = 3;
/// Maximum number of push services to connect to.
const MAX_CHECKED_ORIGINS: i64 = 10;

/// The push services of Firefox, of Chrome and Android, and of Safari, which are checked if no
/// receiver is registered.
const WELL_KNOWN_ORIGINS: [&str; 3] = [
    "https://updates.push.services.mozilla.com",
    "https://fcm.googleapis.com",
    "https://web.push.apple.com",
];

/// Checks delivery, if it is on. Connects to push services only if `connect` is true.
pub(super) async fn check(config: &Config, connect: bool, report: &mut Report) {
    let (Some(contact), Some(key_path)) = (&config.push.contact, config.sealing_key_path()) else {
        return report.skip("push", "no push.contact: delivery is off");
    };
    report.ok("push", format!("delivery is on, with the contact {contact}"));
    let checks = check_with_store(config, &key_path, report);
    let origins = if let Ok(Ok(origins)) = timeout(DATABASE_TIMEOUT, checks).await {
        origins
    } else {
        // The database check reports the reason.
        report.skip("sealing key", "the database cannot be read");
        Vec::new()
    };
    if connect {
        check_connections(config, origins, report).await;
    }
}

/// Runs the checks that need the database. Returns the origins of the receivers.
async fn check_with_store(
    config: &Config,
    key_path: &Path,
    report: &mut Report,
) -> Result<Vec<String>, StoreError> {
    let schema = SchemaPolicy::Require;
    let access = Access::Read;
    let database = config.database();
    let now = SystemClock.now();
    let options = Options { schema, access, ..config.store };
    let store = Store::open(&database, &options, now).await?;
    let keys = store.vapid_key_uses().await?;
    let status = store.queue_status().await?;
    let mut lanes = store.lane_backlogs(1).await?;
    let origins = store.receiver_origins(MAX_CHECKED_ORIGINS).await?;
    check_sealing_key(key_path, matches!(database, Database::Sqlite(_)), &keys, report);
    let Some(oldest_at) = status.oldest_at else {
        report.ok("push queue", "no delivery waits");
        return Ok(origins);
    };
    let count = status.waiting;
    let message = format!("waiting deliveries: {count}, the oldest since {oldest_at}");
    if now.duration_since(oldest_at) <= MAX_WAITING_TIME {
        report.ok("push queue", message);
        return Ok(origins);
    }
    lanes.sort_by_key(|lane| Reverse(lane.waiting));
    let named_lanes = lanes.iter().take(MAX_NAMED_ORIGINS);
    let named_lanes: Vec<String> =
        named_lanes.map(|lane| format!("{} for {}", lane.waiting, lane.origin)).collect();
    let fix = "check that belfry serve runs; belfry doctor --push shows whether the push services \
               respond";
    report.warn("push queue", format!("{message}: {}", named_lanes.join(", ")), fix);
    Ok(origins)
}

/// Checks that the sealing key can be read and opens the VAPID keys.
fn check_sealing_key(path: &Path, is_sqlite: bool, keys: &[VapidKeyUse], report: &mut Report) {
    let name = path.display();
    let sealing_key = match SealingKey::read(path) {
        Ok(key) => key,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let problem = format!("{name} does not exist");
            return match (keys.is_empty(), is_sqlite) {
                (true, true) => {
                    report.warn("sealing key", problem, "start belfry serve, which creates it");
                }
                (true, false) => {
                    let fix = format!("belfry key new {name}, once, and copy it to every node");
                    report.fail("sealing key", problem, fix);
                }
                (false, _) => report.fail(
                    "sealing key",
                    format!("{problem}, but the database contains data that it sealed"),
                    RECOVERY_ADVICE,
                ),
            };
        }
        Err(error) => {
            let problem = format!("{name}: {}", describe_file_error(path, &error));
            return report.fail("sealing key", problem, "");
        }
    };
    let is_lost = |row: &&VapidKeyUse| !is_readable(&sealing_key, &row.key);
    let lost_keys: Vec<&VapidKeyUse> = keys.iter().filter(is_lost).collect();
    let receiver_count: i64 = lost_keys.iter().map(|row| row.receivers).sum();
    if keys.last().is_some_and(|row| is_lost(&row)) {
        let problem = format!(
            "the newest VAPID key was sealed with a different key than {name}, so the server does \
             not start"
        );
        report.fail("sealing key", problem, RECOVERY_ADVICE);
    } else if receiver_count > 0 {
        let receivers = format_count(receiver_count, "receivers");
        let problem = format!(
            "{receivers} subscribed with a VAPID key that was sealed with a different key than \
             {name}, and get no messages"
        );
        report.fail("sealing key", problem, RECOVERY_ADVICE);
    } else if keys.is_empty() {
        report.ok("sealing key", format!("{name} can be read; there is no VAPID key yet"));
    } else {
        report.ok("sealing key", format!("{name} opens the VAPID keys"));
    }
}

const RECOVERY_ADVICE: &str = "put a copy of the former sealing key there; without a copy, run \
                               belfry push key new --replace-lost-key (docs/operating.md, The \
                               sealing key is lost)";

/// Sends an empty request to each push service. Any response shows that it can be reached. Some
/// servers fail without `Content-Length`, which hyper omits if there is no body.
async fn check_connections(config: &Config, mut origins: Vec<String>, report: &mut Report) {
    if origins.is_empty() {
        origins.extend(WELL_KNOWN_ORIGINS.map(str::to_owned));
    }
    let authorities = match system_authorities() {
        Ok(authorities) => authorities,
        Err(error) => return report.fail("push services", error, ""),
    };
    let addresses = PushAddressPolicy::new(config.push.allowed_networks.clone());
    let client = OutboundClient::new(OutboundOptions::new(addresses.clone(), authorities));
    let headers: HeaderMap =
        [(CONTENT_LENGTH, HeaderValue::from_static("0"))].into_iter().collect();
    let responses = join_all(origins.iter().map(async |origin| {
        let endpoint =
            Endpoint::parse(origin, &addresses).map_err(|_| AttemptError::ForbiddenAddress)?;
        let response = client.post(&endpoint, headers.clone(), Bytes::new()).await?;
        Ok(response.status().as_u16())
    }))
    .await;
    let is_any_reachable = responses.iter().any(Result::is_ok);
    for (origin, response) in origins.iter().zip(responses) {
        let error = match response {
            Ok(status) => {
                report.ok("push services", format!("{origin} responds, status {status}"));
                continue;
            }
            Err(error) => error,
        };
        let advice = advise_on_error(&error, Protocol::WebPush).unwrap_or_default();
        // Users choose the origins, so some may no longer exist.
        if is_any_reachable {
            report.warn("push services", format!("{origin}: {error}"), &advice);
        } else {
            report.fail("push services", format!("{origin}: {error}"), &advice);
        }
    }
}
