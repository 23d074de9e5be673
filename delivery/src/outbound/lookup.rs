//! Lookups of host names on a bounded number of threads.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use belfry_core::push::attempt_error::AttemptError;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::sync::Semaphore;

use super::Resolve;

/// Maximum number of concurrent lookups. A lookup cannot be cancelled, so it counts even if its
/// caller no longer waits for it. More than the lanes of a worker whose server is not known to be
/// fast, so that names whose lookup takes long do not delay the others.
const MAX_LOOKUPS: usize = 256;

type PendingLookup = Shared<BoxFuture<'static, Result<Arc<[IpAddr]>, AttemptError>>>;

/// Looks up names. Concurrent requests for a name share one lookup.
#[derive(Clone)]
pub(super) struct Lookups {
    resolve: Resolve,
    permits: Arc<Semaphore>,
    pending: Arc<Mutex<HashMap<String, PendingLookup>>>,
}

impl Lookups {
    pub(super) fn new(resolve: Resolve) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_LOOKUPS));
        Self { resolve, permits, pending: Arc::default() }
    }

    /// Returns all addresses of a name, at least one.
    pub(super) async fn addresses(&self, name: &str) -> Result<Arc<[IpAddr]>, AttemptError> {
        let lookup = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            let start = || self.clone().start(name.to_owned());
            pending.entry(name.to_owned()).or_insert_with(start).clone()
        };
        lookup.await
    }

    /// Waits until no lookup of this name runs.
    pub(super) async fn ended(&self, name: &str) {
        let lookup = {
            let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.get(name).cloned()
        };
        if let Some(lookup) = lookup {
            drop(lookup.await);
        }
    }

    /// Starts a lookup, which continues even if no request waits for it.
    fn start(self, name: String) -> PendingLookup {
        let lookup = tokio::spawn(async move {
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            let resolve = self.resolve;
            let key = name.clone();
            let resolution = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                resolve(&key)
            });
            let resolved = resolution.await;
            self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
            match resolved {
                Ok(Ok(addresses)) if !addresses.is_empty() => Ok(Arc::from(addresses)),
                _ => Err(AttemptError::Dns),
            }
        });
        lookup.map(|result| result.unwrap_or(Err(AttemptError::Dns))).boxed().shared()
    }
}
