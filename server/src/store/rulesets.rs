//! Rulesets: one versioned document for each scope of an account.

use std::sync::Arc;

use super::cache::Change;
use super::engine::{Batch, Row, sql};
use super::{Store, StoreError};
use crate::random;

/// The documents of one account, by scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rulesets(pub Vec<Document>);

/// The document of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// `global` or `device/<profile_tag>`.
    pub scope: String,
    /// What a writer must name to replace it.
    pub version: i64,
    /// The rules, as JSON.
    pub document: String,
}

impl Document {
    fn read(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self { scope: row.take()?, version: row.take()?, document: row.take()? })
    }
}

impl Rulesets {
    /// The document of a scope, if the account has one.
    #[must_use]
    pub fn of(&self, scope: &str) -> Option<&Document> {
        self.0.iter().find(|document| document.scope == scope)
    }
}

impl Store {
    /// The rules of an account: no documents when it never changed any.
    pub async fn rulesets(&self, account: i64) -> Result<Arc<Rulesets>, StoreError> {
        if let Some(known) = self.cache.rules(account) {
            return Ok(known);
        }
        let moment = self.cache.moment(&account);
        let select = sql(
            "select scope, version, document from rulesets where account_id = $1 order by scope",
            [account.into()],
        );
        let rows = self.engine.read(select).await?;
        let documents = rows.into_iter().map(Document::read).collect::<Result<_, _>>()?;
        let rulesets = Arc::new(Rulesets(documents));
        self.cache.put_rules(account, Arc::clone(&rulesets), &moment);
        Ok(rulesets)
    }

    /// Saves the document of a scope over the version that was read (`None`: there was no
    /// document), or removes it (`None` as document). `false`, and nothing changed, when another
    /// writer came first: read again, and try again.
    pub async fn save_ruleset(
        &self,
        account: i64,
        scope: &str,
        read: Option<i64>,
        document: Option<&str>,
    ) -> Result<bool, StoreError> {
        let [account_id, scope] = [account.into(), scope.into()];
        let statement = match (read, document) {
            (None, None) => return Ok(true),
            // The first version is random: a document that was removed and made again must not
            // be taken for the one that a slow writer read before.
            (None, Some(document)) => sql(
                "insert into rulesets (account_id, scope, version, document) \
                 values ($1, $2, $3, $4) on conflict do nothing returning version",
                [account_id, scope, first_version().into(), document.into()],
            ),
            (Some(version), Some(document)) => sql(
                "update rulesets set version = version + 1, document = $4 \
                 where account_id = $1 and scope = $2 and version = $3 returning version",
                [account_id, scope, version.into(), document.into()],
            ),
            (Some(version), None) => sql(
                "delete from rulesets \
                 where account_id = $1 and scope = $2 and version = $3 returning version",
                [account_id, scope, version.into()],
            ),
        };
        let batch = Batch::from(statement).changing(Change::Rules(account));
        let [saved] = self.write_rows(batch).await?;
        Ok(!saved.is_empty())
    }
}

fn first_version() -> i64 {
    i64::from(u32::from_be_bytes(random::bytes())) << 24
}
