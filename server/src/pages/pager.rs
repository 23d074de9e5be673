//! Long lists, split into pages.

use std::ops::Range;

use belfry_core::form::{Pairs, last_value};

use super::Layout;

const PAGE_SIZE: usize = 50;

/// Number of a page, counted from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageNumber(usize);

/// Links to the pages before and after the one that is shown.
pub(super) struct Pager {
    /// "Page 2 of 3".
    pub(super) position: String,
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
}

impl PageNumber {
    /// Returns the page in a query, which counts from 1. The default is the first page.
    pub fn from_query(query: &Pairs) -> Self {
        Self(last_value(query, "page").parse::<usize>().unwrap_or(1).saturating_sub(1))
    }

    pub fn containing(index: usize) -> Self {
        Self(index / PAGE_SIZE)
    }

    /// Returns the query parameter for this page; `None` for the first page.
    pub(super) fn parameter(self) -> Option<(&'static str, String)> {
        (self.0 > 0).then(|| ("page", (self.0 + 1).to_string()))
    }

    /// Returns the indices of the entries on this page, or on the last page if the list has become
    /// shorter.
    pub fn entry_range(self, count: usize) -> Range<usize> {
        let start = self.0.min(count.saturating_sub(1) / PAGE_SIZE) * PAGE_SIZE;
        start..count.min(start + PAGE_SIZE)
    }
}

impl Pager {
    /// Returns the links to the pages before and after the one with these entries; `None` if it is
    /// the only page.
    pub(super) fn new(
        entries: &Range<usize>,
        count: usize,
        layout: &Layout<'_>,
        link: impl Fn(PageNumber) -> String,
    ) -> Option<Self> {
        let page = entries.start / PAGE_SIZE;
        let page_count = count.div_ceil(PAGE_SIZE);
        let arguments = [("page", (page + 1).into()), ("pages", page_count.into())];
        (page_count > 1).then(|| Self {
            position: layout.language.text_with_all("pager-position", arguments),
            previous: page.checked_sub(1).map(|page| link(PageNumber(page))),
            next: (page + 1 < page_count).then(|| link(PageNumber(page + 1))),
        })
    }
}

/// Returns the shown entries of one of several lists that are paged as one. `first_index` is the
/// index of the list's first entry in all lists together.
pub(super) fn select_entries<'a, T>(
    list: &'a [T],
    first_index: usize,
    entries: &Range<usize>,
) -> &'a [T] {
    let index = |entry: usize| entry.clamp(first_index, first_index + list.len()) - first_index;
    &list[index(entries.start)..index(entries.end)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_number_beyond_the_end_shows_the_last_page() {
        for (page, count, expected) in [
            (0, 0, 0..0),
            (0, 49, 0..49),
            (0, 50, 0..50),
            (1, 50, 0..50),
            (1, 51, 50..51),
            (9, 120, 100..120),
            (usize::MAX, 1000, 950..1000),
        ] {
            assert_eq!(PageNumber(page).entry_range(count), expected, "{page} {count}");
        }
    }

    #[test]
    fn a_page_number_is_parsed_from_a_query() {
        for (parameter, page) in [("", 0), ("0", 0), ("1", 0), ("2", 1), ("-1", 0), ("x", 0)] {
            let query = vec![("page".to_owned(), parameter.to_owned())];
            assert_eq!(PageNumber::from_query(&query), PageNumber(page), "{parameter}");
        }
    }

    #[test]
    fn several_lists_are_paged_as_one() {
        let lists = [&[1, 2, 3][..], &[], &[4], &[5, 6]];
        for start in 0..=6 {
            for end in start..=6 {
                let mut first_index = 0;
                let mut selected_entries: Vec<i32> = Vec::new();
                for list in lists {
                    selected_entries.extend(select_entries(list, first_index, &(start..end)));
                    first_index += list.len();
                }
                assert_eq!(selected_entries, [1, 2, 3, 4, 5, 6][start..end], "{start}..{end}");
            }
        }
    }
}
