//! Lookups of host names on a bounded number of threads.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belfry_core::push::attempt_error::AttemptError;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Resolve;

/// Maximum number of concurrent lookups for proven origins, and for other ones. A lookup cannot be
/// cancelled, so it counts even if its caller no longer waits for it.
const MAX_LOOKUPS: usize = 128;
/// Time for which the addresses of a name are used again.
const LIFETIME: Duration = Duration::from_mins(1);
/// Maximum number of names whose addresses are stored.
const MAX_NAMES: usize = 10_000;

/// A lookup that runs or has ended, with the addresses and the time at which they expire.
type Lookup = Shared<BoxFuture<'static, Result<(Arc<[IpAddr]>, Instant), AttemptError>>>;

/// Looks up names. Concurrent requests for a name share one lookup, and later ones its addresses.
#[derive(Clone)]
pub(super) struct Lookups {
    resolve: Resolve,
    permits: Arc<Semaphore>,
    proven_permits: Arc<Semaphore>,
    by_name: Arc<Mutex<HashMap<String, Lookup>>>,
}

impl Lookups {
    pub(super) fn new(resolve: Resolve) -> Self {
        let [permits, proven_permits] = [(); 2].map(|()| Arc::new(Semaphore::new(MAX_LOOKUPS)));
        Self { resolve, permits, proven_permits, by_name: Arc::default() }
    }

    /// Returns all addresses of a name, at least one. When the lookup runs, sets `phase`, the error
    /// to report if it takes too long.
    pub(super) async fn addresses(
        &self,
        name: &str,
        is_proven: bool,
        phase: &mut AttemptError,
    ) -> Result<Arc<[IpAddr]>, AttemptError> {
        let current = current(&self.lock(), name);
        let lookup = if let Some(lookup) = current {
            lookup
        } else {
            let permits = if is_proven { &self.proven_permits } else { &self.permits };
            let permit = Arc::clone(permits).acquire_owned().await;
            self.start(name, permit.expect("no semaphore is closed"))
        };
        *phase = AttemptError::Dns;
        Ok(lookup.await?.0)
    }

    /// Waits until no lookup of this name runs.
    pub(super) async fn ended(&self, name: &str) {
        let lookup = current(&self.lock(), name);
        if let Some(lookup) = lookup {
            drop(lookup.await);
        }
    }

    /// Starts a lookup, unless another request has done so in the meantime.
    fn start(&self, name: &str, permit: OwnedSemaphorePermit) -> Lookup {
        let mut by_name = self.lock();
        if let Some(lookup) = current(&by_name, name) {
            return lookup;
        }
        if by_name.len() >= MAX_NAMES {
            by_name.retain(|_, lookup| lookup.peek().is_none());
        }
        let (resolve, key) = (Arc::clone(&self.resolve), name.to_owned());
        let lookup = async move {
            let resolution = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                resolve(&key)
            });
            match resolution.await {
                Ok(Ok(addresses)) if !addresses.is_empty() => {
                    Ok((Arc::from(addresses), Instant::now() + LIFETIME))
                }
                _ => Err(AttemptError::Dns),
            }
        };
        let lookup = lookup.boxed().shared();
        // It ends even if no request waits for it.
        tokio::spawn(lookup.clone());
        by_name.insert(name.to_owned(), lookup.clone());
        lookup
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Lookup>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the lookup of a name that runs, or whose addresses have not expired.
fn current(by_name: &HashMap<String, Lookup>, name: &str) -> Option<Lookup> {
    let lookup = by_name.get(name)?;
    let is_current = match lookup.peek() {
        Some(Ok((_, expires_at))) => Instant::now() < *expires_at,
        Some(Err(_)) => false,
        None => true,
    };
    is_current.then(|| lookup.clone())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn addresses_are_used_for_a_minute_and_failures_are_not_used_again() {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let lookups = Lookups::new(Arc::new(move |name| {
            counter.fetch_add(1, Ordering::SeqCst);
            if name == "unknown.example" {
                return Err(io::ErrorKind::NotFound.into());
            }
            Ok(vec![Ipv4Addr::LOCALHOST.into()])
        }));
        let phase = &mut AttemptError::Busy;
        for (name, pause, is_known, expected_count) in [
            ("push.example", 0, true, 1),
            ("push.example", 59, true, 1),
            ("push.example", 1, true, 2),
            ("unknown.example", 0, false, 3),
            ("unknown.example", 0, false, 4),
            ("push.example", 59, true, 4),
        ] {
            tokio::time::advance(Duration::from_secs(pause)).await;
            let addresses = lookups.addresses(name, false, phase).await;
            assert_eq!(addresses.is_ok(), is_known, "{name} after {pause} s");
            assert_eq!(count.load(Ordering::SeqCst), expected_count, "{name} after {pause} s");
        }
    }

    #[tokio::test]
    async fn the_number_of_stored_names_is_bounded() {
        let lookups = Lookups::new(Arc::new(|_| Ok(vec![Ipv4Addr::LOCALHOST.into()])));
        for number in 0..=MAX_NAMES {
            lookups.addresses(&number.to_string(), false, &mut AttemptError::Busy).await.unwrap();
        }
        assert!(lookups.lock().len() <= MAX_NAMES);
    }
}
