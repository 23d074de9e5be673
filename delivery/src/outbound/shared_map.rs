//! Values that concurrent requests share, by key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of values, unless more of them are in use.
const MAX_VALUES: usize = 4096;

/// A map from keys to shared values. When it is full, the values that are not in use are removed.
pub(super) struct SharedMap<K, V>(Mutex<HashMap<K, Arc<V>>>);

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Default> SharedMap<K, V> {
    /// Returns the value of a key, a new one if there is none.
    pub(super) fn get(&self, key: K) -> Arc<V> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if values.len() >= MAX_VALUES {
            values.retain(|_, value| Arc::strong_count(value) > 1);
        }
        Arc::clone(values.entry(key).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn values_in_use_remain_when_the_map_is_full() {
        let map: SharedMap<usize, AtomicUsize> = SharedMap::default();
        let used = map.get(0);
        used.store(1, Ordering::Relaxed);
        for key in 1..2 * MAX_VALUES {
            map.get(key).store(1, Ordering::Relaxed);
        }
        assert_eq!(map.get(0).load(Ordering::Relaxed), 1);
        assert_eq!(map.get(1).load(Ordering::Relaxed), 0, "removed");
        assert!(map.0.lock().unwrap().len() <= MAX_VALUES);
    }
}
