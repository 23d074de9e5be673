//! Invalidations of accounts and apps, on which cached values depend.
//!
//! The account and the app of a token are unknown before it is read, so the read cannot begin with
//! their epochs. It begins with the number of the last invalidation instead, which is stored with
//! the value. The value is current if neither its account nor its app was invalidated under a
//! higher number or is being written. An invalidation does not have to visit cached values.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use super::epochs::Phase;

/// A subject on which cached values depend, in addition to their key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// An account, by its id.
    Account(i64),
    /// An app, by its id.
    App(i64),
    /// An app's client secret, by the app's id.
    AppSecret(i64),
}

/// The slots of a value's two subjects, which are the same if it has one subject.
pub(super) type Slots = [u16; 2];

/// One write in progress in a slot. The lower bits are the number of the slot's last invalidation,
/// so a slot that is being written is greater than every number.
const WRITE_IN_PROGRESS: u64 = 1 << 48;

/// The invalidations of subjects by slot. Subjects with the same hash share a slot: an invalidation
/// of one of them makes values of the others stale, which costs a read.
pub(super) struct SubjectSlots {
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
    /// Returns the number of the last invalidation.
    pub(super) fn last_invalidation_number(&self) -> u64 {
        self.last_invalidation_number.load(SeqCst)
    }

    /// Returns the slots of a value's subjects.
    pub(super) fn find_slots(&self, subjects: [Subject; 2]) -> Slots {
        subjects.map(|subject| {
            let [low, high, ..] = self.hasher.hash_one(subject).to_le_bytes();
            u16::from_le_bytes([low, high])
        })
    }

    /// Returns whether a value with these slots is current, if its read began at this number.
    pub(super) fn are_current(&self, slots: Slots, number: u64) -> bool {
        slots.iter().all(|&slot| self.slots[usize::from(slot)].load(SeqCst) <= number)
    }

    /// Begins or ends a write of a subject. The end takes its number while the slot is still being
    /// written, so no value with that number is current before the slot has it.
    pub(super) fn advance(&self, subject: Subject, phase: Phase) {
        let [slot, _] = self.find_slots([subject; 2]);
        let slot = &self.slots[usize::from(slot)];
        match phase {
            Phase::Begin => {
                slot.fetch_add(WRITE_IN_PROGRESS, SeqCst);
            }
            Phase::End => {
                let number = self.last_invalidation_number.fetch_add(1, SeqCst) + 1;
                slot.update(SeqCst, SeqCst, |slot| {
                    let writes = (slot / WRITE_IN_PROGRESS).saturating_sub(1);
                    // A concurrent write may have stored a higher number.
                    writes * WRITE_IN_PROGRESS + number.max(slot % WRITE_IN_PROGRESS)
                });
            }
        }
    }
}
