//! Account administration with the parameters of Mastodon's admin API: list filters, pagination
//! and actions.

use thiserror::Error;

use crate::account::Role;
use crate::form::{Pairs, last_value};
use crate::percent::encode;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// An admin's action on an account. Mastodon's other actions, such as `silence`, are not
    /// supported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum AccountAction {
        /// Only records the admin's comment.
        Note = "none",
        Disable = "disable",
    }
}

/// Returns the id of the corresponding Mastodon role: `owner` for admins, and `everyone`
/// for other users.
pub const fn role_id(role: Role) -> i64 {
    match role {
        Role::Admin => 3,
        Role::User => -99,
    }
}

/// Maximum length of an admin's comment in the audit trail, in characters.
const MAX_COMMENT_LENGTH: usize = 500;

/// Returns the detail of an audit event: the admin, and the comment unless it is blank. Control
/// characters become spaces, and a long comment is truncated.
pub fn audit_detail(admin: &str, comment: &str) -> String {
    let comment: String = comment
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_COMMENT_LENGTH)
        .collect();
    if comment.is_empty() { format!("by {admin}") } else { format!("by {admin}: {comment}") }
}

/// The criteria that an account must meet to be listed.
///
/// Some filters of Mastodon's API select accounts that do not exist here, such as those of other
/// servers. For these, [`AccountFilter::parse`] returns `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountFilter {
    /// The beginning of the name, in lower case.
    pub name: Option<String>,
    /// The beginning of the e-mail address, verified or not, in lower case.
    pub email: Option<String>,
    /// The role that listed accounts have; any role if absent.
    pub role: Option<Role>,
    /// True if enabled accounts are omitted.
    pub only_disabled: bool,
}

/// The reason a filter is invalid. The messages are Mastodon's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FilterError {
    #[error("Unknown origin: {0}")]
    Origin(String),
    #[error("Unknown status: {0}")]
    Status(String),
}

/// Mastodon's account states that no account has here.
const UNUSED_STATES: [&str; 4] = ["pending", "silenced", "suspended", "sensitized"];

impl AccountFilter {
    /// Parses the parameters of version 2 of the list; `None` if no account can match.
    pub fn parse(pairs: &Pairs) -> Result<Option<Self>, FilterError> {
        let is_local = match last_value(pairs, "origin") {
            "" | "local" => true,
            "remote" => false,
            unknown => return Err(FilterError::Origin(unknown.to_owned())),
        };
        let only_disabled = match last_value(pairs, "status") {
            // In Mastodon, a disabled account is active as well: it is not suspended.
            "" | "active" => Some(false),
            "disabled" => Some(true),
            state if UNUSED_STATES.contains(&state) => None,
            unknown => return Err(FilterError::Status(unknown.to_owned())),
        };
        let has_inviter = !last_value(pairs, "invited_by").is_empty();
        let (Some(only_disabled), true, false) = (only_disabled, is_local, has_inviter) else {
            return Ok(None);
        };
        let role = match *selected_roles(pairs) {
            [] => return Ok(None),
            [role] => Some(role),
            _ => None,
        };
        Ok(Self::from_prefixes(pairs).map(|filter| Self { role, only_disabled, ..filter }))
    }

    /// Parses the filters of the name and the e-mail address.
    fn from_prefixes(pairs: &Pairs) -> Option<Self> {
        let prefix = |name| {
            let prefix = last_value(pairs, name).trim().to_lowercase();
            Some(prefix).filter(|prefix| !prefix.is_empty())
        };
        // Local accounts have no domain in Mastodon, and no IP address is stored with an account.
        if prefix("by_domain").or(prefix("ip")).is_some() {
            return None;
        }
        // An account's display name is its name, so the longer prefix implies the shorter one.
        let name = match (prefix("username"), prefix("display_name")) {
            (Some(username), Some(display_name)) if username.starts_with(&display_name) => {
                Some(username)
            }
            (Some(username), Some(display_name)) if display_name.starts_with(&username) => {
                Some(display_name)
            }
            (Some(_), Some(_)) => return None,
            (username, display_name) => username.or(display_name),
        };
        Some(Self { name, email: prefix("email"), ..Self::default() })
    }
}

/// Returns the roles that `permissions=staff` or `role_ids[]` select; all roles if neither is
/// given.
fn selected_roles(pairs: &Pairs) -> Vec<Role> {
    if last_value(pairs, "permissions") == "staff" {
        return vec![Role::Admin];
    }
    let ids: Vec<&str> = pairs
        .iter()
        .filter(|(name, _)| matches!(&**name, "role_ids" | "role_ids[]"))
        .map(|(_, id)| id.trim())
        .collect();
    let is_selected = |role: &Role| ids.iter().any(|id| id.parse() == Ok(role_id(*role)));
    Role::ALL.iter().copied().filter(|role| ids.is_empty() || is_selected(role)).collect()
}

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
mod tests;
