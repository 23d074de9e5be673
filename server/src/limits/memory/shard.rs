//! A table of windows that grows as it is used, up to a bound, and then gives up what matters least.
//!
//! **What is given up.** When a new key comes to a full table, its neighbours are looked at and one
//! of them has to go: one whose window has ended; else the one that has used the smallest share of
//! its limit; of those, the newest. So a flood of fresh keys pushes out itself: a key that is at its
//! limit stays there, whoever rotates through addresses to have it forgotten. A key that is pushed
//! out loses its count and starts afresh, which harms nobody who keeps to the limits.

use std::cmp::Reverse;

use belfry_core::limits::{Limit, Micros, Window};

/// Slots that a new key in a full table chooses among.
const NEIGHBOURS: usize = 16;
/// Slots that are swept for every new key: all of them, in less time than it takes to fill them.
const SWEPT: usize = 4;
/// Slots of the smallest table.
const FEWEST: usize = 8;

/// Open addressing with linear probing, at most three quarters full.
///
/// A key that is counted twice in a row is taken to be busy. What is newest of it then stands beside
/// the lock, and its slot in the table waits: cores that count for one key pull one line of memory
/// from each other instead of two. The order of the fields is for that.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Shard {
    busy: Slot,
    /// The key that was kept last.
    last: u64,
    slots: Vec<Slot>,
    used: usize,
    most: usize,
    hand: usize,
    evicted: u64,
}

/// 24 bytes: with the room between them, a key costs 32 to 48.
#[derive(Debug, Clone, Copy)]
struct Slot {
    print: u64,
    /// The end of the window, later than any `now` it was kept at.
    end: Micros,
    /// 0 in an empty slot: a window without a count is not kept.
    count: u32,
    /// How much of the limit is used, from 0 to 255.
    share: u8,
}

impl Slot {
    const EMPTY: Self = Self { print: 0, end: Micros::MIN, count: 0, share: 0 };

    fn is_live(&self, now: Micros) -> bool {
        self.count > 0 && self.end > now
    }
}

impl Shard {
    /// A table for at most `most` keys. It holds no memory until the first one comes.
    pub(super) fn new(most: usize) -> Self {
        Self { busy: Slot::EMPTY, last: 0, slots: Vec::new(), used: 0, most, hand: 0, evicted: 0 }
    }

    /// How many keys are held.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// How much room there is, used or not.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// How many keys were given up before their window ended.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// The window that is kept of a key, if there is one.
    pub(super) fn get(&self, print: u64) -> Window {
        let slot = if self.is_busy(print) {
            &self.busy
        } else {
            self.find(print).map_or(&Slot::EMPTY, |at| &self.slots[at])
        };
        Window { count: slot.count, end: slot.end }
    }

    /// Keeps the window of a key, if there is something in it.
    pub(super) fn put(&mut self, print: u64, limit: &Limit, window: Window, now: Micros) {
        if window.count == 0 {
            return;
        }
        let share = u64::from(window.count) * 255 / u64::from(limit.requests().max(1));
        let share = u8::try_from(share).unwrap_or(u8::MAX);
        let slot = Slot { print, end: window.end, count: window.count, share };
        if self.is_busy(print) {
            self.busy = slot;
            return;
        }
        let held = self.find(print).filter(|&at| self.slots[at].count > 0);
        if held.is_some() && self.last == print {
            self.settle();
            self.busy = slot;
            return;
        }
        self.last = print;
        let at = held.or_else(|| {
            self.make_room(print, now);
            self.find(print)
        });
        if let Some(at) = at {
            self.used += usize::from(self.slots[at].count == 0);
            self.slots[at] = slot;
        }
    }

    /// Forgets every window that has ended, and gives memory back when little is left.
    pub(super) fn sweep(&mut self, now: Micros) {
        self.settle();
        let live = self.live(now);
        if live == 0 {
            self.rebuild(0, now);
        } else if room_for(live * 2).max(FEWEST) < self.slots.len() {
            self.rebuild(room_for(live + live / 2).max(FEWEST), now);
        } else {
            (0..self.slots.len()).for_each(|at| self.clear(at, now));
        }
    }

    fn is_busy(&self, print: u64) -> bool {
        self.busy.count > 0 && self.busy.print == print
    }

    /// Puts what is busy back into the table; to be called before anything there is moved or judged.
    fn settle(&mut self) {
        let busy = std::mem::replace(&mut self.busy, Slot::EMPTY);
        if let Some(at) = self.find(busy.print).filter(|_| busy.count > 0) {
            self.slots[at] = busy;
        }
    }

    fn live(&self, now: Micros) -> usize {
        self.slots.iter().filter(|slot| slot.is_live(now)).count()
    }

    /// Where a key is, or the empty slot where it would be; nowhere in a table without slots.
    ///
    /// It ends because a quarter of the slots is empty.
    fn find(&self, print: u64) -> Option<usize> {
        let is_it = |slot: &Slot| slot.count == 0 || slot.print == print;
        self.from(self.home(print)).find(|&at| is_it(&self.slots[at]))
    }

    /// All slots once, beginning at one.
    fn from(&self, first: usize) -> impl Iterator<Item = usize> + use<> {
        (first..self.slots.len()).chain(0..first)
    }

    /// The slot that a key would like: its upper bits, scaled to the table.
    fn home(&self, print: u64) -> usize {
        let scaled = (u128::from(print) * self.slots.len() as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }

    fn make_room(&mut self, print: u64, now: Micros) {
        self.settle();
        self.sweep_some(now);
        if self.used >= self.most {
            self.give_up_one(print, now);
        } else if room_for(self.used + 1) > self.slots.len() {
            let live = self.live(now);
            // Half as many again, unless sweeping alone makes the room.
            let wanted = room_for(live + live / 2).clamp(FEWEST, room_for(self.most).max(FEWEST));
            self.rebuild(wanted.max(room_for(live + 1)), now);
        }
    }

    fn give_up_one(&mut self, print: u64, now: Micros) {
        let held = self.from(self.home(print)).filter(|&at| self.slots[at].count > 0);
        let worth = |&at: &usize| {
            let slot = &self.slots[at];
            (slot.is_live(now), slot.share, Reverse(slot.end))
        };
        if let Some(at) = held.take(NEIGHBOURS).min_by_key(worth) {
            self.evicted += u64::from(self.slots[at].is_live(now));
            self.remove(at);
        }
    }

    fn sweep_some(&mut self, now: Micros) {
        for _ in 0..SWEPT.min(self.slots.len()) {
            self.hand = if self.hand + 1 < self.slots.len() { self.hand + 1 } else { 0 };
            self.clear(self.hand, now);
        }
    }

    /// Empties a slot of windows that have ended, also of those that move up into it.
    fn clear(&mut self, at: usize, now: Micros) {
        while self.slots[at].count > 0 && !self.slots[at].is_live(now) {
            self.remove(at);
        }
    }

    /// Empties a slot, and moves up what stands behind it only because the slot was taken.
    fn remove(&mut self, at: usize) {
        let len = self.slots.len();
        let distance =
            |from: usize, to: usize| if to >= from { to - from } else { to + len - from };
        let mut hole = at;
        for next in self.from(at).skip(1) {
            if self.slots[next].count == 0 {
                break;
            }
            if distance(self.home(self.slots[next].print), next) >= distance(hole, next) {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
        }
        self.slots[hole] = Slot::EMPTY;
        self.used -= 1;
    }

    fn rebuild(&mut self, len: usize, now: Micros) {
        let old = std::mem::replace(&mut self.slots, vec![Slot::EMPTY; len]);
        self.used = 0;
        for slot in old.into_iter().filter(|slot| slot.is_live(now)) {
            if let Some(at) = self.find(slot.print) {
                self.slots[at] = slot;
                self.used += 1;
            }
        }
    }
}

/// How many slots hold so many keys.
fn room_for(keys: usize) -> usize {
    keys + keys.div_ceil(3) + 1
}
