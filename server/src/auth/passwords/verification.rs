//! Verification of passwords against each kind of stored hash.

use std::num::NonZeroU32;

use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc;
use argon2::{Algorithm, Params, Version};
use belfry_core::account::password_hash::{Bcrypt, HashFunction, PasswordHash, Pbkdf2};
use ring::pbkdf2;

use super::argon2;

/// Returns whether a password matches this hash. No password matches a hash that is damaged or too
/// expensive.
pub(super) fn matches_hash(password: &str, stored_hash: &str) -> bool {
    let Ok(hash) = PasswordHash::parse(stored_hash) else { return false };
    let is_match = match &hash {
        PasswordHash::Argon2 => argon2().verify_password(password.as_bytes(), stored_hash).is_ok(),
        PasswordHash::Bcrypt(hash) => {
            hash.matches(&bcrypt::bcrypt(hash.cost, hash.salt, &Bcrypt::key(password)))
        }
        PasswordHash::Pbkdf2(hash) => matches_pbkdf2(password, hash),
    };
    is_match && hash.can_match(password)
}

fn matches_pbkdf2(password: &str, hash: &Pbkdf2) -> bool {
    let algorithm = match hash.function {
        HashFunction::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
        HashFunction::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
    };
    NonZeroU32::new(hash.iterations).is_some_and(|iterations| {
        let password = password.as_bytes();
        pbkdf2::verify(algorithm, iterations, &hash.salt, password, &hash.digest).is_ok()
    })
}

/// Returns whether a stored hash should be replaced after it has verified this password. An Argon2
/// hash is replaced if it is weaker than the current parameters, any other hash if only this
/// password matches it.
pub fn needs_rehash(stored_hash: &str, password: &str) -> bool {
    match PasswordHash::parse(stored_hash) {
        Ok(PasswordHash::Argon2) => is_weak_argon2(stored_hash),
        Ok(hash) => hash.covers_whole_password(password),
        Err(_) => false,
    }
}

/// Returns whether an Argon2 hash is weaker than the current parameters.
fn is_weak_argon2(stored_hash: &str) -> bool {
    let Ok(hash) = phc::PasswordHash::new(stored_hash) else { return false };
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
