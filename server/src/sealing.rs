//! The sealing key of this installation.

use std::error::Error;
use std::io;
use std::path::Path;

use belfry_runtime::file_access::describe_file_error;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Database, KeyPurpose, Store};

use crate::config::Config;

/// What to do if the sealing key is missing although the database has secrets that it sealed.
const LOST_KEY_ADVICE: &str = "the database has secrets that it sealed, so put a copy of the file back; if there is none, \
     create a key with `belfry key new` and run `belfry push key new --replace-lost-key`";

/// The same, if only sign-ins depend on it.
const LOST_FAMILY_KEY_ADVICE: &str = "sign-ins of apps depend on it, so put a copy of the file back; if there is none, create a \
     key with `belfry key new`, and people sign in to their apps again";

/// Reads the sealing key. With SQLite, a missing one is created, unless the database depends on it.
/// Returns `None` if there is none: with PostgreSQL, nodes share the file that the setting
/// `secret_key_file` names.
pub(crate) async fn open_sealing_key(
    config: &Config,
    store: &Store,
) -> Result<Option<SealingKey>, Box<dyn Error + Send + Sync>> {
    let Some(path) = config.sealing_key_path() else {
        tracing::info!(
            "apps without a secret cannot sign in, because there is no sealing key; set \
             secret_key_file"
        );
        return Ok(None);
    };
    let is_missing = !path.try_exists().unwrap_or(true);
    let has_sealed_rows = !store.signing_keys(KeyPurpose::VAPID).await?.is_empty();
    let is_needed = is_missing && (has_sealed_rows || store.has_families().await?);
    let is_sqlite = matches!(config.database(), Database::Sqlite(_));
    match load_sealing_key(&path, is_sqlite && !is_needed) {
        Ok(key) => Ok(Some(key)),
        Err(error) if is_missing && has_sealed_rows => {
            Err(format!("{error}; {LOST_KEY_ADVICE}").into())
        }
        Err(error) if is_needed => Err(format!("{error}; {LOST_FAMILY_KEY_ADVICE}").into()),
        Err(error) => Err(error.into()),
    }
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
