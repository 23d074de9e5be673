//! `belfry push key`

use belfry_core::audit::AuditKind;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{KeyPurpose, Receiver, SigningKeyRow, Store, StoreError, VapidKeyUse};
use clap::Subcommand;
use jiff::Timestamp;
use serde_json::json;

use super::read_sealing_key;
use crate::cli::output::{Table, format_count, print};
use crate::cli::serve::DELIVERY_INTERVAL;
use crate::cli::{CliError, Context, command_events};

#[derive(Subcommand)]
pub(in crate::cli) enum Command {
    /// Add a key, which clients use for new subscriptions
    New {
        /// Give up what a lost sealing key has sealed: add the key although the newest one cannot be
        /// decrypted, and remove the receivers that subscribed with such keys
        #[arg(long)]
        replace_lost_key: bool,
    },
}

/// Number of receivers that are read together.
const PAGE_LEN: i64 = 1000;

const HEADERS: [&str; 4] = ["key", "created", "receivers", "state"];

impl Command {
    pub(super) async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        let Self::New { replace_lost_key } = self;
        add_new_key(context, &read_sealing_key(context.config)?, replace_lost_key).await
    }
}

async fn add_new_key(
    Context { store, now, .. }: Context<'_>,
    sealing_key: &SealingKey,
    replace_lost_key: bool,
) -> Result<(), CliError> {
    let keys = store.signing_keys(KeyPurpose::VAPID).await?;
    let newest_key = keys.last();
    let is_readable = |key: &SigningKeyRow| key.open(KeyPurpose::VAPID, sealing_key).is_some();
    // A node does not start if it cannot decrypt the newest key. A key that is sealed with the wrong
    // sealing key would stop the nodes that have the right one.
    if !replace_lost_key && newest_key.is_some_and(|key| !is_readable(key)) {
        return Err("the newest VAPID key was sealed with a different sealing key: check \
                    secret_key_file; if that sealing key is lost, add --replace-lost-key"
            .into());
    }
    let replaced_key = newest_key.map(|key| key.public_key.as_str());
    let events = command_events(now, AuditKind::VapidKeyAdd);
    let added_key = store
        .create_signing_key(&events, KeyPurpose::VAPID, sealing_key, replaced_key, now)
        .await?;
    let added_key = added_key.ok_or(
        "a different process added a key in the meantime; run `belfry push list --keys`, and repeat \
         the command if you need one more",
    )?;
    let effect = if replace_lost_key {
        let lost_keys: Vec<String> =
            keys.into_iter().filter(|key| !is_readable(key)).map(|key| key.public_key).collect();
        let count = remove_receivers(store, &lost_keys, now).await?;
        let receivers = format_count(count, "receivers");
        format!("{receivers} removed, whose clients must subscribe again")
    } else {
        "receivers that subscribed with an old key keep it until they are gone".to_owned()
    };
    let seconds = DELIVERY_INTERVAL.as_secs();
    Ok(print(&format!(
        "VAPID key {added_key} added\nrunning servers use it for new subscriptions within \
         {seconds} seconds\n{effect}\n"
    ))?)
}

/// Removes the receivers that subscribed with these VAPID keys. Returns their number.
async fn remove_receivers(
    store: &Store,
    vapid_keys: &[String],
    now: Timestamp,
) -> Result<usize, StoreError> {
    let mut count = 0;
    let mut last_row = None;
    loop {
        let page = store.listed_receivers(None, last_row, PAGE_LEN, now).await?;
        let Some(last) = page.last() else { return Ok(count) };
        last_row = Some((last.receiver.account_id, last.receiver.id));
        for Receiver { account_id, id, vapid_key, .. } in page.iter().map(|row| &row.receiver) {
            if vapid_key.as_ref().is_some_and(|key| vapid_keys.contains(key)) {
                let events = command_events(now, AuditKind::ReceiverRemove);
                store.delete_receiver(&events, *account_id, *id).await?;
                count += 1;
            }
        }
    }
}

/// Prints the VAPID keys: key, creation time, receivers, state.
pub(super) async fn list_keys(context: Context<'_>, json: bool) -> Result<(), CliError> {
    let sealing_key = &read_sealing_key(context.config)?;
    let keys = context.store.vapid_key_uses().await?;
    let newest_key = keys.last().map(|row| row.key.public_key.as_str());
    let is_readable = |key: &SigningKeyRow| key.open(KeyPurpose::VAPID, sealing_key).is_some();
    let state = |row: &VapidKeyUse| {
        let is_newest = newest_key == Some(&row.key.public_key);
        match (is_newest, is_readable(&row.key)) {
            (true, true) => "newest",
            // Running servers that have its sealing key still give it to clients.
            (true, false) => "newest, unreadable",
            (false, true) => "old",
            (false, false) => "unreadable",
        }
    };
    let to_columns = |row: &VapidKeyUse| {
        vec![
            row.key.public_key.clone(),
            row.created_at.to_string(),
            row.receivers.to_string(),
            state(row).to_owned(),
        ]
    };
    let to_json = |row: &VapidKeyUse| {
        json!({
            "public_key": row.key.public_key,
            "created_at": row.created_at.to_string(),
            "receivers": row.receivers,
            "state": state(row),
        })
    };
    Ok(print(&Table::new(&HEADERS, json).format_page(&keys, to_columns, to_json))?)
}
