//! Invalidations of accounts and apps, on which cached values depend.
//!
//! A token's account and app are unknown until it is read, so the read cannot record their epochs
//! first. It records the number of the last invalidation instead, which is stored with the value.
//! The value is current if neither its account nor its app was invalidated under a higher number or
//! is being written. An invalidation does not have to visit cached values.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use super::epochs::Phase;

/// An account, an app or an app's secret on which cached values depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CacheSubject {
    Account(i64),
    App(i64),
    /// An app's client secret, by the app's id.
    AppSecret(i64),
}

/// The slots of a value's two subjects, which are the same if it has one subject.
pub(crate) type Slots = [u16; 2];

/// Added to a slot for each write in progress. The lower bits are the number of the slot's last
/// invalidation, so a slot that is being written is greater than every number.
const WRITE_IN_PROGRESS: u64 = 1 << 48;

/// The invalidations of subjects by slot. Subjects with the same hash share a slot: an invalidation
/// of one of them makes values of the others stale, which costs a read.
pub(crate) struct SubjectSlots {
    last_invalidation_number: AtomicU64,
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for SubjectSlots {
    fn default() -> Self {
        let slots = (0..=u16::MAX).map(|_| AtomicU64::new(0)).collect();
        Self { last_invalidation_number: AtomicU64::new(0), slots, hasher: RandomState::new() }
    }
}

impl SubjectSlots {
    pub(crate) fn last_invalidation_number(&self) -> u64 {
        self.last_invalidation_number.load(SeqCst)
    }

    /// Returns the slots of a value's subjects.
    pub(crate) fn hash_slots(&self, subjects: [CacheSubject; 2]) -> Slots {
        subjects.map(|subject| {
            let [low, high, ..] = self.hasher.hash_one(subject).to_le_bytes();
            u16::from_le_bytes([low, high])
        })
    }

    /// Returns whether a value with `slots` is current, if its read began at `number`.
    pub(crate) fn is_current(&self, slots: Slots, number: u64) -> bool {
        slots.iter().all(|&index| self.slots[usize::from(index)].load(SeqCst) <= number)
    }

    /// Records that a write of a subject begins or ends. `End` allocates its number before it
    /// clears the write marker, so no value with that number is considered current before the slot
    /// contains it.
    pub(crate) fn record_phase(&self, subject: CacheSubject, phase: Phase) {
        let [index, _] = self.hash_slots([subject; 2]);
        let slot = &self.slots[usize::from(index)];
        match phase {
            Phase::Begin => {
                slot.fetch_add(WRITE_IN_PROGRESS, SeqCst);
            }
            Phase::End => {
                let number = self.last_invalidation_number.fetch_add(1, SeqCst) + 1;
                slot.update(SeqCst, SeqCst, |state| {
                    let writes = (state / WRITE_IN_PROGRESS).saturating_sub(1);
                    // A concurrent write may have stored a higher number.
                    writes * WRITE_IN_PROGRESS + number.max(state % WRITE_IN_PROGRESS)
                });
            }
        }
    }
}
