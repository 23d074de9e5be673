//! Delivery of notifications with the settings of this installation.

use std::error::Error;
use std::sync::Arc;

use belfry_core::push::address::PushAddressPolicy;
use belfry_delivery::acceptance::{Delivery, DeliveryOptions};
use belfry_runtime::clock::Clock;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{Database, Store};

use crate::config::Config;

/// Prepares delivery. Returns `None` if `push.contact` is not set.
pub(crate) async fn open_delivery(
    config: &Config,
    store: &Store,
    sealing_key: Option<SealingKey>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Delivery>, Box<dyn Error + Send + Sync>> {
    let (Some(contact), Some(sealing_key)) = (&config.push.contact, sealing_key) else {
        return Ok(None);
    };
    let is_sqlite = matches!(config.database(), Database::Sqlite(_));
    let options = DeliveryOptions {
        contact: contact.as_str().to_owned(),
        sealing_key,
        addresses: PushAddressPolicy::new(config.push.allowed_networks.clone()),
        max_waiting: config.push.max_waiting as u64,
        is_only_node: is_sqlite,
    };
    Delivery::open(store.clone(), options, Arc::clone(clock)).await.map(Some)
}
