//! Password hashing with Argon2id (OWASP parameters) and limited concurrency. Imported hashes of
//! other algorithms are verified, and replaced at sign-in.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use belfry_core::account::MAX_PASSWORD_LENGTH;
use belfry_core::account::password_hash::{Bcrypt, PasswordHash as StoredHash};
use belfry_core::limits::Network;
use belfry_core::secret::Secret;
use belfry_runtime::metrics::Counter;
use belfry_runtime::random;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use crate::log::request_context::RequestContext;

/// Length of the wait queue per concurrent hash. Further requests are rejected, because clients
/// would time out in a longer queue.
const QUEUE_PLACES_PER_PERMIT: usize = 32;

/// Additional queue places per concurrent hash, reserved for networks from which someone has signed
/// in. Attackers with many addresses can fill the other places, but cannot lock these users out.
const RESERVED_PLACES_PER_PERMIT: usize = 8;

/// Maximum number of networks that this process remembers after a sign-in.
const MAX_KNOWN_NETWORKS: usize = 10_000;

/// A hash to compare with if the account does not exist, so that an unknown name takes the same
/// time as a wrong password.
const DUMMY_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$YmVsZnJ5LW5vYm9keS4$\
                      PXoxkVbqIcMSkSFlYGxhhVw8Z3vHZVtVYPlxiJ4nYzA";

/// Hashes and verifies passwords on blocking threads, with 19 MiB of memory each.
#[derive(Debug, Clone)]
pub struct Passwords {
    concurrency: usize,
    hash_permits: Arc<Semaphore>,
    /// Limits running and waiting requests together.
    queue_places: Arc<Semaphore>,
    /// Limits the requests in the reserved queue places.
    reserved_places: Arc<Semaphore>,
    known_networks: Arc<Cache<Network, ()>>,
    /// Number of computed hashes, for new passwords and for verification.
    pub hash_count: Arc<Counter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many people are signing in at this moment; try again soon")]
pub struct HashQueueFull;

impl Passwords {
    /// Creates a hasher that computes this many hashes concurrently; by default one per core.
    pub fn new(concurrency: Option<NonZeroUsize>) -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let concurrency = concurrency.map_or_else(cores, usize::from);
        Self {
            concurrency,
            hash_permits: Arc::new(Semaphore::new(concurrency)),
            queue_places: Arc::new(Semaphore::new(concurrency * (1 + QUEUE_PLACES_PER_PERMIT))),
            reserved_places: Arc::new(Semaphore::new(concurrency * RESERVED_PLACES_PER_PERMIT)),
            known_networks: Arc::new(Cache::new(MAX_KNOWN_NETWORKS)),
            hash_count: Arc::default(),
        }
    }

    /// Returns the number of hashes being computed or waiting.
    pub fn queue_length(&self) -> usize {
        let concurrency = self.concurrency;
        let all_places = concurrency * (1 + QUEUE_PLACES_PER_PERMIT + RESERVED_PLACES_PER_PERMIT);
        all_places
            - self.queue_places.available_permits()
            - self.reserved_places.available_permits()
    }

    pub async fn hash(&self, password: Secret) -> Result<String, HashQueueFull> {
        self.run_hash(false, move || {
            let salt: [u8; 16] = random::bytes();
            let password_hash: PasswordHash = argon2()
                .hash_password_with_salt(password.reveal().as_bytes(), &salt)
                .expect("the parameters and the length of the salt are valid");
            password_hash.to_string()
        })
        .await
    }

    /// Verifies a password. Without a hash, verification takes the same time and fails. Passwords
    /// above the maximum length are rejected without hashing, to limit the cost. The client's
    /// network is remembered if the password is correct.
    pub async fn verify(
        &self,
        password: Secret,
        hash: Option<String>,
        network: Network,
    ) -> Result<bool, HashQueueFull> {
        if password.reveal().chars().count() > MAX_PASSWORD_LENGTH {
            return Ok(false);
        }
        let is_known_network = self.known_networks.get(&network).is_some();
        let verification = self.run_hash(is_known_network, move || {
            let compared_hash = hash.as_deref().unwrap_or(DUMMY_HASH);
            matches_hash(password.reveal(), compared_hash) && hash.is_some()
        });
        let is_correct = verification.await?;
        if is_correct && !is_known_network {
            self.known_networks.insert(network, ());
        }
        Ok(is_correct)
    }

    /// Computes a hash on a blocking thread, as soon as a permit is free. Requests from known
    /// networks may use the reserved places in the queue.
    async fn run_hash<T: Send + 'static>(
        &self,
        is_known_network: bool,
        compute_hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HashQueueFull> {
        let place = match self.queue_places.clone().try_acquire_owned() {
            Err(_) if is_known_network => self.reserved_places.clone().try_acquire_owned(),
            place => place,
        }
        .map_err(|_| HashQueueFull)?;
        let permit = self.hash_permits.clone().acquire_owned().await.map_err(|_| HashQueueFull)?;
        self.hash_count.inc();
        // The permits move into the blocking task: if the client disconnects, they are released
        // only when the hash is done.
        let compute_hash = RequestContext::attach_current(compute_hash);
        let task = tokio::task::spawn_blocking(move || {
            let result = compute_hash();
            drop((permit, place));
            result
        });
        task.await.map_err(|_| HashQueueFull)
    }
}

/// Returns Argon2id with the current parameters: 19 MiB, two passes, one lane.
fn argon2() -> Argon2<'static> {
    let params = Params::new(19 * 1024, 2, 1, None).expect("the parameters are valid");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// Returns whether a password matches this hash. No password matches a hash that is damaged or too
/// expensive.
fn matches_hash(password: &str, stored_hash: &str) -> bool {
    let Ok(hash) = StoredHash::parse(stored_hash) else { return false };
    let is_match = match &hash {
        StoredHash::Argon2 => argon2().verify_password(password.as_bytes(), stored_hash).is_ok(),
        StoredHash::Bcrypt(hash) => {
            hash.matches(&bcrypt::bcrypt(hash.cost, hash.salt, &Bcrypt::key(password)))
        }
    };
    is_match && hash.can_match(password)
}

/// Returns whether a stored hash should be replaced after it has verified this password. An Argon2
/// hash is replaced if it is weaker than the current parameters, any other hash if only this
/// password matches it.
pub fn needs_rehash(stored_hash: &str, password: &str) -> bool {
    match StoredHash::parse(stored_hash) {
        Ok(StoredHash::Argon2) => is_weak_argon2(stored_hash),
        Ok(hash) => hash.covers_whole_password(password),
        Err(_) => false,
    }
}

/// Returns whether an Argon2 hash is weaker than the current parameters.
fn is_weak_argon2(stored_hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(stored_hash) else { return false };
    let (current_argon2, Ok(stored_params)) = (argon2(), Params::try_from(&hash)) else {
        return true;
    };
    let is_same_algorithm = hash.algorithm == Algorithm::Argon2id.ident()
        && hash.version == Some(Version::V0x13.into());
    let current_params = current_argon2.params();
    !is_same_algorithm
        || stored_params.m_cost() < current_params.m_cost()
        || stored_params.t_cost() < current_params.t_cost()
}

#[cfg(test)]
mod tests;
