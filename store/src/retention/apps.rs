//! Deletion of apps that no user authorized.
//!
//! Anyone can register apps and request tokens for them, so both are deleted some time after the
//! app's last use, and earlier if there are too many apps. Apps that a user has authorized, and
//! apps that the operator or the server added, are kept.

use belfry_core::secret::LookupKey;
use jiff::Timestamp;

use super::excess::add_token_deletions;
use super::{BATCH_ROWS, MAX_BATCHES, RetentionSettings, time_before};
use crate::accounts::deletion::INSERT_DELETED_APP;
use crate::cache::Invalidation;
use crate::engine::{Statement, sql};
use crate::error::StoreError;
use crate::store::{Change, Store};

impl Store {
    /// Returns the cutoff: apps that no user authorized and that were last used before it are
    /// deleted, because of their age or their number.
    pub(super) async fn unused_apps_cutoff(
        &self,
        settings: &RetentionSettings,
        now: Timestamp,
    ) -> Result<Timestamp, StoreError> {
        let select = sql!(
            r"
                select {last_use}
                from apps
                where used_at is null
                order by {last_use} desc
                limit 1 offset $max
            ",
            [max = i64::from(settings.max_unauthorized_apps)]
        );
        let cutoff_by_age = time_before(now, settings.unused_apps);
        // Apps that were last used in the same second are kept, so the maximum may be slightly
        // exceeded.
        let cutoff_by_number: Option<Timestamp> = self.read_one(select).await?;
        Ok(cutoff_by_number.map_or(cutoff_by_age, |cutoff| cutoff.max(cutoff_by_age)))
    }

    /// Deletes apps that no user authorized and that were last used before the cutoff, with their
    /// tokens. Returns the number of deleted rows by table.
    pub(super) async fn delete_unused_apps(
        &self,
        cutoff: Timestamp,
    ) -> Result<[(&'static str, usize); 2], StoreError> {
        let mut app_count = 0;
        let mut token_count = 0;
        for _ in 0..MAX_BATCHES {
            let select = sql!(
                r"
                    select id, {last_use}
                    from apps
                    where used_at is null
                      and {last_use} < $cutoff
                    order by {last_use}, id
                    limit 100
                ",
                [cutoff]
            );
            // The ids of the apps, and their last use.
            let unused_apps: Vec<(i64, Timestamp)> = self.read_all(select).await?;
            let Some(&last_app) = unused_apps.last() else { break };
            let mut change = Change::unaudited([]);
            let mut statement_count = 0;
            for (id, _) in &unused_apps {
                let select = sql!(
                    r"
                        select lookup
                        from tokens
                        where app_id = $id
                          and account_id is null
                        limit 1000
                    ",
                    [id = *id]
                );
                let lookup_keys: Vec<LookupKey> = self.read_all(select).await?;
                token_count += lookup_keys.len();
                statement_count += lookup_keys.len();
                change = add_token_deletions(change, &lookup_keys);
                if statement_count >= BATCH_ROWS {
                    self.write(std::mem::replace(&mut change, Change::unaudited([]))).await?;
                    statement_count = 0;
                }
            }
            let rows = self.write(add_app_deletions(change, last_app, &unused_apps)).await?;
            // The deletion of apps is the only statement that returns rows.
            app_count += rows.iter().map(Vec::len).sum::<usize>();
        }
        Ok([("tokens", token_count), ("apps", app_count)])
    }
}

/// Adds statements that delete the unused apps up to the last one, and the events of their
/// registration. Apps that were authorized or got a token since they were read remain.
fn add_app_deletions<'a>(
    change: Change<'a>,
    (last_id, last_use): (i64, Timestamp),
    unused_apps: &[(i64, Timestamp)],
) -> Change<'a> {
    let change = change.and(sql!(
        r"
            delete from apps
            where used_at is null
              and {last_use} <= $last_use
              and ({last_use} < $last_use or id <= $last_id)
              and not exists (select 1 from tokens where app_id = apps.id)
            returning id
        ",
        [last_use, last_id]
    ));
    unused_apps.iter().fold(change, |change, &(id, _)| {
        let record_deletion = Statement::new(INSERT_DELETED_APP, vec![id.into()]);
        let delete_event = sql!(
            r"
                delete from audit_events
                where kind = 'app_register'
                  and app_id = $id
                  and not exists (select 1 from apps where id = $id)
            ",
            [id]
        );
        change.and(record_deletion).and(delete_event).invalidating(Invalidation::App(id))
    })
}
