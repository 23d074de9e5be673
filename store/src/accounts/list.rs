//! Lists of accounts.

use belfry_core::oauth::account::Role;

use super::Account;
use crate::engine::sql;
use crate::{State, Store, StoreError};

/// Which accounts are listed.
#[derive(Debug, Clone, Default)]
pub struct AccountListFilter {
    /// Only active or disabled ones.
    pub state: Option<State>,
    /// Only those with this role.
    pub role: Option<Role>,
    /// Only those whose name begins with this text.
    pub name_prefix: Option<String>,
    /// Only those whose e-mail address contains this text, in upper or lower case.
    pub email: Option<String>,
}

/// The statement of a page of the accounts that meet a condition for which there is an index.
macro_rules! page {
    ($condition:literal) => {
        select!(concat!(
            "where ",
            $condition,
            " and name > $1 \
             and (cast($3 as text) is null \
             or case when disabled_at is null then 'active' else 'disabled' end = $3) \
             and (cast($4 as text) is null or role = $4) \
             and (cast($5 as text) is null or substr(name, 1, length(cast($5 as text))) = $5) \
             and (cast($6 as text) is null or replace(email, $6, '') <> email \
             or replace(unverified_email, $6, '') <> unverified_email) \
             order by name limit $2"
        ))
    };
}

impl Store {
    /// A page of accounts with names after `after`, in order of name.
    pub async fn accounts(
        &self,
        filter: &AccountListFilter,
        after: &str,
        limit: i64,
    ) -> Result<Vec<Account>, StoreError> {
        let email = filter.email.as_ref().filter(|email| !email.is_empty());
        // Addresses are stored in lower case.
        let email = email.map(|email| email.to_lowercase());
        // The few disabled accounts and admins are not searched among all accounts.
        let page = match (filter.state, filter.role) {
            (_, Some(Role::Admin)) => page!("id in (select id from accounts where role = 'admin')"),
            (Some(State::Disabled), _) => page!("disabled_at is not null"),
            _ => page!("true"),
        };
        let values = [
            after.into(),
            limit.into(),
            filter.state.into(),
            filter.role.into(),
            filter.name_prefix.as_deref().into(),
            email.into(),
        ];
        self.read_all(sql(page, values)).await
    }
}
