//! Deletion of tokens without a user, which an app can request in any number.

use belfry_core::secret::LookupKey;

use super::BATCH;
use crate::engine::sql;
use crate::invalidation::Invalidation;
use crate::last_use::last_use;
use crate::{Change, Store, StoreError};

impl Store {
    /// Deletes the least recently used tokens without a user of apps that have more than `max`, and
    /// returns their number. Only apps to which this node has issued such a token since the last
    /// call can have more.
    pub async fn delete_excess_app_tokens(&self, max: usize) -> Result<usize, StoreError> {
        let mut deleted = 0;
        let mut apps = self.uses.take_apps_with_new_tokens();
        while let Some(app_id) = apps.pop_first() {
            match self.delete_excess_tokens_of(app_id, max).await {
                Ok(rows) => deleted += rows,
                Err(error) => {
                    apps.insert(app_id);
                    self.uses.restore_apps_with_new_tokens(apps);
                    return Err(error);
                }
            }
        }
        Ok(deleted)
    }

    async fn delete_excess_tokens_of(&self, app_id: i64, max: usize) -> Result<usize, StoreError> {
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let mut deleted = 0;
        loop {
            let select = sql!(
                concat!(
                    "select lookup from tokens where app_id = $app_id and account_id is null \
                     order by ",
                    last_use!(),
                    " desc, lookup desc limit 10000 offset $max"
                ),
                [app_id, max]
            );
            let excess: Vec<LookupKey> = self.read_all(select).await?;
            if excess.is_empty() {
                return Ok(deleted);
            }
            for batch in excess.chunks(BATCH) {
                self.write(delete_tokens(Change::unaudited([]), batch)).await?;
            }
            deleted += excess.len();
        }
    }
}

/// Adds the deletion of tokens to a change.
pub(super) fn delete_tokens<'a>(change: Change<'a>, lookups: &[LookupKey]) -> Change<'a> {
    lookups.iter().fold(change, |change, &lookup| {
        change
            .and(sql!("delete from tokens where lookup = $lookup", [lookup]))
            .invalidating(Invalidation::Token(lookup))
    })
}
