//! Deletion of rows whose account or app was deleted while they were being inserted.
//!
//! Every insert checks that its owner exists. On PostgreSQL a deletion may be committed between
//! this check and the commit of the insert, and does not see the new row. So a deletion records the
//! owner's id in `deleted_owners`, and a sweep deletes the owner's rows again when all transactions
//! of that time have ended.

use jiff::{SignedDuration, Timestamp};

use super::{MAX_BATCHES, saturating_add};
use crate::accounts::deletion::{DELETE_ACCOUNT_ROWS, DELETE_APP_ROWS};
use crate::cache::Invalidation;
use crate::engine::{Statement, sql};
use crate::error::StoreError;
use crate::store::{Change, Store};

/// Time from a sweep that finds a deleted owner to the deletion of its rows: longer than any
/// transaction.
const ORPHAN_DELAY: SignedDuration = SignedDuration::from_mins(10);

/// Maximum number of owners whose rows are deleted in one transaction. The statement contains it as
/// a literal.
const BATCH_OWNERS: usize = 100;

impl Store {
    /// Deletes the rows of deleted owners that a sweep found at least [`ORPHAN_DELAY`] ago, and
    /// returns the number of deleted rows by table.
    pub(super) async fn delete_orphans(
        &self,
        now: Timestamp,
    ) -> Result<Vec<(&'static str, usize)>, StoreError> {
        let mark_found =
            sql!("update deleted_owners set found_at = $now where found_at is null", [now]);
        self.write(Change::unaudited(mark_found)).await?;
        let mut deleted_counts = Vec::new();
        for _ in 0..MAX_BATCHES {
            let select = sql!(
                r"
                    select kind, id
                    from deleted_owners
                    where found_at <= $until
                    limit 100
                ",
                [until = saturating_add(now, -ORPHAN_DELAY)]
            );
            let owners: Vec<(String, i64)> = self.read_all(select).await?;
            let mut change = Change::unaudited([]);
            let mut tables = Vec::new();
            for (kind, id) in &owners {
                let (deletions, invalidation) = match kind.as_str() {
                    "account" => (&DELETE_ACCOUNT_ROWS[..], Invalidation::Account(*id)),
                    _ => (&DELETE_APP_ROWS[..], Invalidation::App(*id)),
                };
                for (table, delete) in deletions {
                    change = change.and(Statement::new(delete, vec![(*id).into()]));
                    tables.push(*table);
                }
                change = change.invalidating(invalidation);
            }
            for (kind, id) in &owners {
                change = change.and(sql!(
                    "delete from deleted_owners where kind = $kind and id = $id",
                    [kind = kind.as_str(), id = *id]
                ));
            }
            if !owners.is_empty() {
                let rows = self.write(change).await?;
                deleted_counts.extend(tables.into_iter().zip(rows.iter().map(Vec::len)));
            }
            if owners.len() < BATCH_OWNERS {
                break;
            }
        }
        Ok(deleted_counts)
    }
}
