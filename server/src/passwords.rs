//! Password hashing: Argon2id with OWASP's parameters, a bounded number at the same time.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use belfry_core::oauth::account::LONGEST_PASSWORD;
use belfry_core::secret::Secret;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::{Semaphore, TryAcquireError};

use crate::random;

/// How many callers may wait for their turn, for each that hashes. The rest are told to come
/// back: a longer queue would only serve people who have already gone.
const WAITING: usize = 32;

/// A password of an account that does not exist, so that an unknown name costs the same time as
/// a wrong password.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$YmVsZnJ5LW5vYm9keS4$\
                      PXoxkVbqIcMSkSFlYGxhhVw8Z3vHZVtVYPlxiJ4nYzA";

/// Hashes and checks passwords, each with 19 MiB of memory, on threads of their own.
#[derive(Debug, Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
    made: Counter,
}

/// Too many passwords are being hashed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many people are signing in at this moment; try again soon")]
pub struct Busy;

impl Passwords {
    /// As many at the same time as said, or as there are cores.
    #[must_use]
    pub fn new(parallel: Option<NonZeroUsize>) -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let parallel = parallel.map_or_else(cores, usize::from);
        Self {
            turns: Arc::new(Semaphore::new(parallel)),
            places: Arc::new(Semaphore::new(parallel * (1 + WAITING))),
            made: Counter::default(),
        }
    }

    /// How many hashes were made, to be remembered or to be compared.
    #[must_use]
    pub fn made(&self) -> &Counter {
        &self.made
    }

    /// The string to remember of a new password.
    pub async fn hash(&self, password: Secret) -> Result<String, Busy> {
        self.in_turn(move || {
            let salt: [u8; 16] = random::bytes();
            let hashed: PasswordHash = argon2()
                .hash_password_with_salt(password.reveal().as_bytes(), &salt)
                .expect("the parameters and the length of the salt are valid");
            hashed.to_string()
        })
        .await
    }

    /// Whether this is the remembered password. With none to compare, it takes as long to say no.
    /// One that nobody could have chosen is not hashed: nobody can make us hash a book.
    pub async fn verify(&self, password: Secret, hash: Option<String>) -> Result<bool, Busy> {
        if password.reveal().chars().count() > LONGEST_PASSWORD {
            return Ok(false);
        }
        self.in_turn(move || {
            let text = hash.as_deref().unwrap_or(NOBODY);
            let same = argon2().verify_password(password.reveal().as_bytes(), text).is_ok();
            same && hash.is_some()
        })
        .await
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let place = match self.places.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => return Err(Busy),
        };
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| Busy)?;
        self.made.inc();
        // Both permits go with the work: a caller who leaves does not make room for another hash
        // while this one is still being made.
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop((turn, place));
            done
        });
        working.await.map_err(|_| Busy)
    }
}

/// Whether a remembered string costs whoever guesses less than one that is made today. Such a one is
/// replaced when its owner is here with the password.
#[must_use]
pub fn is_weak(hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    let (now, Ok(then)) = (argon2(), Params::try_from(&hash)) else { return true };
    let same_kind = hash.algorithm == Algorithm::Argon2id.ident()
        && hash.version == Some(Version::V0x13.into());
    !same_kind || then.m_cost() < now.params().m_cost() || then.t_cost() < now.params().t_cost()
}

/// 19 MiB, two passes, one lane.
fn argon2() -> Argon2<'static> {
    let params = Params::new(19 * 1024, 2, 1, None).expect("the parameters are valid");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text)
    }

    #[tokio::test]
    async fn the_right_password_is_accepted_and_no_other() {
        let passwords = Passwords::new(None);
        let hash = passwords.hash(secret("correct horse")).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");

        let verify = async |text, hash| passwords.verify(secret(text), hash).await;
        assert_eq!(verify("correct horse", Some(hash.clone())).await, Ok(true));
        assert_eq!(verify("correct horse ", Some(hash.clone())).await, Ok(false));
        assert_eq!(verify("", Some(hash)).await, Ok(false));
        assert_eq!(verify("correct horse", Some("damaged".to_owned())).await, Ok(false));
    }

    // Attack 113.
    #[tokio::test]
    async fn a_hash_that_costs_less_than_todays_is_weak_and_still_compared() {
        let made_with = |algorithm, version, memory, passes| {
            let params = Params::new(memory, passes, 1, None).unwrap();
            let hashed: PasswordHash = Argon2::new(algorithm, version, params)
                .hash_password_with_salt(b"correct horse", b"a salt of its own")
                .unwrap();
            hashed.to_string()
        };
        let passwords = Passwords::new(None);
        let (id, new) = (Algorithm::Argon2id, Version::V0x13);
        for (hash, weak) in [
            (made_with(id, new, 19 * 1024, 2), false),
            (made_with(id, new, 20 * 1024, 3), false),
            (made_with(id, new, 8 * 1024, 2), true),
            (made_with(id, new, 19 * 1024, 1), true),
            (made_with(Algorithm::Argon2i, new, 19 * 1024, 2), true),
            (made_with(Algorithm::Argon2d, new, 19 * 1024, 2), true),
            (made_with(id, Version::V0x10, 19 * 1024, 2), true),
        ] {
            assert_eq!(is_weak(&hash), weak, "{hash}");
            let right = passwords.verify(secret("correct horse"), Some(hash.clone())).await;
            assert_eq!(right, Ok(true), "{hash}");
            assert_eq!(passwords.verify(secret("wrong"), Some(hash)).await, Ok(false));
        }
        assert!(!is_weak("damaged"), "nobody has its password");
    }

    #[tokio::test]
    async fn two_hashes_of_one_password_differ() {
        let passwords = Passwords::new(None);
        let (one, other) = tokio::join!(passwords.hash(secret("a")), passwords.hash(secret("a")));
        assert_ne!(one.unwrap(), other.unwrap());
    }

    #[tokio::test]
    async fn nobody_has_no_password_but_costs_a_real_hash() {
        PasswordHash::new(NOBODY).expect("a wrong hash would be refused in no time");
        let passwords = Passwords::new(None);
        assert_eq!(passwords.verify(secret(""), None).await, Ok(false));
        assert_eq!(passwords.made().get(), 1);
    }

    #[tokio::test]
    async fn those_who_find_no_place_are_told_at_once() {
        let passwords = Passwords::new(NonZeroUsize::new(1));
        let held = passwords.places.clone().acquire_many_owned(33).await.unwrap();
        assert_eq!(passwords.hash(secret("a")).await.unwrap_err(), Busy);
        assert_eq!(passwords.verify(secret("a"), None).await, Err(Busy));
        // What cannot be a password takes no place.
        assert_eq!(passwords.verify(secret(&"a".repeat(129)), None).await, Ok(false));
        drop(held);
        assert!(passwords.hash(secret("a")).await.is_ok());
    }
}
