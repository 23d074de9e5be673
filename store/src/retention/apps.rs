//! Deletion of apps that no user authorised.
//!
//! Anyone can register apps and request tokens for them, so both are deleted some time after the
//! app's last use, and earlier if there are too many apps. Apps that a user has authorised, and
//! those of the operator and of the server itself, remain.

use belfry_core::secret::LookupKey;
use jiff::Timestamp;

use super::excess::delete_tokens;
use super::{BATCH, MAX_BATCHES, RetentionSettings, before};
use crate::deletion::INSERT_DELETED_APP;
use crate::engine::{Statement, from_row, sql};
use crate::invalidation::Invalidation;
use crate::last_use::last_use;
use crate::{Change, Store, StoreError};

/// An app that has not been used since the cutoff.
#[derive(Debug)]
struct Candidate {
    id: i64,
    last_use: Timestamp,
}

from_row!(Candidate, candidate_columns { id, last_use = last_use!() });

impl Store {
    /// Returns the cutoff: apps that no user authorised and that were last used before it are
    /// deleted, because of their age or their number.
    pub(super) async fn unused_apps_cutoff(
        &self,
        settings: &RetentionSettings,
        now: Timestamp,
    ) -> Result<Timestamp, StoreError> {
        let select = sql!(
            concat!(
                "select ",
                last_use!(),
                " from apps where used_at is null order by ",
                last_use!(),
                " desc limit 1 offset $max"
            ),
            [max = i64::from(settings.max_unauthorized_apps)]
        );
        let by_age = before(now, settings.unused_apps);
        // Apps that were last used in the same second stay, so the maximum may be exceeded a
        // little.
        let by_number: Option<Timestamp> = self.read_one(select).await?;
        Ok(by_number.map_or(by_age, |by_number| by_number.max(by_age)))
    }

    /// Deletes apps that no user authorised and that were last used before the cutoff, with their
    /// tokens. Returns the number of deleted rows by table.
    pub(super) async fn delete_unused_apps(
        &self,
        cutoff: Timestamp,
    ) -> Result<[(&'static str, usize); 2], StoreError> {
        let (mut apps, mut tokens) = (0, 0);
        for _ in 0..MAX_BATCHES {
            let select = sql!(
                concat!(
                    "select ",
                    candidate_columns!(),
                    " from apps where used_at is null and ",
                    last_use!(),
                    " < $cutoff order by ",
                    last_use!(),
                    ", id limit 100"
                ),
                [cutoff]
            );
            let candidates: Vec<Candidate> = self.read_all(select).await?;
            let Some(last) = candidates.last() else { break };
            let (mut change, mut statements) = (Change::unaudited([]), 0);
            for candidate in &candidates {
                let select = sql!(
                    "select lookup from tokens where app_id = $id and account_id is null \
                     limit 1000",
                    [id = candidate.id]
                );
                let lookups: Vec<LookupKey> = self.read_all(select).await?;
                tokens += lookups.len();
                statements += lookups.len();
                change = delete_tokens(change, &lookups);
                if statements >= BATCH {
                    self.write(std::mem::replace(&mut change, Change::unaudited([]))).await?;
                    statements = 0;
                }
            }
            let deleted = self.write(delete_apps(change, last, &candidates)).await?;
            // The deletion of apps is the only statement that returns rows.
            apps += deleted.iter().map(Vec::len).sum::<usize>();
        }
        Ok([("tokens", tokens), ("apps", apps)])
    }
}

/// Adds the deletion of the candidates up to the last one to a change, with their registrations in
/// the audit trail. Apps that were authorised or got a token since the candidates were read remain.
fn delete_apps<'a>(change: Change<'a>, last: &Candidate, candidates: &[Candidate]) -> Change<'a> {
    let change = change.and(sql!(
        concat!(
            "delete from apps where used_at is null and ",
            last_use!(),
            " <= $last_use and (",
            last_use!(),
            " < $last_use or id <= $last_id)",
            " and not exists (select 1 from tokens where app_id = apps.id) returning id"
        ),
        [last_use = last.last_use, last_id = last.id]
    ));
    candidates.iter().fold(change, |change, &Candidate { id, .. }| {
        let record_deletion = Statement::new(INSERT_DELETED_APP, vec![id.into()]);
        let delete_event = sql!(
            "delete from audit_events where kind = 'app_register' and app_id = $id and not exists \
             (select 1 from apps where id = $id)",
            [id]
        );
        change.and(record_deletion).and(delete_event).invalidating(Invalidation::App(id))
    })
}
