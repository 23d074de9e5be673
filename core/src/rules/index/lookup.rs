//! Which members have a mark.

use super::key::IndexKey;
use super::number;

/// Positions by their marks. Those with the same mark, or the same end of it, are chained: it is
/// made in one pass, and for one event it is not worth more.
#[derive(Debug)]
pub(super) struct Index {
    /// The first link of each chain, or `END`.
    heads: Box<[u32]>,
    links: Vec<Link>,
    always: Vec<u32>,
}

#[derive(Debug)]
struct Link {
    mark: IndexKey,
    position: u32,
    next: u32,
}

const END: u32 = u32::MAX;

/// How a position is to be found.
pub(super) enum Entry {
    /// By this mark.
    At(IndexKey),
    /// By any mark.
    Always,
    /// Not at all.
    Never,
}

impl Index {
    pub(super) fn of(entries: impl ExactSizeIterator<Item = Entry>) -> Self {
        let size = entries.len().next_power_of_two();
        let mut index = Self {
            heads: vec![END; size].into(),
            links: Vec::with_capacity(entries.len()),
            always: Vec::new(),
        };
        for (position, entry) in entries.enumerate() {
            let position = number(position);
            match entry {
                Entry::At(mark) => {
                    let head = index.head(mark);
                    let next = std::mem::replace(&mut index.heads[head], number(index.links.len()));
                    index.links.push(Link { mark, position, next });
                }
                Entry::Always => index.always.push(position),
                Entry::Never => {}
            }
        }
        index
    }

    /// The positions that have this mark.
    pub(super) fn at(&self, mark: IndexKey) -> impl Iterator<Item = u32> {
        let mut next = self.heads[self.head(mark)];
        let links = std::iter::from_fn(move || {
            let link = self.links.get(next as usize)?;
            next = link.next;
            Some(link)
        });
        links.filter(move |link| link.mark == mark).map(|link| link.position)
    }

    /// The positions that have any of these marks, and those that are always found.
    pub(super) fn at_any(&self, marks: &[IndexKey]) -> impl Iterator<Item = u32> {
        marks.iter().flat_map(|mark| self.at(*mark)).chain(self.always.iter().copied())
    }

    fn head(&self, mark: IndexKey) -> usize {
        mark.below(self.heads.len())
    }
}
