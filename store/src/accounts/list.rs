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
    ($condition:literal, $values:tt) => {
        sql!(
            select!(concat!(
                "where ",
                $condition,
                " and name > $after and (cast($state as text) is null or case \
                 when disabled_at is null then 'active' else 'disabled' end = $state) \
                 and (cast($role as text) is null or role = $role) \
                 and (cast($prefix as text) is null or substr(name, 1, length(cast($prefix as \
                 text))) = $prefix) and (cast($email as text) is null \
                 or replace(email, $email, '') <> email or replace(unverified_email, $email, '') \
                 <> unverified_email) order by name limit $limit"
            )),
            $values
        )
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
        let (state, role, prefix) = (filter.state, filter.role, filter.name_prefix.as_deref());
        // The few disabled accounts and admins are not searched among all accounts.
        let page = match (state, role) {
            (_, Some(Role::Admin)) => page!(
                "id in (select id from accounts where role = 'admin')",
                [after, limit, state, role, prefix, email]
            ),
            (Some(State::Disabled), _) => {
                page!("disabled_at is not null", [after, limit, state, role, prefix, email])
            }
            _ => page!("true", [after, limit, state, role, prefix, email]),
        };
        self.read_all(page).await
    }
}
