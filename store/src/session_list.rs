//! The sessions of one account: listing and ending them.

use belfry_core::audit::Events;
use belfry_core::secret::LookupKey;
use belfry_core::user_agent::UserAgent;
use jiff::Timestamp;

use super::engine::{from_row, sql};
use super::event_source::{event_source, events_of};
use super::{Change, Store, StoreError, UpdateOutcome};

/// A session of an account, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSession {
    /// The lookup key, which identifies it.
    pub lookup: LookupKey,
    /// When the account signed in.
    pub created_at: Timestamp,
    /// When the session was last used, to the minute.
    pub seen_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The browser in which the account signed in.
    pub browser: UserAgent,
}

from_row!(AccountSession, session_columns { lookup, created_at, seen_at, expires_at, browser });

impl Store {
    /// The sessions of an account that have not expired, `at_most` this many, the last used first.
    pub async fn sessions_of(
        &self,
        account: i64,
        now: Timestamp,
        at_most: i64,
    ) -> Result<Vec<AccountSession>, StoreError> {
        self.read_all(sql!(
            concat!(
                "select ",
                session_columns!(),
                " from sessions where account_id = $account and expires_at > $now \
                 order by seen_at desc, lookup limit $at_most"
            ),
            [account, now, at_most]
        ))
        .await
    }

    /// Ends a session of this account.
    pub async fn end_session(
        &self,
        events: &Events,
        account: i64,
        lookup: LookupKey,
    ) -> Result<UpdateOutcome, StoreError> {
        let event =
            events_of!(sessions, "lookup = $lookup and account_id = $account", [lookup, account]);
        let delete = sql!(
            "delete from sessions where lookup = $lookup and account_id = $account \
             returning lookup",
            [lookup, account]
        );
        let change = Change::new(events, [], event).and(delete);
        self.update(change).await
    }

    /// Ends the sessions of an account except one. Returns the number that had not expired.
    pub async fn end_other_sessions(
        &self,
        events: &Events,
        account: i64,
        kept: LookupKey,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let event = event_source!(
            "account_id, cast(null as bigint) as app_id, count(*) as number from sessions \
             where account_id = $account and lookup <> $kept and expires_at > $now \
             group by account_id",
            [account, kept, now]
        );
        let delete = sql!(
            "delete from sessions where account_id = $account and lookup <> $kept \
             returning expires_at",
            [account, kept]
        );
        let change = Change::new(events, [], event).and(delete);
        let [ended] = self.write_rows(change).await?;
        let expiries = ended.into_iter().map(|mut row| row.take::<Timestamp>());
        let expiries = expiries.collect::<Result<Vec<_>, _>>()?;
        Ok(expiries.into_iter().filter(|expiry| *expiry > now).count())
    }
}
