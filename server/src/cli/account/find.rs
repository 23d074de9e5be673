//! Finds the account that an argument selects by its name, id, e-mail address or user id.

use belfry_core::matrix;
use belfry_store::{Account, Store};
use jiff::Timestamp;

use crate::cli::{CliError, Context};
use crate::config::Config;

/// The possible meanings of an argument that selects an account. A number can be a name or an id.
#[derive(Debug, Default, PartialEq, Eq)]
struct AccountSelector<'a> {
    /// `alice`, `@alice` or `@alice:ring.example`
    name: Option<&'a str>,
    /// `116533210882443`, or `#116533210882443` as `belfry audit` shows a deleted account.
    id: Option<i64>,
    /// `alice@example.org`
    email: Option<&'a str>,
}

impl<'a> AccountSelector<'a> {
    /// Parses an argument. A user id must belong to this server.
    fn parse(argument: &'a str, config: &Config) -> Result<Self, CliError> {
        let base_url = config.base_url();
        let server_name = config.server_name_for(&base_url);
        let mut name = None;
        let mut id = None;
        let mut email = None;
        if let Some(user) = argument.strip_prefix('@') {
            let localpart = matrix::localpart(argument, server_name);
            if let (None, Some((_, other_server))) = (localpart, user.split_once(':')) {
                return Err(format!(
                    "{argument:?} is a user on {other_server:?}, but this server's name is \
                     {server_name:?}; check server_name and base_url"
                )
                .into());
            }
            name = localpart.or(Some(user));
        } else if let Some(number) = argument.strip_prefix('#').and_then(|id| id.parse().ok()) {
            id = Some(number);
        } else if argument.contains('@') {
            email = Some(argument);
        } else {
            name = Some(argument);
            id = argument.parse().ok();
        }
        Ok(Self { name, id, email })
    }

    /// Returns the account, if it exists. Rejects a number that is the name of one account and the
    /// id of another.
    async fn find(&self, store: &Store) -> Result<Option<Account>, CliError> {
        if let Some(email) = self.email {
            return Ok(store.account_by_email(email).await?);
        }
        let by_name = match self.name {
            Some(name) => store.account_by_name(name).await?,
            None => None,
        };
        let by_id = match self.id {
            Some(id) => store.account(id).await?,
            None => None,
        };
        match (by_name, by_id) {
            // Anyone can sign up with a name that is the id of another account.
            (Some(Account { id, name, .. }), Some(by_id)) if id != by_id.id => Err(format!(
                "{name} is the name of an account and the id of another, {}; write '@{name}' for \
                 the name, or '#{name}' for the id",
                by_id.name
            )
            .into()),
            (by_name, by_id) => Ok(by_name.or(by_id)),
        }
    }

    fn not_found_error(&self, argument: &str) -> CliError {
        match (self.name, self.id) {
            (Some(_), None) => {
                format!("there is no account {argument:?}; run `belfry account list`")
            }
            (None, Some(_)) => format!("there is no account with the id {argument:?}"),
            (Some(_), Some(_)) => format!(
                "there is no account with the name or the id {argument:?}; run `belfry account \
                 list`"
            ),
            // Several accounts can have the same unverified address.
            (None, None) => format!(
                "there is no account with the verified e-mail address {argument:?}; `belfry account \
                 list --email {argument}` also shows unverified ones"
            ),
        }
        .into()
    }
}

impl Context<'_> {
    /// Returns the account that an argument selects.
    pub(in crate::cli) async fn find_account(self, argument: &str) -> Result<Account, CliError> {
        let selector = AccountSelector::parse(argument, self.config)?;
        selector.find(self.store).await?.ok_or_else(|| selector.not_found_error(argument))
    }

    /// Returns the ids of all accounts that an argument selects: the existing one, and deleted ones
    /// that had the name. If there are none, an id is returned unchanged, because its account may
    /// have been deleted.
    pub(in crate::cli) async fn find_account_ids(
        self,
        argument: &str,
    ) -> Result<Vec<i64>, CliError> {
        let selector = AccountSelector::parse(argument, self.config)?;
        let deleted_accounts = self.store.deleted_accounts(Timestamp::UNIX_EPOCH).await?;
        let former_owners =
            deleted_accounts.iter().filter(|account| Some(&*account.name) == selector.name);
        let mut ids: Vec<i64> = former_owners.map(|account| account.id).collect();
        ids.extend(selector.find(self.store).await?.map(|account| account.id));
        if ids.is_empty() {
            ids.extend(selector.id);
        }
        if ids.is_empty() { Err(selector.not_found_error(argument)) } else { Ok(ids) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_selected_by_name_id_address_or_user_id() {
        let config = toml::from_str("server_name = 'ring.example'").unwrap();
        let by_name = |name| AccountSelector { name: Some(name), ..AccountSelector::default() };
        for (argument, selector) in [
            ("alice", by_name("alice")),
            ("", by_name("")),
            ("#alice", by_name("#alice")),
            ("42", AccountSelector { id: Some(42), ..by_name("42") }),
            ("#42", AccountSelector { id: Some(42), ..AccountSelector::default() }),
            ("99999999999999999999", by_name("99999999999999999999")),
            (
                "a@b.example",
                AccountSelector { email: Some("a@b.example"), ..AccountSelector::default() },
            ),
            ("@alice:ring.example", by_name("alice")),
            ("@alice", by_name("alice")),
        ] {
            assert_eq!(AccountSelector::parse(argument, &config).unwrap(), selector, "{argument}");
        }
        let error = AccountSelector::parse("@alice:other.example", &config).unwrap_err();
        let expected = "\"@alice:other.example\" is a user on \"other.example\", but this server's \
                        name is \"ring.example\"; check server_name and base_url";
        assert_eq!(error.to_string(), expected);
    }
}
