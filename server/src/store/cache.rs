//! What the store remembers of what it read, so that a warm read touches no database.
//!
//! A value is put in only if nothing it depends on was forgotten since its read began: a reader
//! that was overtaken by a write can never leave an old value behind.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use belfry_core::secret::Digest;

use super::rulesets::Rulesets;
use super::tokens::Token;

/// What a write made stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// One token: revoked, say.
    Token(Digest),
    /// The rules of one account.
    Rules(i64),
    /// Something on which many entries may rest: an account or an app.
    Everything,
}

impl Change {
    /// The change as it is told to other nodes.
    pub(crate) fn to_text(self) -> String {
        match self {
            Self::Token(digest) => format!("token {}", digest.to_text()),
            Self::Rules(account) => format!("rules {account}"),
            Self::Everything => "everything".to_owned(),
        }
    }

    /// Reads what another node told; what is not understood may concern everything.
    pub(crate) fn from_text(text: &str) -> Self {
        let understood = match text.split_once(' ') {
            Some(("token", digest)) => Digest::from_text(digest).map(Self::Token),
            Some(("rules", account)) => account.parse().ok().map(Self::Rules),
            _ => None,
        };
        understood.unwrap_or(Self::Everything)
    }
}

/// The bounded memory of the store.
pub(crate) struct Cache {
    tokens: quick_cache::sync::Cache<Digest, Arc<Token>>,
    rules: quick_cache::sync::Cache<i64, Arc<Rulesets>>,
    /// How often something was forgotten, by the hash of what it was.
    forgettings: [Mutex<u64>; 64],
    hasher: RandomState,
    /// While another node's writes cannot be heard of, nothing here may be believed.
    believed: AtomicBool,
}

/// What had been forgotten when a read began.
pub(crate) struct Moment(u64);

impl Cache {
    /// A cache of at most so many tokens and as many accounts.
    pub(crate) fn new(entries: usize, believed: bool) -> Self {
        Self {
            tokens: quick_cache::sync::Cache::new(entries),
            rules: quick_cache::sync::Cache::new(entries),
            forgettings: std::array::from_fn(|_| Mutex::new(0)),
            hasher: RandomState::new(),
            believed: AtomicBool::new(believed),
        }
    }

    /// To be called before a read whose outcome will be put in.
    pub(crate) fn moment<K: Hash>(&self, key: &K) -> Moment {
        Moment(*self.forgetting(key))
    }

    pub(crate) fn token(&self, digest: &Digest) -> Option<Arc<Token>> {
        if self.is_believed() { self.tokens.get(digest) } else { None }
    }

    pub(crate) fn put_token(&self, digest: Digest, token: Arc<Token>, since: &Moment) {
        let forgettings = self.forgetting(&digest);
        if self.is_believed() && *forgettings == since.0 {
            self.tokens.insert(digest, token);
        }
    }

    pub(crate) fn rules(&self, account: i64) -> Option<Arc<Rulesets>> {
        if self.is_believed() { self.rules.get(&account) } else { None }
    }

    pub(crate) fn put_rules(&self, account: i64, rules: Arc<Rulesets>, since: &Moment) {
        let forgettings = self.forgetting(&account);
        if self.is_believed() && *forgettings == since.0 {
            self.rules.insert(account, rules);
        }
    }

    /// Forgets what a write made stale.
    pub(crate) fn forget(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Token(digest) => {
                    *self.forgetting(digest) += 1;
                    self.tokens.remove(digest);
                }
                Change::Rules(account) => {
                    *self.forgetting(account) += 1;
                    self.rules.remove(account);
                }
                Change::Everything => {
                    for forgetting in &self.forgettings {
                        *lock(forgetting) += 1;
                    }
                    self.tokens.clear();
                    self.rules.clear();
                }
            }
        }
    }

    /// Says whether all writes of other nodes are heard of. What was kept before a silence is
    /// forgotten.
    pub(crate) fn believe(&self, believed: bool) {
        if self.believed.swap(believed, Ordering::SeqCst) != believed {
            self.forget(&[Change::Everything]);
        }
    }

    /// Whether the cache is in use.
    pub(crate) fn is_believed(&self) -> bool {
        self.believed.load(Ordering::Relaxed)
    }

    fn forgetting<K: Hash>(&self, key: &K) -> MutexGuard<'_, u64> {
        let hash = self.hasher.hash_one(key);
        lock(&self.forgettings[usize::from(hash.to_le_bytes()[0]) % self.forgettings.len()])
    }
}

fn lock(counter: &Mutex<u64>) -> MutexGuard<'_, u64> {
    counter.lock().unwrap_or_else(PoisonError::into_inner)
}
