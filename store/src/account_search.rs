//! Accounts by filter, in pages.

use belfry_core::admin::{AccountFilter, Page, PageStart};
use belfry_core::oauth::account::Role;

use super::accounts::{Account, select};
use super::engine::{Statement, Value};
use super::{Store, StoreError};

/// The statement that finds accounts by a condition with an index. With another index than that of
/// the ids, `+id` has the same value as `id` but no index, and the accounts that are found are
/// sorted.
macro_rules! find {
    ($page:expr, by $id:literal, $condition:literal) => {
        match $page.start {
            PageStart::Highest => find_in_order!($id, $condition, " desc"),
            PageStart::Lowest => find_in_order!($id, $condition, ""),
        }
    };
}

macro_rules! find_in_order {
    ($id:literal, $condition:literal, $direction:literal) => {
        select!(concat!(
            "where ",
            $condition,
            " and (cast($3 as text) is null or role = cast($3 as text)) \
             and (cast($4 as bigint) = 0 or disabled_at is not null) and ",
            $id,
            " < $1 and ",
            $id,
            " > $2 order by ",
            $id,
            $direction,
            " limit $5"
        ))
    };
}

impl Store {
    /// A page of the accounts that match a filter. The time that it takes depends on the number of
    /// accounts with the beginning of the name or address, not on the number of all accounts.
    pub async fn find_accounts(
        &self,
        filter: &AccountFilter,
        page: &Page,
    ) -> Result<Vec<Account>, StoreError> {
        let mut found = self.read_all(statement(filter, page)).await?;
        if page.start == PageStart::Lowest {
            found.reverse();
        }
        Ok(found)
    }
}

fn statement(filter: &AccountFilter, page: &Page) -> Statement {
    let mut values = vec![
        page.below.unwrap_or(i64::MAX).into(),
        page.above.unwrap_or(i64::MIN).into(),
        filter.role.into(),
        i64::from(filter.only_disabled).into(),
        page.limit.into(),
    ];
    let sql = match (&filter.name, &filter.email) {
        (Some(name), Some(email)) => {
            values.extend(beginning(name));
            values.extend(beginning(email));
            find!(
                page,
                by "+id",
                "name >= $6 and name < $7 and (email >= $8 and email < $9 \
                 or unverified_email >= $8 and unverified_email < $9)"
            )
        }
        (Some(name), None) => {
            values.extend(beginning(name));
            find!(page, by "+id", "name >= $6 and name < $7")
        }
        (None, Some(email)) => {
            values.extend(beginning(email));
            find!(
                page,
                by "+id",
                "(email >= $6 and email < $7 \
                 or unverified_email >= $6 and unverified_email < $7)"
            )
        }
        (None, None) if filter.only_disabled => find!(page, by "id", "disabled_at is not null"),
        (None, None) if filter.role == Some(Role::Admin) => find!(page, by "id", "role = 'admin'"),
        (None, None) => find!(page, by "id", "true"),
    };
    Statement::new(sql, values)
}

/// The texts with this beginning are not less than the first text, and less than the second.
fn beginning(text: &str) -> [Value; 2] {
    [text.into(), format!("{text}{}", char::MAX).into()]
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter};

    use super::*;
    use crate::migrations::Migrations;

    /// The plan of a query on an empty database.
    fn plan(filter: &AccountFilter, start: PageStart) -> String {
        let connection = Connection::open_in_memory().unwrap();
        for migration in Migrations::default().0 {
            connection.execute_batch(migration.sqlite).unwrap();
        }
        let page = Page { below: Some(9), above: None, start, limit: 100 };
        let Statement { sql, values, .. } = statement(filter, &page);
        let mut explain = connection.prepare(&format!("explain query plan {sql}")).unwrap();
        let steps = explain.query_map(params_from_iter(values), |row| row.get::<_, String>(3));
        steps.unwrap().map(|step| step.unwrap()).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn every_list_of_accounts_has_an_index() {
        let all = AccountFilter::default();
        let text = |text: &str| Some(text.to_owned());
        for (filter, index) in [
            (all.clone(), "(id>? AND id<?)"),
            (AccountFilter { role: Some(Role::User), ..all.clone() }, "(id>? AND id<?)"),
            (AccountFilter { role: Some(Role::Admin), ..all.clone() }, "accounts_admins"),
            (AccountFilter { only_disabled: true, ..all.clone() }, "accounts_disabled"),
            (AccountFilter { name: text("a"), ..all.clone() }, "(name>? AND name<?)"),
            (AccountFilter { email: text("a"), ..all.clone() }, "(email>? AND email<?)"),
            (
                AccountFilter { email: text("a"), ..all.clone() },
                "(unverified_email>? AND unverified_email<?)",
            ),
            (AccountFilter { name: text("a"), email: text("b"), ..all }, "(name>? AND name<?)"),
        ] {
            for start in [PageStart::Highest, PageStart::Lowest] {
                let plan = plan(&filter, start);
                assert!(plan.contains(index) && !plan.contains("SCAN"), "{filter:?}: {plan}");
            }
        }
    }
}
