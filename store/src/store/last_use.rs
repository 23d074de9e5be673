//! The last use of tokens and apps, to the hour.
//!
//! A request only compares the time with a number in the cached token. The first use in an hour is
//! collected in memory and stored at intervals, so that requests do not write.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use belfry_core::secret::LookupKey;
use jiff::Timestamp;

use crate::cache::{LastUse, PRECISION_SECONDS};
use crate::engine::{Statement, sql};
use crate::error::StoreError;
use crate::store::{Change, Store};

/// Maximum number of tokens whose use is collected between two flushes, to bound memory and writes.
/// Uses of other tokens are recorded by later requests.
const MAX_TOKENS: usize = 1000;

/// Maximum number of apps whose use without a token is collected.
const MAX_APPS: usize = 100_000;

/// Statements per transaction of a flush.
const FLUSH_BATCH_LEN: usize = 100;

/// Collects uses until they are stored.
#[derive(Debug, Default)]
pub(crate) struct UseRecorder {
    pending: Mutex<PendingUses>,
    /// True if [`MAX_TOKENS`] tokens are pending, so that requests do not take the lock needlessly.
    is_full: AtomicBool,
}

/// Uses that are not stored yet. Sorted, so that concurrent flushes of several nodes lock rows in
/// the same order.
#[derive(Debug, Default)]
struct PendingUses {
    tokens: BTreeMap<LookupKey, Timestamp>,
    apps: BTreeMap<i64, Timestamp>,
    /// The generation of each token family whose newest access token was used. There is no maximum,
    /// because a copied refresh token is recognised by these.
    families: BTreeMap<LookupKey, u32>,
}

impl UseRecorder {
    #[cold]
    pub(crate) fn record_token(
        &self,
        lookup_key: LookupKey,
        app_id: i64,
        last_use: &LastUse,
        now: Timestamp,
    ) {
        if self.is_full.load(Ordering::Relaxed) {
            return;
        }
        let mut pending = self.lock();
        last_use.0.store(now.as_second(), Ordering::Relaxed);
        pending.tokens.insert(lookup_key, now);
        pending.apps.insert(app_id, now);
        self.is_full.store(pending.tokens.len() >= MAX_TOKENS, Ordering::Relaxed);
    }

    /// Collects the first use of an access token of a family's newest generation.
    #[cold]
    pub(crate) fn record_family(&self, lookup_key: LookupKey, generation: u32) {
        self.lock().families.insert(lookup_key, generation);
    }

    /// Collects a use of an app that presented no token.
    pub(crate) fn record_app(&self, app_id: i64, now: Timestamp) {
        let mut pending = self.lock();
        if pending.apps.len() < MAX_APPS {
            pending.apps.insert(app_id, now);
        }
    }

    fn take_pending(&self) -> PendingUses {
        let mut pending = self.lock();
        self.is_full.store(false, Ordering::Relaxed);
        std::mem::take(&mut *pending)
    }

    /// Puts back uses that could not be stored. Later uses take precedence.
    fn restore(&self, mut uses: PendingUses) {
        let mut pending = self.lock();
        uses.tokens.append(&mut pending.tokens);
        uses.apps.append(&mut pending.apps);
        uses.families.append(&mut pending.families);
        self.is_full.store(uses.tokens.len() >= MAX_TOKENS, Ordering::Relaxed);
        *pending = uses;
    }

    fn lock(&self) -> MutexGuard<'_, PendingUses> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The statement that stores a use of the row with this key. A stored use in the hour before it
/// remains.
macro_rules! store_use {
    ($table:literal, $key_column:literal, $key:expr, $used_at:expr) => {
        sql!(
            r"
                update {table}
                set last_used_at = $used_at
                where {key_column} = $key
                  and (
                      last_used_at is null
                        or last_used_at > $used_at
                        or last_used_at <= $outdated
                  )
            ",
            [key = *$key, used_at = *$used_at, outdated = $used_at.as_second() - PRECISION_SECONDS],
            {table = $table, key_column = $key_column}
        )
    };
}

impl PendingUses {
    /// Returns the statements that store the uses. A use that another node has stored in the same
    /// hour changes nothing.
    fn statements(&self) -> Vec<Statement> {
        let uses = self
            .tokens
            .iter()
            .map(|(key, used_at)| (key, store_use!("tokens", "lookup", key, used_at)));
        let apps = self.apps.iter().map(|(key, used_at)| store_use!("apps", "id", key, used_at));
        let families = self.families.iter().map(|(lookup_key, generation)| {
            let statement = sql!(
                "update tokens set is_used = 1 where lookup = $lookup and newest = $generation",
                [lookup = *lookup_key, generation = i64::from(*generation)]
            );
            (lookup_key, statement)
        });
        let mut tokens: Vec<_> = uses.chain(families).collect();
        tokens.sort_by_key(|(lookup_key, _)| *lookup_key);
        tokens.into_iter().map(|(_, statement)| statement).chain(apps).collect()
    }
}

impl Store {
    /// Stores recorded uses. After a failure they are part of the next flush.
    pub async fn flush_uses(&self) -> Result<(), StoreError> {
        let uses = self.uses.take_pending();
        for statements in uses.statements().chunks(FLUSH_BATCH_LEN) {
            if let Err(error) = self.write(Change::unaudited(statements.to_vec())).await {
                self.uses.restore(uses);
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::secret::SplitToken;

    use super::*;

    fn timestamp(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn lookup_key(number: usize) -> LookupKey {
        let mut random = [0; SplitToken::RANDOM_BYTES];
        random[..8].copy_from_slice(&number.to_be_bytes());
        SplitToken::new(Timestamp::UNIX_EPOCH, random).hashed_secret().lookup_key
    }

    #[test]
    fn a_use_beyond_the_maximum_is_recorded_after_the_next_flush() {
        let recorder = UseRecorder::default();
        let last_use = LastUse::new(None);
        for number in 0..MAX_TOKENS {
            recorder.record_token(lookup_key(number), 1, &LastUse::new(None), timestamp(9));
        }
        recorder.record_token(lookup_key(MAX_TOKENS), 2, &last_use, timestamp(9));
        assert!(last_use.is_outdated(timestamp(9)), "the next request records the use");
        let uses = recorder.take_pending();
        assert_eq!((uses.tokens.len(), uses.apps.len()), (MAX_TOKENS, 1));

        recorder.record_token(lookup_key(MAX_TOKENS), 2, &last_use, timestamp(9));
        assert!(!last_use.is_outdated(timestamp(9)));
        assert_eq!(recorder.take_pending().apps, BTreeMap::from([(2, timestamp(9))]));
    }

    #[test]
    fn uses_that_could_not_be_stored_are_part_of_the_next_flush() {
        let recorder = UseRecorder::default();
        let record = |number, app, now| {
            recorder.record_token(lookup_key(number), app, &LastUse::new(None), now);
        };
        record(1, 1, timestamp(5));
        record(2, 2, timestamp(5));
        let unstored_uses = recorder.take_pending();
        record(2, 2, timestamp(9));
        recorder.restore(unstored_uses);
        let uses = recorder.take_pending();
        assert_eq!(
            uses.tokens,
            BTreeMap::from([(lookup_key(1), timestamp(5)), (lookup_key(2), timestamp(9))])
        );
        assert_eq!(uses.apps, BTreeMap::from([(1, timestamp(5)), (2, timestamp(9))]));
    }
}
