//! Finding the account that an argument names: by its name, id, e-mail address or user id.

use belfry_core::matrix;
use belfry_store::{Account, Store};
use jiff::Timestamp;

use crate::cli::CliError;
use crate::config::Config;

/// What an argument that names an account can be.
#[derive(Debug, PartialEq, Eq)]
enum Selector<'a> {
    /// `alice`
    Name(&'a str),
    /// `116533210882443`, which can be a name too.
    NameOrId(&'a str, i64),
    /// `#116533210882443`, as `belfry audit` shows an account that was deleted.
    Id(i64),
    /// `alice@example.org`
    Email(&'a str),
    /// `@alice:ring.example`, without the server.
    UserId(&'a str),
}

impl<'a> Selector<'a> {
    /// Parses an argument. A user id must be one of this server.
    fn parse(text: &'a str, server_name: &str) -> Result<Self, CliError> {
        if let Some(user) = text.strip_prefix('@') {
            return match (matrix::localpart(text, server_name), user.split_once(':')) {
                (Some(name), _) => Ok(Self::UserId(name)),
                (None, Some((_, other))) => Err(format!(
                    "{text:?} is a user of the server {other:?}, and the server name of this \
                     configuration is {server_name:?}"
                )
                .into()),
                (None, None) => Ok(Self::UserId(user)),
            };
        }
        if let Some(id) = text.strip_prefix('#').and_then(|id| id.parse().ok()) {
            return Ok(Self::Id(id));
        }
        Ok(match text.parse() {
            Ok(id) => Self::NameOrId(text, id),
            Err(_) if text.contains('@') => Self::Email(text),
            Err(_) => Self::Name(text),
        })
    }
}

/// Finds the account that an argument names.
pub(in crate::cli) async fn find(
    store: &Store,
    config: &Config,
    text: &str,
) -> Result<Account, CliError> {
    let base_url = config.base_url();
    let selector = Selector::parse(text, config.server_name_for(&base_url))?;
    lookup(store, &selector).await?.ok_or_else(|| not_found(&selector, text))
}

/// The id of the account that an argument names, or of one that was deleted: of several with the
/// same name, the last one.
pub(in crate::cli) async fn find_id(
    store: &Store,
    config: &Config,
    text: &str,
) -> Result<i64, CliError> {
    let base_url = config.base_url();
    let selector = Selector::parse(text, config.server_name_for(&base_url))?;
    if let Some(account) = lookup(store, &selector).await? {
        return Ok(account.id);
    }
    let (name, id) = match selector {
        Selector::Name(name) | Selector::UserId(name) => (Some(name), None),
        Selector::NameOrId(name, id) => (Some(name), Some(id)),
        Selector::Id(id) => (None, Some(id)),
        Selector::Email(_) => (None, None),
    };
    let deleted = store.deleted_accounts(Timestamp::UNIX_EPOCH).await?;
    let last = deleted.iter().rev().find(|account| Some(&*account.name) == name);
    last.map(|account| account.id).or(id).ok_or_else(|| not_found(&selector, text))
}

async fn lookup(store: &Store, selector: &Selector<'_>) -> Result<Option<Account>, CliError> {
    Ok(match *selector {
        Selector::Name(name) | Selector::UserId(name) => store.account_by_name(name).await?,
        Selector::Id(id) => store.account(id).await?,
        Selector::Email(email) => store.account_by_email(email).await?,
        Selector::NameOrId(name, id) => {
            match (store.account_by_name(name).await?, store.account(id).await?) {
                // Anybody can sign up with a name that is the id of another account.
                (Some(by_name), Some(by_id)) if by_name.id != by_id.id => {
                    return Err(format!(
                        "{name} is the name of an account and the id of another, {}; write \
                         '@{name}' for the name, or '#{id}' for the id",
                        by_id.name
                    )
                    .into());
                }
                (by_name, by_id) => by_name.or(by_id),
            }
        }
    })
}

fn not_found(selector: &Selector<'_>, text: &str) -> CliError {
    match selector {
        Selector::Name(_) | Selector::UserId(_) => {
            format!("there is no account {text:?}; see belfry account list")
        }
        Selector::Id(_) => format!("there is no account with the id {text:?}"),
        Selector::NameOrId(..) => {
            format!("there is no account with the name or the id {text:?}; see belfry account list")
        }
        // Of unverified addresses, several accounts can have the same one.
        Selector::Email(_) => format!(
            "there is no account with the verified e-mail address {text:?}; belfry account list \
             --email {text} shows unverified ones too"
        ),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_named_by_name_id_address_or_user_id() {
        for (text, selector) in [
            ("alice", Selector::Name("alice")),
            ("", Selector::Name("")),
            ("#alice", Selector::Name("#alice")),
            ("42", Selector::NameOrId("42", 42)),
            ("#42", Selector::Id(42)),
            ("99999999999999999999", Selector::Name("99999999999999999999")),
            ("a@b.example", Selector::Email("a@b.example")),
            ("@alice:ring.example", Selector::UserId("alice")),
            ("@alice", Selector::UserId("alice")),
        ] {
            assert_eq!(Selector::parse(text, "ring.example").unwrap(), selector, "{text}");
        }
        let error = Selector::parse("@alice:other.example", "ring.example").unwrap_err();
        let expected = "\"@alice:other.example\" is a user of the server \"other.example\", and \
                        the server name of this configuration is \"ring.example\"";
        assert_eq!(error.to_string(), expected);
    }
}
