//! Bulk import of accounts and their push rules.

use belfry_core::audit::NewAuditEvents;
use belfry_core::import::ImportedAccount;
use belfry_runtime::random;
use jiff::Timestamp;

use crate::accounts::{
    Account, AddAccountError, NO_PASSWORD, insert_account_statement, insert_outcome,
    new_account_event_source, select_conflicts_statement,
};
use crate::engine::{Rows, Statement, sql};
use crate::error::StoreError;
use crate::rules::{SerializedDocument, first_version};
use crate::store::{Change, Store};

/// An account to add, and its push rules.
struct AccountImport {
    index: usize,
    account: Account,
    rulesets: Vec<SerializedDocument>,
}

impl AccountImport {
    /// Creates an import of an account. Its id is assigned for each attempt.
    fn new(index: usize, imported: ImportedAccount, now: Timestamp) -> Self {
        let rulesets = imported.rulesets.into_iter().map(SerializedDocument::new).collect();
        let account = Account {
            id: 0,
            name: imported.name,
            email: imported.email,
            unverified_email: None,
            password_hash: imported.password_hash.unwrap_or_else(|| NO_PASSWORD.to_owned()),
            role: imported.role,
            created_at: imported.created_at,
            signed_in_at: None,
            disabled_at: imported.is_disabled.then_some(now),
            delete_at: None,
            credential_version: 0,
        };
        Self { index, account, rulesets }
    }
}

impl Store {
    /// Adds accounts with their rules, and returns the outcome of each. The ids are new, in the
    /// order of the list. All accounts are added in one transaction, except those whose new id is
    /// already taken: these are retried with other ids.
    pub async fn import_accounts(
        &self,
        events: &NewAuditEvents,
        now: Timestamp,
        accounts: Vec<ImportedAccount>,
    ) -> Result<Vec<Result<(), AddAccountError>>, StoreError> {
        let mut imports: Vec<AccountImport> = accounts
            .into_iter()
            .enumerate()
            .map(|(index, account)| AccountImport::new(index, account, now))
            .collect();
        let mut outcomes: Vec<_> =
            imports.iter().map(|_| Err(AddAccountError::from(StoreError::NoFreeId))).collect();
        for first_id in random::id_candidates(now) {
            for (id, import) in (first_id..).zip(&mut imports) {
                import.account.id = id;
            }
            let attempt_outcomes = self.try_import(events, &imports).await?;
            for (import, outcome) in std::mem::take(&mut imports).into_iter().zip(attempt_outcomes)
            {
                match outcome {
                    Err(AddAccountError::IdTaken) => imports.push(import),
                    outcome => outcomes[import.index] = outcome,
                }
            }
            if imports.is_empty() {
                break;
            }
        }
        Ok(outcomes)
    }

    /// Adds accounts under their current ids, with their rules, in one transaction.
    async fn try_import(
        &self,
        events: &NewAuditEvents,
        imports: &[AccountImport],
    ) -> Result<Vec<Result<(), AddAccountError>>, StoreError> {
        let accounts = || imports.iter().map(|import| &import.account);
        let Some((first_import, other_imports)) = imports.split_first() else {
            return Ok(Vec::new());
        };
        let mut statements: Vec<Statement> = accounts().map(insert_account_statement).collect();
        statements.extend(accounts().map(select_conflicts_statement));
        statements.extend(imports.iter().flat_map(insert_ruleset_statements));
        let mut change =
            Change::new(events, statements, new_account_event_source(&first_import.account));
        for import in other_imports {
            change = change.and_events(events, new_account_event_source(&import.account));
        }
        let mut statement_rows = self.write(change).await?.into_iter();
        let inserted_rows: Vec<Rows> = statement_rows.by_ref().take(imports.len()).collect();
        let account_rows = accounts().zip(inserted_rows).zip(statement_rows);
        Ok(account_rows
            .map(|((account, inserted), conflicts)| insert_outcome(account, &inserted, conflicts))
            .collect())
    }
}

/// Returns the statements that insert an account's rulesets if the account was added.
fn insert_ruleset_statements(import: &AccountImport) -> impl Iterator<Item = Statement> {
    import.rulesets.iter().map(|ruleset| {
        sql!(
            r"
                insert into rulesets (account_id, scope, version, document, expires_at)
                select id, cast($scope as text), cast($first_version as bigint),
                    cast($text as text), cast($expires_at as bigint)
                from accounts
                where id = $id
                  and name = $name
            ",
            [
                id = import.account.id,
                name = import.account.name.as_str(),
                scope = ruleset.scope().to_string(),
                first_version = first_version(),
                text = ruleset.text(),
                expires_at = ruleset.expires_at()
            ]
        )
    })
}
