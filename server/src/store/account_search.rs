//! Accounts by filter, in pages.

use belfry_core::admin::{AccountFilter, Page, PageStart};
use belfry_core::oauth::account::Role;

use super::accounts::{Account, select};
use super::engine::{Statement, Value};
use super::{Store, StoreError};

/// The statement that finds accounts by an indexed condition and then by the other criteria. The
/// parameters of the condition begin with `$6`.
macro_rules! find {
    ($page:expr, $condition:literal) => {
        match $page.start {
            PageStart::Highest => find_in_order!($condition, "order by id desc limit $5"),
            PageStart::Lowest => find_in_order!($condition, "order by id limit $5"),
        }
    };
}

macro_rules! find_in_order {
    ($condition:literal, $order:literal) => {
        select!(concat!(
            "where ",
            $condition,
            " and id < $1 and id > $2 and (cast($3 as text) is null or role = cast($3 as text)) \
             and (cast($4 as bigint) = 0 or disabled_at is not null) ",
            $order
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
            values.extend([beginning(name), beginning(email)]);
            find!(
                page,
                "id in (select id from accounts where name like $6 escape '\\') \
                 and id in (select id from accounts where email like $7 escape '\\' \
                 union select id from accounts where unverified_email like $7 escape '\\')"
            )
        }
        (Some(name), None) => {
            values.push(beginning(name));
            find!(page, "id in (select id from accounts where name like $6 escape '\\')")
        }
        (None, Some(email)) => {
            values.push(beginning(email));
            find!(
                page,
                "id in (select id from accounts where email like $6 escape '\\' \
                 union select id from accounts where unverified_email like $6 escape '\\')"
            )
        }
        (None, None) if filter.only_disabled => find!(page, "disabled_at is not null"),
        (None, None) if filter.role == Some(Role::Admin) => find!(page, "role = 'admin'"),
        (None, None) => find!(page, "true"),
    };
    Statement { sql, values }
}

/// The pattern of texts with this beginning.
fn beginning(text: &str) -> Value {
    let mut pattern = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern.into()
}
