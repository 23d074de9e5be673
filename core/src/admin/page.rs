//! Pages of a list that is ordered by id, and the links between them.

use thiserror::Error;

use crate::form::{Pairs, last_value};
use crate::percent::encode;

/// Default number of items on a page.
const DEFAULT_LIMIT: i64 = 100;
/// Maximum number of items on a page.
const MAX_LIMIT: i64 = 200;

/// The parameters that a link to the next or previous page repeats.
const REPEATED_PARAMETERS: &str = "limit username display_name by_domain email ip origin status \
    permissions role_ids role_ids[] invited_by";

/// A request for a page of a list, whose items are ordered by descending id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The ids of the items are lower than this.
    pub below: Option<i64>,
    /// The ids of the items are higher than this.
    pub above: Option<i64>,
    /// The end of the list that the page is taken from.
    pub start: PageStart,
    /// Maximum number of items.
    pub limit: i64,
}

/// The end of a list that a page is taken from, if the list has more items than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStart {
    Highest,
    /// The items with the lowest ids, for a client that pages towards newer items.
    Lowest,
}

/// The query strings of the pages before and after a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// The page with lower ids, if there may be one.
    pub next: Option<String>,
    /// The page with higher ids, unless this page is empty.
    pub previous: Option<String>,
}

/// The error for a parameter that is not a valid id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0} must be the id of an account")]
pub struct InvalidId(&'static str);

impl PageRequest {
    /// Parses `max_id`, `since_id`, `min_id` and `limit`. A malformed limit is replaced by the
    /// default, and one out of range by the nearest allowed value. A malformed id is an error.
    pub fn parse(pairs: &Pairs) -> Result<Self, InvalidId> {
        let parse_id = |name| match last_value(pairs, name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| InvalidId(name)),
        };
        let below = parse_id("max_id")?;
        let since_id = parse_id("since_id")?;
        let min_id = parse_id("min_id")?;
        let start = if min_id.is_some() { PageStart::Lowest } else { PageStart::Highest };
        let limit = last_value(pairs, "limit").parse().unwrap_or(DEFAULT_LIMIT);
        Ok(Self { below, above: min_id.or(since_id), start, limit: limit.clamp(1, MAX_LIMIT) })
    }

    /// Returns the links of the requested page, given the request parameters and the ids of the
    /// page's items.
    pub fn links(&self, pairs: &Pairs, ids: &[i64]) -> Links {
        let page_query = |id_name: &str, id: &i64| {
            let is_repeated = |name: &str| {
                REPEATED_PARAMETERS
                    .split_ascii_whitespace()
                    .any(|repeated_name| repeated_name == name)
            };
            let repeated_parameters = pairs
                .iter()
                .filter(|(name, _)| is_repeated(name))
                .map(|(name, value)| (name.as_str(), value.clone()));
            let parameters = repeated_parameters
                .chain([(id_name, id.to_string())])
                .map(|(name, value)| format!("{}={}", encode(name), encode(&value)));
            parameters.collect::<Vec<_>>().join("&")
        };
        let is_full = i64::try_from(ids.len()).is_ok_and(|count| count >= self.limit);
        Links {
            next: ids.last().filter(|_| is_full).map(|last| page_query("max_id", last)),
            previous: ids.first().map(|first| page_query("min_id", first)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::parse;

    fn parse_pairs(query: &str) -> Pairs {
        parse(query.as_bytes()).unwrap()
    }

    #[test]
    fn page_parameters_are_parsed() {
        use PageStart::{Highest, Lowest};
        let page = |below, above, start, limit| Ok(PageRequest { below, above, start, limit });
        for (query, expected) in [
            ("", page(None, None, Highest, 100)),
            ("limit=1", page(None, None, Highest, 1)),
            ("limit=200", page(None, None, Highest, 200)),
            ("limit=201", page(None, None, Highest, 200)),
            ("limit=0", page(None, None, Highest, 1)),
            ("limit=-5", page(None, None, Highest, 1)),
            ("limit=x", page(None, None, Highest, 100)),
            ("max_id=7", page(Some(7), None, Highest, 100)),
            ("since_id=7&max_id=9", page(Some(9), Some(7), Highest, 100)),
            ("min_id=7&max_id=9", page(Some(9), Some(7), Lowest, 100)),
            ("min_id=7&since_id=5", page(None, Some(7), Lowest, 100)),
            ("max_id=&min_id=", page(None, None, Highest, 100)),
            ("max_id=x", Err(InvalidId("max_id"))),
            ("since_id=9223372036854775808", Err(InvalidId("since_id"))),
            ("min_id=1.5", Err(InvalidId("min_id"))),
        ] {
            assert_eq!(PageRequest::parse(&parse_pairs(query)), expected, "{query}");
        }
    }

    #[test]
    fn links_repeat_only_the_limit_and_the_filters() {
        let query = "limit=2&username=a%20b&role_ids[]=3&max_id=9&since_id=1&access_token=x&y=z";
        let request = parse_pairs(query);
        let page = PageRequest::parse(&request).unwrap();
        let repeated = "limit=2&username=a%20b&role_ids%5B%5D=3";
        let links = page.links(&request, &[8, 7]);
        assert_eq!(links.next, Some(format!("{repeated}&max_id=7")));
        assert_eq!(links.previous, Some(format!("{repeated}&min_id=8")));
        let last_page_links = page.links(&request, &[5]);
        assert_eq!(
            (last_page_links.next, last_page_links.previous),
            (None, Some(format!("{repeated}&min_id=5")))
        );
        assert_eq!(page.links(&request, &[]), Links { next: None, previous: None });
    }
}
