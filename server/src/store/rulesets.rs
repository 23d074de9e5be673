//! Rulesets: one versioned document for each scope of an account.

mod of_many;
mod reading;

use std::sync::{Arc, OnceLock};

use belfry_core::rules::{self, Document, RuleScope, User};
use bytes::Bytes;

pub use self::reading::{Reading, RulesetsRead};
use super::cache::{Change, Moment};
use super::engine::{Batch, Row, sql};
use super::{Store, StoreError};
use crate::random;

/// The documents of one account, by scope, and the answer that shows them all. Most accounts have
/// none; then there is nothing here, which all cores can have at once.
#[derive(Debug, Clone, Default)]
pub struct Rulesets(Option<Arc<Documents>>);

#[derive(Debug)]
struct Documents {
    all: Vec<Versioned>,
    answer: OnceLock<Bytes>,
}

/// The document of one scope.
#[derive(Debug, Clone)]
struct Versioned {
    document: Document,
    /// What a writer must name to replace it.
    version: i64,
    /// How many bytes it is stored in.
    bytes: usize,
}

/// The rules of an account as they were read, to be changed.
pub struct RulesRead {
    /// The rules.
    pub rulesets: Rulesets,
    account: i64,
    moment: Moment,
    remembered: bool,
}

impl RulesRead {
    /// Whether they come from memory, which may not have heard yet of another node's last write.
    #[must_use]
    pub fn is_remembered(&self) -> bool {
        self.remembered
    }
}

/// A changed document, to be saved.
#[derive(Debug, Clone)]
pub struct Draft {
    document: Document,
    text: String,
}

impl Versioned {
    fn read(mut row: Row) -> Result<Self, StoreError> {
        const UNREADABLE: StoreError = StoreError::Unreadable("ruleset");
        let scope = row.take::<String>()?.parse().map_err(|_| UNREADABLE)?;
        let version = row.take()?;
        let text = row.take::<String>()?;
        let document = Document::from_text(scope, &text).map_err(|_| UNREADABLE)?;
        Ok(Self { document, version, bytes: text.len() })
    }
}

impl Draft {
    /// A document as it will be stored.
    #[must_use]
    pub fn new(document: Document) -> Self {
        let text = if document.is_empty() { String::new() } else { document.to_text() };
        Self { document, text }
    }

    /// How many bytes it will take; none when nothing is left to store.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len()
    }
}

impl Rulesets {
    fn new(all: Vec<Versioned>) -> Self {
        let documents = Documents { all, answer: OnceLock::new() };
        Self((!documents.all.is_empty()).then(|| Arc::new(documents)))
    }

    fn all(&self) -> &[Versioned] {
        self.0.as_deref().map_or(&[], |documents| &documents.all)
    }

    /// The documents that the account has.
    pub fn documents(&self) -> impl Iterator<Item = &Document> + Clone {
        self.all().iter().map(|versioned| &versioned.document)
    }

    /// The document of a scope, if the account has one.
    #[must_use]
    pub fn of(&self, scope: &RuleScope) -> Option<&Document> {
        self.versioned(scope).map(|versioned| &versioned.document)
    }

    fn versioned(&self, scope: &RuleScope) -> Option<&Versioned> {
        self.all().iter().find(|versioned| versioned.document.scope() == scope)
    }

    /// How many rules the account has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents().map(Document::len).sum()
    }

    /// Whether the account has no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How many bytes all of it is stored in.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.all().iter().map(|versioned| versioned.bytes).sum()
    }

    /// How many bytes the document of a scope is stored in.
    #[must_use]
    pub fn bytes_of(&self, scope: &RuleScope) -> usize {
        self.versioned(scope).map_or(0, |versioned| versioned.bytes)
    }

    /// The whole answer for the owner of these rules, made once. That of an account without a
    /// document is not kept: it would take more memory than everything else that is known of it.
    #[must_use]
    pub fn answer(&self, owner: User<'_>) -> Bytes {
        let Some(documents) = &self.0 else { return rules::untouched(owner).into() };
        let make = || rules::answer(self.documents(), owner).into();
        documents.answer.get_or_init(make).clone()
    }

    /// About how many bytes it takes in memory, the answer included, which may come later: as
    /// types a document takes some four times its text, and built-in rules are shown too.
    pub(super) fn bytes_in_memory(&self) -> usize {
        let (types, builtin) = (4, 6 * 1024);
        let some = size_of::<Documents>() + builtin + (types + 1) * self.bytes();
        if self.is_empty() { 0 } else { some }
    }

    /// These rulesets with another document in the place of one.
    fn with(&self, draft: Draft, version: i64) -> Self {
        let others = |versioned: &&Versioned| versioned.document.scope() != draft.document.scope();
        let mut documents: Vec<_> = self.all().iter().filter(others).cloned().collect();
        if !draft.text.is_empty() {
            let Draft { document, text } = draft;
            documents.push(Versioned { document, version, bytes: text.len() });
        }
        Self::new(documents)
    }
}

impl Store {
    /// The rules of an account: no documents when it never changed any.
    pub async fn rulesets(&self, account: i64) -> Result<Rulesets, StoreError> {
        if let Some(known) = self.cache.rules(account) {
            return Ok(known);
        }
        let moment = self.cache.moment(&account);
        let select = sql(
            "select scope, version, document from rulesets where account_id = $1 order by scope",
            [account.into()],
        );
        let rows = self.engine.read(select).await?;
        let documents: Vec<_> = rows.into_iter().map(Versioned::read).collect::<Result<_, _>>()?;
        let rulesets = Rulesets::new(documents);
        self.cache.put_rules(account, rulesets.clone(), moment);
        Ok(rulesets)
    }

    /// The rules of an account, to be changed.
    pub async fn rules_to_change(&self, account: i64) -> Result<RulesRead, StoreError> {
        let moment = self.cache.moment(&account);
        let known = self.cache.rules(account);
        let remembered = known.is_some();
        let rulesets = match known {
            Some(known) => known,
            None => self.rulesets(account).await?,
        };
        Ok(RulesRead { rulesets, account, moment, remembered })
    }

    /// The same, from the database whatever is in memory.
    pub async fn rules_to_change_anew(&self, account: i64) -> Result<RulesRead, StoreError> {
        self.cache.forget(&[Change::Rules(account)]);
        let read = self.rules_to_change(account).await?;
        Ok(RulesRead { remembered: false, ..read })
    }

    /// Saves a document over the version that was read, or removes it when nothing is left in it.
    /// `false`, and nothing changed, when another writer came first: read again, and try again.
    pub async fn save_ruleset(&self, read: &RulesRead, draft: Draft) -> Result<bool, StoreError> {
        let scope = draft.document.scope();
        let version = read.rulesets.versioned(scope).map(|versioned| versioned.version);
        let [account_id, scope] = [read.account.into(), scope.to_string().into()];
        let statement = match (version, draft.text.as_str()) {
            (None, "") => return Ok(true),
            // The first version is random: a document that was removed and made again must not
            // be taken for the one that a slow writer read before.
            (None, text) => sql(
                "insert into rulesets (account_id, scope, version, document) \
                 values ($1, $2, $3, $4) on conflict do nothing returning version",
                [account_id, scope, first_version().into(), text.into()],
            ),
            (Some(version), "") => sql(
                "delete from rulesets \
                 where account_id = $1 and scope = $2 and version = $3 returning version",
                [account_id, scope, version.into()],
            ),
            (Some(version), text) => sql(
                "update rulesets set version = version + 1, document = $4 \
                 where account_id = $1 and scope = $2 and version = $3 returning version",
                [account_id, scope, version.into(), text.into()],
            ),
        };
        let batch = Batch::from(statement).changing(Change::Rules(read.account));
        let [saved] = self.write_rows(batch).await?;
        let Some(mut row) = saved.into_iter().next() else { return Ok(false) };
        let rulesets = read.rulesets.with(draft, row.take()?);
        // If anything was forgotten since these rules were read, beside what this very write made
        // stale, then somebody else has written too, and the next reader must ask the database.
        self.cache.put_rules(read.account, rulesets, read.moment.after_own_write());
        Ok(true)
    }
}

fn first_version() -> i64 {
    i64::from(u32::from_be_bytes(random::bytes())) << 24
}
