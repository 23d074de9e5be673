//! Deleting accounts and apps with everything that belongs to them.

use jiff::Timestamp;

use super::accounts::account_event;
use super::audit::insert_event;
use super::engine::{Batch, Rows, sql};
use super::invalidation::Invalidation;
use super::{Store, StoreError};

/// The number of rows that were deleted with an account or app.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is a number of rows")]
pub struct DeletedRows {
    pub sessions: usize,
    pub codes: usize,
    pub tokens: usize,
    pub rulesets: usize,
    pub requests: usize,
}

impl Store {
    /// Deletes an account and everything that belongs to it; `None` if there is none with this id.
    /// Its name is reserved: a stranger who gets it would be taken for its owner.
    ///
    /// The account is deleted first. Its row serialises this with transactions that grant access.
    pub async fn delete_account(
        &self,
        id: i64,
        now: Timestamp,
    ) -> Result<Option<DeletedRows>, StoreError> {
        let batch = Batch::default()
            .and_events(&self.entries, &account_event(id))
            .and(sql(
                "insert into reserved_names (name, reserved_at) \
                 select name, cast($2 as bigint) from accounts where id = $1 \
                 on conflict do nothing",
                [id.into(), now.into()],
            ))
            .and(sql("delete from accounts where id = $1 returning id", [id.into()]))
            .and(sql("delete from sessions where account_id = $1 returning lookup", [id.into()]))
            .and(sql("delete from codes where account_id = $1 returning lookup", [id.into()]))
            .and(sql("delete from tokens where account_id = $1 returning lookup", [id.into()]))
            .and(sql("delete from rulesets where account_id = $1 returning scope", [id.into()]))
            .and(sql("delete from requests where account_id = $1 returning lookup", [id.into()]))
            .invalidating(Invalidation::Everything);
        let [_, account, rows @ ..]: [Rows; 7] = self.write_rows(batch).await?;
        let [sessions, codes, tokens, rulesets, requests] = rows.map(|rows| rows.len());
        let deleted = DeletedRows { sessions, codes, tokens, rulesets, requests };
        Ok((!account.is_empty()).then_some(deleted))
    }

    /// Deletes an app and everything that it was granted; `None` if there is none with this id.
    pub async fn delete_app(&self, id: i64) -> Result<Option<DeletedRows>, StoreError> {
        let event = sql(
            insert_event!(
                "cast(null as bigint) as account_id, id as app_id, 1 as number from apps \
                 where id = $9"
            ),
            [id.into()],
        );
        let batch = Batch::default()
            .and_events(&self.entries, &event)
            .and(sql("delete from apps where id = $1 returning id", [id.into()]))
            .and(sql("delete from codes where app_id = $1 returning lookup", [id.into()]))
            .and(sql("delete from tokens where app_id = $1 returning lookup", [id.into()]))
            .and(sql("delete from requests where app_id = $1 returning lookup", [id.into()]))
            .invalidating(Invalidation::Everything);
        let [app, rows @ ..]: [Rows; 4] = self.write_rows(batch).await?;
        let [codes, tokens, requests] = rows.map(|rows| rows.len());
        let deleted = DeletedRows { codes, tokens, requests, ..DeletedRows::default() };
        Ok((!app.is_empty()).then_some(deleted))
    }

    /// Makes the name of a deleted account available again.
    pub async fn release_name(&self, name: &str) -> Result<(), StoreError> {
        let delete = sql("delete from reserved_names where name = $1", [name.into()]);
        self.engine.write(delete.into()).await.map(drop)
    }
}
