//! Search for accounts by a filter, in pages.

use belfry_core::account::Role;
use belfry_core::admin::{AccountFilter, PageRequest, PageStart};

use crate::accounts::Account;
use crate::engine::{Statement, sql};
use crate::error::StoreError;
use crate::store::Store;

/// Builds the statement that finds accounts by an indexed condition. If the condition's index is not
/// ordered by id, `by "+id"` prevents the planner from choosing the primary key instead.
macro_rules! select_page {
    ($filter:ident, $page:ident, by $id:literal, $condition:literal $(, $name:ident)*) => {
        match $page.start {
            PageStart::Highest => {
                select_page_in_order!($filter, $page, $id, $condition, "desc" $(, $name)*)
            }
            PageStart::Lowest => {
                select_page_in_order!($filter, $page, $id, $condition, "" $(, $name)*)
            }
        }
    };
}

/// Builds the statement of `select_page!` for one sort direction.
macro_rules! select_page_in_order {
    (
        $filter:ident, $page:ident, $id:literal, $condition:literal, $direction:literal
        $(, $name:ident)*
    ) => {
        sql!(
            r"
                select {account_columns}
                from accounts
                where {condition}
                  and (cast($role as text) is null or role = cast($role as text))
                  and (cast($only_disabled as bigint) = 0 or disabled_at is not null)
                  and {id} < $below
                  and {id} > $above
                order by {id} {direction}
                limit $limit
            ",
            [
                below = $page.below.unwrap_or(i64::MAX),
                above = $page.above.unwrap_or(i64::MIN),
                role = $filter.role,
                only_disabled = i64::from($filter.only_disabled),
                limit = $page.limit
                $(, $name)*
            ],
            {condition = $condition, id = $id, direction = $direction}
        )
    };
}

impl Store {
    /// Returns a page of the accounts that match a filter, in descending order of id. A search by
    /// name or address takes time in proportion to the accounts that have the prefix, not to all
    /// accounts.
    pub async fn find_accounts(
        &self,
        filter: &AccountFilter,
        page: &PageRequest,
    ) -> Result<Vec<Account>, StoreError> {
        let mut accounts = self.read_all(page_statement(filter, page)).await?;
        if page.start == PageStart::Lowest {
            accounts.reverse();
        }
        Ok(accounts)
    }
}

fn page_statement(filter: &AccountFilter, page: &PageRequest) -> Statement {
    let email = filter.email.as_deref();
    let email_end = filter.email.as_deref().map(prefix_end);
    match (&filter.name, email) {
        (Some(name), _) => {
            let (name, name_end) = (name.as_str(), prefix_end(name));
            select_page!(
                filter,
                page,
                by "+id",
                "name >= $name and name < $name_end and (cast($email as text) is null \
                 or email >= $email and email < $email_end \
                 or unverified_email >= $email and unverified_email < $email_end)",
                name,
                name_end,
                email,
                email_end
            )
        }
        (None, Some(email)) => select_page!(
            filter,
            page,
            by "+id",
            "(email >= $email and email < $email_end \
             or unverified_email >= $email and unverified_email < $email_end)",
            email,
            email_end
        ),
        (None, None) if filter.only_disabled => {
            select_page!(filter, page, by "id", "disabled_at is not null")
        }
        (None, None) if filter.role == Some(Role::Admin) => {
            select_page!(filter, page, by "id", "role = 'admin'")
        }
        (None, None) => select_page!(filter, page, by "id", "true"),
    }
}

/// Returns the exclusive upper bound of the strings that begin with a prefix.
fn prefix_end(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter};

    use super::*;
    use crate::engine::migrations::MIGRATIONS;

    /// Returns the query plan for a filter on an empty database.
    fn query_plan(filter: &AccountFilter, start: PageStart) -> String {
        let connection = Connection::open_in_memory().unwrap();
        for migration in MIGRATIONS.0 {
            connection.execute_batch(migration.sqlite).unwrap();
        }
        let page = PageRequest { below: Some(9), above: None, start, limit: 100 };
        let Statement { sql, values, .. } = page_statement(filter, &page);
        let mut explain = connection.prepare(&format!("explain query plan {sql}")).unwrap();
        let steps = explain.query_map(params_from_iter(values), |row| row.get::<_, String>(3));
        steps.unwrap().map(|step| step.unwrap()).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn every_account_search_uses_an_index() {
        let any_account = AccountFilter::default();
        let prefix = |text: &str| Some(text.to_owned());
        for (filter, index) in [
            (any_account.clone(), "(id>? AND id<?)"),
            (AccountFilter { role: Some(Role::User), ..any_account.clone() }, "(id>? AND id<?)"),
            (AccountFilter { role: Some(Role::Admin), ..any_account.clone() }, "accounts_admins"),
            (AccountFilter { only_disabled: true, ..any_account.clone() }, "accounts_disabled"),
            (AccountFilter { name: prefix("a"), ..any_account.clone() }, "(name>? AND name<?)"),
            (AccountFilter { email: prefix("a"), ..any_account.clone() }, "(email>? AND email<?)"),
            (
                AccountFilter { email: prefix("a"), ..any_account.clone() },
                "(unverified_email>? AND unverified_email<?)",
            ),
            (
                AccountFilter { name: prefix("a"), email: prefix("b"), ..any_account },
                "(name>? AND name<?)",
            ),
        ] {
            for start in [PageStart::Highest, PageStart::Lowest] {
                let plan = query_plan(&filter, start);
                assert!(plan.contains(index) && !plan.contains("SCAN"), "{filter:?}: {plan}");
            }
        }
    }
}
