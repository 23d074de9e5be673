//! `belfry account list`

use belfry_core::account::Role;
use belfry_store::{Account, AccountListFilter, EnabledState};
use clap::Args;

use super::show::{account_to_json, format_email, show_account};
use crate::cli::output::{ListOptions, one_of};
use crate::cli::{CliError, Context, or_dash};

#[derive(Args)]
pub(in crate::cli) struct List {
    /// Account to show in detail: its name, id, e-mail address or user id
    #[arg(value_name = "ACCOUNT", conflicts_with_all = ["state", "role", "name", "email", "after", "limit"])]
    account: Option<String>,
    /// Only active or disabled accounts
    #[arg(long, value_parser = one_of(&EnabledState::ALL, EnabledState::as_str))]
    state: Option<EnabledState>,
    /// Only accounts with this role
    #[arg(long, value_parser = one_of(Role::ALL, Role::as_str))]
    role: Option<Role>,
    /// Only accounts whose name begins with PREFIX
    #[arg(long, value_name = "PREFIX")]
    name: Option<String>,
    /// Only accounts whose e-mail address contains TEXT
    #[arg(long, value_name = "TEXT")]
    email: Option<String>,
    /// Only accounts after this one, in the order of the list
    #[arg(long, value_name = "NAME")]
    after: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

impl List {
    pub(super) async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        let Self { account, state, role, name: name_prefix, email, after, options } = self;
        if let Some(account) = account {
            return show_account(&account, options.json, context).await;
        }
        let filter = AccountListFilter { state, role, name_prefix, email };
        let after = after.unwrap_or_default();
        let read_page = async |last_account: Option<&Account>, limit| {
            let after = last_account.map_or(&*after, |account| &*account.name);
            context.store.accounts(&filter, after, limit).await
        };
        options.print(&HEADERS, read_page, to_columns, account_to_json).await
    }
}

const HEADERS: [&str; 7] = ["name", "id", "e-mail", "created", "state", "role", "deletion"];

fn to_columns(account: &Account) -> Vec<String> {
    vec![
        account.name.clone(),
        account.id.to_string(),
        format_email(account),
        account.created_at.to_string(),
        EnabledState::from_disabled_at(account.disabled_at).as_str().to_owned(),
        account.role.to_string(),
        or_dash(account.delete_at),
    ]
}
