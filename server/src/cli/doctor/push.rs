//! Delivery of notifications: the sealing key and the VAPID keys.

use std::io;
use std::path::Path;

use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::file_access::describe_file_error;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Access, Database, KeyPurpose, Options, SchemaPolicy, Store, VapidKeyUse};
use tokio::time::timeout;

use super::engines::DATABASE_TIMEOUT;
use super::report::Report;
use crate::cli::output::format_count;
use crate::config::Config;

/// Checks the sealing key, if delivery is on.
pub(super) async fn check(config: &Config, report: &mut Report) {
    let (Some(contact), Some(key_path)) = (&config.push.contact, config.sealing_key_path()) else {
        return report.skip("push", "no push.contact: delivery is off");
    };
    report.ok("push", format!("delivery is on, with the contact {contact}"));
    let database = config.database();
    let options = Options { schema: SchemaPolicy::Require, access: Access::Read, ..config.store };
    let read_keys =
        async { Store::open(&database, &options, SystemClock.now()).await?.vapid_key_uses().await };
    if let Ok(Ok(keys)) = timeout(DATABASE_TIMEOUT, read_keys).await {
        check_sealing_key(&key_path, matches!(database, Database::Sqlite(_)), &keys, report);
    } else {
        // The database check reports the reason.
        report.skip("sealing key", "the database cannot be read");
    }
}

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
    let is_lost = |row: &&VapidKeyUse| row.key.open(KeyPurpose::VAPID, &sealing_key).is_none();
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
