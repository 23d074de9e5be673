//! The VAPID keys of this installation, and the tokens that they sign.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use belfry_core::audit::{AuditKind, NewAuditEvent};
use belfry_core::push::attempt_error::AttemptError;
use belfry_runtime::sealing::SealingKey;
use belfry_store::{AddKeyError, KeyPurpose, SigningKeys, Store, StoreError};
use jiff::{SignedDuration, Timestamp};

use crate::web_push::vapid::{TOKEN_LIFETIME, VapidToken};

/// Remaining lifetime of a token in use: long enough that it is still valid when a message arrives,
/// and not longer than that of a new one, which it would be after a jump of the clock.
const REMAINING: RangeInclusive<SignedDuration> = SignedDuration::from_hours(1)..=TOKEN_LIFETIME;
/// Maximum number of tokens in memory, one for each origin and key.
const MAX_TOKENS: usize = 10_000;

pub struct VapidKeys {
    /// A `mailto:` or `https:` URL of the operator.
    contact: String,
    opened: RwLock<SigningKeys>,
    tokens: Mutex<HashMap<(String, String), Arc<VapidToken>>>,
}

/// The reason why the keys cannot be loaded or created.
#[derive(Debug, thiserror::Error)]
pub enum LoadKeysError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A new key cannot be created.
    #[error(transparent)]
    Add(#[from] AddKeyError),
    #[error(
        "the newest VAPID key in the database was sealed with a different sealing key: put that key \
         back (secret_key_file, the same on every node); if it is lost, run \
         `belfry push key new --replace-lost-key`"
    )]
    SealedElsewhere,
}

impl VapidKeys {
    /// Loads the keys. Adds one if there is none.
    pub async fn load(
        store: &Store,
        sealing_key: &SealingKey,
        contact: &str,
        now: Timestamp,
    ) -> Result<Self, LoadKeysError> {
        if store.signing_keys(KeyPurpose::VAPID).await?.is_empty() {
            let events = NewAuditEvent::for_server(now, AuditKind::VapidKeyAdd).into();
            store.create_signing_key(&events, KeyPurpose::VAPID, sealing_key, None, now).await?;
        }
        // Another node may have added the first key instead.
        let opened = RwLock::new(open_keys(store, sealing_key).await?);
        Ok(Self { contact: contact.to_owned(), opened, tokens: Mutex::default() })
    }

    /// Loads the keys again, to find those that other nodes have added. If the newest one was
    /// sealed with a different sealing key, this fails and changes nothing.
    pub async fn reload(
        &self,
        store: &Store,
        sealing_key: &SealingKey,
    ) -> Result<(), LoadKeysError> {
        let opened = open_keys(store, sealing_key).await?;
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = opened;
        Ok(())
    }

    /// Returns the public key for clients that subscribe now, in base64url.
    pub fn newest(&self) -> String {
        self.read().newest.clone()
    }

    /// Returns the number of stored keys that were sealed with a different sealing key.
    pub fn lost_count(&self) -> usize {
        self.read().lost.len()
    }

    /// Returns a token for an origin, signed with the key of a receiver.
    pub(crate) fn token(
        &self,
        origin: &str,
        public_key: &str,
        now: Timestamp,
    ) -> Result<Arc<VapidToken>, AttemptError> {
        let subject = (origin.to_owned(), public_key.to_owned());
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = tokens.get(&subject)
            && REMAINING.contains(&token.expires_at.duration_since(now))
        {
            return Ok(Arc::clone(token));
        }
        let opened = self.read();
        let Some(key) = opened.keys.get(public_key) else {
            let is_lost = opened.lost.contains(public_key);
            return Err(if is_lost {
                AttemptError::VapidSealingKey
            } else {
                AttemptError::VapidKeyUnknown
            });
        };
        let token = VapidToken::sign(key, origin, &self.contact, now)
            .map_err(|_| AttemptError::Encryption)?;
        if tokens.len() >= MAX_TOKENS {
            tokens.clear();
        }
        let token = Arc::new(token);
        tokens.insert(subject, Arc::clone(&token));
        Ok(token)
    }

    fn read(&self) -> RwLockReadGuard<'_, SigningKeys> {
        self.opened.read().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn open_keys(store: &Store, sealing_key: &SealingKey) -> Result<SigningKeys, LoadKeysError> {
    let rows = store.signing_keys(KeyPurpose::VAPID).await?;
    SigningKeys::open(rows, KeyPurpose::VAPID, sealing_key).ok_or(LoadKeysError::SealedElsewhere)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use belfry_runtime::jwt::SigningKey;

    use super::*;

    const HOUR: i64 = 3600;

    #[test]
    fn a_token_is_reused_for_its_origin_until_an_hour_before_its_end() {
        let key = SigningKey::from_pkcs8(&SigningKey::generate_pkcs8().unwrap()).unwrap();
        let public_key = key.public_key().to_owned();
        let opened = SigningKeys {
            keys: BTreeMap::from([(public_key.clone(), key)]),
            newest: public_key.clone(),
            lost: BTreeSet::new(),
        };
        let keys = VapidKeys {
            contact: "mailto:ops@ring.example".to_owned(),
            opened: RwLock::new(opened),
            tokens: Mutex::default(),
        };
        let sign = |origin: &str, second: i64| {
            keys.token(origin, &public_key, Timestamp::from_second(second).unwrap()).unwrap()
        };
        let first = sign("https://push.example", 0);
        assert!(Arc::ptr_eq(&first, &sign("https://push.example", 11 * HOUR)));
        assert!(!Arc::ptr_eq(&first, &sign("https://other.example", 0)));
        let second = sign("https://push.example", 11 * HOUR + 1);
        assert!(!Arc::ptr_eq(&first, &second), "less than an hour remains");
        let after_setback = sign("https://push.example", 0);
        assert!(!Arc::ptr_eq(&second, &after_setback), "it would be valid for more than 12 hours");
        for number in 0..=MAX_TOKENS {
            sign(&format!("https://{number}.example"), 0);
        }
        assert!(keys.tokens.lock().unwrap().len() <= MAX_TOKENS);
    }
}
