//! Delivery of notifications with the settings of this installation.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use belfry_core::push::address::PushAddressPolicy;
use belfry_delivery::acceptance::{Delivery, DeliveryOptions};
use belfry_runtime::clock::Clock;
use belfry_runtime::file_access::describe_file_error;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Database, KeyPurpose, Store};

use crate::config::Config;

/// What to do if the sealing key is missing although the database has data that it sealed.
const LOST_KEY_ADVICE: &str = "the database has secrets that it sealed, so put a copy of the file back; if there is none, \
     create a key with `belfry key new` and run `belfry push key new --replace-lost-key`";

/// Reads or creates the sealing key, and prepares delivery. Returns `None` if `push.contact` is not
/// set.
pub(crate) async fn open_delivery(
    config: &Config,
    store: &Store,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Delivery>, Box<dyn Error + Send + Sync>> {
    let (Some(contact), Some(key_path)) = (&config.push.contact, config.sealing_key_path()) else {
        return Ok(None);
    };
    let is_sqlite = matches!(config.database(), Database::Sqlite(_));
    // A new sealing key would make the stored secrets unreadable for good.
    let has_sealed_rows = !store.signing_keys(KeyPurpose::VAPID).await?.is_empty();
    let sealing_key =
        load_sealing_key(&key_path, is_sqlite && !has_sealed_rows).map_err(|error| {
            match (has_sealed_rows, key_path.try_exists()) {
                (true, Ok(false)) => format!("{error}; {LOST_KEY_ADVICE}"),
                _ => error,
            }
        })?;
    let options = DeliveryOptions {
        contact: contact.as_str().to_owned(),
        sealing_key,
        addresses: PushAddressPolicy::new(config.push.allowed_networks.clone()),
        max_waiting: config.push.max_waiting as u64,
        is_only_node: is_sqlite,
    };
    Delivery::open(store.clone(), options, Arc::clone(clock)).await.map(Some)
}

/// Reads the sealing key; a missing one is created if `create` is true.
pub fn load_sealing_key(path: &Path, create: bool) -> Result<SealingKey, String> {
    let describe = |verb: &str, error: io::Error| {
        let name = path.display();
        let reason = describe_file_error(path, &error);
        format!("cannot {verb} the sealing key {name}: {reason}")
    };
    match SealingKey::read(path) {
        Ok(key) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::NotFound && create => {
            let key = SealingKey::random();
            key.write_new(path).map_err(|error| describe("create", error))?;
            let file = path.display();
            tracing::info!(%file, "created the sealing key; backups do not contain it, keep a copy");
            Ok(key)
        }
        Err(error) => Err(describe("read", error)),
    }
}
