//! Password hashing with Argon2id (OWASP parameters) and bounded concurrency.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use belfry_core::limits::Network;
use belfry_core::oauth::account::MAX_PASSWORD_LENGTH;
use belfry_core::secret::Secret;
use prometheus_client::metrics::counter::Counter;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use crate::random;

/// Length of the wait queue per concurrent hash. Further requests are rejected: in a longer queue
/// clients would time out before their turn.
const QUEUE_PER_PERMIT: usize = 32;

/// Further places of the queue per concurrent hash, for networks from which somebody has signed in.
/// Attackers with many addresses fill the others, but cannot keep these people out.
const RESERVED_PER_PERMIT: usize = 8;

/// Maximum number of networks with a sign-in that are remembered, in this process.
const MAX_KNOWN_NETWORKS: usize = 10_000;

/// A hash to compare with if the account does not exist, so that an unknown name takes the same
/// time as a wrong password.
const DUMMY_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$YmVsZnJ5LW5vYm9keS4$\
                      PXoxkVbqIcMSkSFlYGxhhVw8Z3vHZVtVYPlxiJ4nYzA";

/// Hashes and verifies passwords on blocking threads, with 19 MiB of memory each.
#[derive(Debug, Clone)]
pub struct Passwords {
    /// Limits concurrent hashes.
    running: Arc<Semaphore>,
    /// Limits running and waiting requests together.
    queue: Arc<Semaphore>,
    /// The reserved places of the queue.
    reserved: Arc<Semaphore>,
    /// Networks from which a password was correct.
    known: Arc<Cache<Network, ()>>,
    /// Number of computed hashes, for new passwords and for verification.
    pub hash_count: Counter,
}

/// The wait queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many people are signing in at this moment; try again soon")]
pub struct HashQueueFull;

impl Passwords {
    /// Allows this many concurrent hashes; by default the number of cores.
    pub fn new(parallel: Option<NonZeroUsize>) -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let parallel = parallel.map_or_else(cores, usize::from);
        Self {
            running: Arc::new(Semaphore::new(parallel)),
            queue: Arc::new(Semaphore::new(parallel * (1 + QUEUE_PER_PERMIT))),
            reserved: Arc::new(Semaphore::new(parallel * RESERVED_PER_PERMIT)),
            known: Arc::new(Cache::new(MAX_KNOWN_NETWORKS)),
            hash_count: Counter::default(),
        }
    }

    /// Hashes a new password.
    pub async fn hash(&self, password: Secret) -> Result<String, HashQueueFull> {
        self.run(false, move || {
            let salt: [u8; 16] = random::bytes();
            let hashed: PasswordHash = argon2()
                .hash_password_with_salt(password.reveal().as_bytes(), &salt)
                .expect("the parameters and the length of the salt are valid");
            hashed.to_string()
        })
        .await
    }

    /// Verifies a password. Without a hash it takes the same time and fails. Passwords above the
    /// maximum length are rejected without hashing to bound the cost. The network of the client is
    /// remembered if the password is correct.
    pub async fn verify(
        &self,
        password: Secret,
        hash: Option<String>,
        from: Network,
    ) -> Result<bool, HashQueueFull> {
        if password.reveal().chars().count() > MAX_PASSWORD_LENGTH {
            return Ok(false);
        }
        let is_known = self.known.get(&from).is_some();
        let verifying = self.run(is_known, move || {
            let text = hash.as_deref().unwrap_or(DUMMY_HASH);
            let same = argon2().verify_password(password.reveal().as_bytes(), text).is_ok();
            same && hash.is_some()
        });
        let is_correct = verifying.await?;
        if is_correct && !is_known {
            self.known.insert(from, ());
        }
        Ok(is_correct)
    }

    async fn run<T: Send + 'static>(
        &self,
        is_known: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HashQueueFull> {
        let queued = match self.queue.clone().try_acquire_owned() {
            Err(_) if is_known => self.reserved.clone().try_acquire_owned(),
            queued => queued,
        };
        let queued = queued.map_err(|_| HashQueueFull)?;
        let permit = self.running.clone().acquire_owned().await.map_err(|_| HashQueueFull)?;
        self.hash_count.inc();
        // The permits move into the blocking task: if the client disconnects, they are released
        // only when the hash is done.
        let task = tokio::task::spawn_blocking(move || {
            let result = work();
            drop((permit, queued));
            result
        });
        task.await.map_err(|_| HashQueueFull)
    }
}

/// Whether a stored hash is weaker than the current parameters. It is replaced at the next
/// successful sign-in.
pub fn is_weak(hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    let (current, Ok(stored)) = (argon2(), Params::try_from(&hash)) else { return true };
    let same_algorithm = hash.algorithm == Algorithm::Argon2id.ident()
        && hash.version == Some(Version::V0x13.into());
    let params = current.params();
    !same_algorithm || stored.m_cost() < params.m_cost() || stored.t_cost() < params.t_cost()
}

/// 19 MiB, two passes, one lane.
fn argon2() -> Argon2<'static> {
    let params = Params::new(19 * 1024, 2, 1, None).expect("the parameters are valid");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(last: u8) -> Network {
        Network::from_address([192, 0, 2, last].into())
    }

    fn secret(text: &str) -> Secret {
        Secret::new(text)
    }

    #[tokio::test]
    async fn only_the_right_password_is_accepted() {
        let passwords = Passwords::new(None);
        let hash = passwords.hash(secret("correct horse")).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");

        let verify = async |text, hash| passwords.verify(secret(text), hash, network(1)).await;
        assert_eq!(verify("correct horse", Some(hash.clone())).await, Ok(true));
        assert_eq!(verify("correct horse ", Some(hash.clone())).await, Ok(false));
        assert_eq!(verify("", Some(hash)).await, Ok(false));
        assert_eq!(verify("correct horse", Some("damaged".to_owned())).await, Ok(false));
    }

    /// Parameters can be raised later: old hashes still verify and are upgraded at sign-in.
    #[tokio::test]
    async fn a_hash_with_weaker_parameters_is_weak_and_still_verifies() {
        let hash_with = |algorithm, version, memory, passes| {
            let params = Params::new(memory, passes, 1, None).unwrap();
            let hashed: PasswordHash = Argon2::new(algorithm, version, params)
                .hash_password_with_salt(b"correct horse", b"a salt of its own")
                .unwrap();
            hashed.to_string()
        };
        let passwords = Passwords::new(None);
        let (id, new) = (Algorithm::Argon2id, Version::V0x13);
        for (hash, weak) in [
            (hash_with(id, new, 19 * 1024, 2), false),
            (hash_with(id, new, 20 * 1024, 3), false),
            (hash_with(id, new, 8 * 1024, 2), true),
            (hash_with(id, new, 19 * 1024, 1), true),
            (hash_with(Algorithm::Argon2i, new, 19 * 1024, 2), true),
            (hash_with(Algorithm::Argon2d, new, 19 * 1024, 2), true),
            (hash_with(id, Version::V0x10, 19 * 1024, 2), true),
        ] {
            assert_eq!(is_weak(&hash), weak, "{hash}");
            let right =
                passwords.verify(secret("correct horse"), Some(hash.clone()), network(1)).await;
            assert_eq!(right, Ok(true), "{hash}");
            assert_eq!(passwords.verify(secret("wrong"), Some(hash), network(1)).await, Ok(false));
        }
        assert!(!is_weak("damaged"), "no password can match it");
    }

    #[tokio::test]
    async fn two_hashes_of_one_password_differ() {
        let passwords = Passwords::new(None);
        let (one, other) = tokio::join!(passwords.hash(secret("a")), passwords.hash(secret("a")));
        assert_ne!(one.unwrap(), other.unwrap());
    }

    #[tokio::test]
    async fn an_unknown_account_costs_a_real_hash() {
        PasswordHash::new(DUMMY_HASH).expect("an invalid hash would be rejected without hashing");
        let passwords = Passwords::new(None);
        assert_eq!(passwords.verify(secret(""), None, network(1)).await, Ok(false));
        assert_eq!(passwords.hash_count.get(), 1);
    }

    #[tokio::test]
    async fn requests_beyond_the_queue_are_rejected_at_once() {
        let passwords = Passwords::new(NonZeroUsize::new(1));
        let held = passwords.queue.clone().acquire_many_owned(33).await.unwrap();
        assert_eq!(passwords.hash(secret("a")).await.unwrap_err(), HashQueueFull);
        assert_eq!(passwords.verify(secret("a"), None, network(1)).await, Err(HashQueueFull));
        // A too long password needs no permit.
        assert_eq!(passwords.verify(secret(&"a".repeat(129)), None, network(1)).await, Ok(false));
        drop(held);
        assert!(passwords.hash(secret("a")).await.is_ok());
    }

    #[tokio::test]
    async fn networks_with_a_sign_in_have_reserved_places_in_the_queue() {
        let passwords = Passwords::new(NonZeroUsize::new(1));
        let hash = passwords.hash(secret("correct horse")).await.unwrap();
        let verify =
            async |text, from| passwords.verify(secret(text), Some(hash.clone()), from).await;
        assert_eq!(verify("correct horse", network(1)).await, Ok(true));
        assert_eq!(verify("wrong", network(2)).await, Ok(false));
        // Others fill the queue.
        let _held = passwords.queue.clone().acquire_many_owned(33).await.unwrap();
        assert_eq!(verify("correct horse", network(2)).await, Err(HashQueueFull));
        assert_eq!(verify("correct horse", network(1)).await, Ok(true));
        assert_eq!(verify("wrong", network(1)).await, Ok(false));
        let _reserved = passwords.reserved.clone().acquire_many_owned(8).await.unwrap();
        assert_eq!(verify("correct horse", network(1)).await, Err(HashQueueFull));
    }
}
