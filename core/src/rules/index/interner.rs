//! Values that are kept once however often they are used.

use std::collections::HashMap;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::number;

/// What tells a value from all others, even from those made to be confused with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Digest([u8; 16]);

impl Digest {
    pub(super) fn of(value: &impl Serialize) -> Self {
        let text = serde_json::to_vec(value).expect("rules and verdicts have strings for keys");
        let mut digest = [0; 16];
        digest.copy_from_slice(&Sha256::digest(text)[..16]);
        Self(digest)
    }
}

/// Values by number; each has one as long as someone uses it.
#[derive(Debug)]
pub(super) struct Interner<T> {
    items: Vec<Option<Item<T>>>,
    free: Vec<u32>,
    by_digest: HashMap<Digest, u32>,
}

#[derive(Debug)]
struct Item<T> {
    digest: Digest,
    uses: u32,
    value: T,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new(), by_digest: HashMap::new() }
    }
}

impl<T> Interner<T> {
    /// The number of a value, which is made if nobody uses it yet.
    pub(super) fn take(&mut self, digest: Digest, make: impl FnOnce() -> T) -> u32 {
        if let Some(number) = self.by_digest.get(&digest) {
            if let Some(item) = &mut self.items[*number as usize] {
                item.uses += 1;
            }
            return *number;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.items.push(None);
            number(self.items.len() - 1)
        });
        self.items[place as usize] = Some(Item { digest, uses: 1, value: make() });
        self.by_digest.insert(digest, place);
        place
    }

    /// Gives up one use; the value comes back when it was the last.
    pub(super) fn release(&mut self, number: u32) -> Option<T> {
        let place = self.items.get_mut(number as usize)?;
        let item = place.as_mut()?;
        item.uses -= 1;
        if item.uses > 0 {
            return None;
        }
        let item = place.take()?;
        self.by_digest.remove(&item.digest);
        self.free.push(number);
        Some(item.value)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_digest.len()
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.items.get(number as usize)?.as_ref().map(|item| &item.value)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.items.get_mut(number as usize)?.as_mut().map(|item| &mut item.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_once_and_as_long_as_it_is_used() {
        let mut pool = Interner::default();
        let [a, b] = ["a", "b"].map(|text| Digest::of(&text));
        let first = pool.take(a, || "a");
        assert_eq!(pool.take(a, || panic!("it is there")), first);
        let other = pool.take(b, || "b");
        assert_ne!(first, other);
        assert_eq!(pool.release(first), None);
        assert_eq!(pool.get(first), Some(&"a"));
        assert_eq!(pool.release(first), Some("a"));
        assert_eq!(pool.get(first), None);
        assert_eq!(pool.release(first), None);
        assert_eq!(pool.take(a, || "a again"), first);
        assert_eq!(pool.get(other), Some(&"b"));
    }
}
