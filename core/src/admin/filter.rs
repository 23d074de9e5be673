//! The filter for an account list.

use thiserror::Error;

use super::role_id;
use crate::account::Role;
use crate::form::{Pairs, last_value};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form;

    fn parse_filter(query: &str) -> Result<Option<AccountFilter>, FilterError> {
        AccountFilter::parse(&form::parse(query.as_bytes()).unwrap())
    }

    fn match_all() -> AccountFilter {
        AccountFilter::default()
    }

    #[test]
    fn parameters_select_accounts() {
        let role = |role| Ok(Some(AccountFilter { role: Some(role), ..match_all() }));
        for (query, expected) in [
            ("", Ok(Some(match_all()))),
            ("origin=local&status=active&permissions=", Ok(Some(match_all()))),
            ("status=disabled", Ok(Some(AccountFilter { only_disabled: true, ..match_all() }))),
            ("permissions=staff", role(Role::Admin)),
            ("permissions=staff&role_ids[]=-99", role(Role::Admin)),
            ("role_ids[]=3", role(Role::Admin)),
            ("role_ids=3", role(Role::Admin)),
            ("role_ids[]=-99", role(Role::User)),
            ("role_ids[]=-99&role_ids[]=3", Ok(Some(match_all()))),
            ("role_ids[]=-99&role_ids[]=7", role(Role::User)),
            ("role_ids[]=7", Ok(None)),
            ("role_ids[]=x", Ok(None)),
            ("origin=remote", Ok(None)),
            ("status=pending", Ok(None)),
            ("status=silenced", Ok(None)),
            ("status=suspended", Ok(None)),
            ("status=sensitized", Ok(None)),
            ("invited_by=7", Ok(None)),
            ("origin=moon", Err(FilterError::Origin("moon".to_owned()))),
            ("status=Active", Err(FilterError::Status("Active".to_owned()))),
            ("origin=remote&status=x", Err(FilterError::Status("x".to_owned()))),
        ] {
            assert_eq!(parse_filter(query), expected, "{query}");
        }
    }

    #[test]
    fn name_and_email_prefixes_are_trimmed_and_lower_cased() {
        let name = |name: &str| Some(AccountFilter { name: Some(name.to_owned()), ..match_all() });
        let email = AccountFilter { email: Some("al@ex".to_owned()), ..match_all() };
        for (query, expected) in [
            ("username=%20Al%20", name("al")),
            ("display_name=Al", name("al")),
            ("username=ali&display_name=al", name("ali")),
            ("username=al&display_name=ali", name("ali")),
            ("username=al&display_name=bo", None),
            ("email=Al@Ex", Some(email)),
            ("username=&display_name=%20&email=&ip=&by_domain=", Some(match_all())),
            ("ip=192.0.2.1", None),
            ("by_domain=ring.example", None),
        ] {
            assert_eq!(parse_filter(query), Ok(expected), "{query}");
        }
    }
}
