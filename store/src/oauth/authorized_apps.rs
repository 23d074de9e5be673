//! Apps authorized by an account, and revoking their access.

use belfry_core::audit::NewAuditEvents;
use belfry_core::oauth::client::Registrar;
use belfry_core::oauth::scope::Scopes;
use jiff::Timestamp;

use crate::cache::Invalidation;
use crate::engine::{Statement, from_row, read_rows, sql};
use crate::error::StoreError;
use crate::store::event_source::{EventSource, event_source};
use crate::store::{Change, Store};

/// An enabled app with an active grant from an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizedApp {
    pub app_id: i64,
    pub client_id: String,
    pub registered_by: Registrar,
    pub name: String,
    pub website: Option<String>,
    pub scopes: Scopes,
    /// The creation time of the oldest of these grants.
    pub since: Timestamp,
}

from_row!(AuthorizedApp: app_id, client_id, registered_by, name, website, scopes, since);

impl Store {
    /// Returns the enabled apps with an active grant from `account`, in order of id.
    pub async fn authorized_apps(
        &self,
        account: i64,
        now: Timestamp,
    ) -> Result<Vec<AuthorizedApp>, StoreError> {
        let select = sql!(
            r"
                select p.id, p.client_id, p.registered_by, p.name, p.website, grants.scopes,
                    min(grants.created_at)
                from grants
                join apps p on p.id = grants.app_id
                where grants.account_id = $account
                  and p.disabled_at is null
                  and {has_valid_token}
                group by p.id, grants.scopes
                order by p.id, grants.scopes
            ",
            [account, now]
        );
        let mut apps: Vec<AuthorizedApp> = Vec::new();
        for row in self.read_all::<AuthorizedApp>(select).await? {
            match apps.last_mut().filter(|last| last.app_id == row.app_id) {
                Some(last) => {
                    last.scopes.add_all(row.scopes);
                    last.since = last.since.min(row.since);
                }
                None => apps.push(row),
            }
        }
        Ok(apps)
    }

    /// Revokes the access of an app to an account, or that of all apps: deletes the grants and the
    /// unredeemed codes, and revokes the tokens. Returns the number of tokens that were valid until
    /// now.
    pub async fn revoke_access(
        &self,
        events: &NewAuditEvents,
        account: i64,
        app: impl Into<Option<i64>>,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let revocation = Revocation { app: app.into(), ..Revocation::all(account, now) };
        let lock = [lock_account_statement(account)];
        let change = Change::new(events, lock, revocation.event_source());
        let [_, _, _, revoked_rows] = self.write_rows(revocation.add_to(change)).await?;
        let expiries: Vec<Option<Timestamp>> = read_rows(revoked_rows)?;
        Ok(expiries.into_iter().filter(|expiry| expiry.is_none_or(|time| time > now)).count())
    }
}

/// Returns the statement that locks an account row until the end of the transaction, by an update
/// that changes nothing. Transactions that grant or revoke access begin with it, so they are
/// serialized.
pub(crate) fn lock_account_statement(id: i64) -> Statement {
    sql!("update accounts set password = password where id = $id", [id])
}

/// The access to an account that is revoked: of one grant, one app or all apps.
#[derive(Clone, Copy)]
pub(crate) struct Revocation<'a> {
    pub(crate) account: i64,
    pub(crate) app: Option<i64>,
    pub(crate) grant: Option<&'a str>,
    /// If given, nothing is revoked unless it is the account's current credential version.
    pub(crate) version: Option<i64>,
    pub(crate) now: Timestamp,
}

impl Revocation<'_> {
    /// Revokes the access of all apps.
    pub(crate) fn all(account: i64, now: Timestamp) -> Self {
        Self { account, app: None, grant: None, version: None, now }
    }

    /// Returns the event source: one event for each app, with the number of its valid tokens.
    pub(crate) fn event_source(self) -> EventSource {
        let Self { account, app, grant, version, now } = self;
        event_source!(
            each "app_id",
            r"
                account_id, app_id, count(*) as number
                from tokens
                where account_id = $account
                  and (cast($app as bigint) is null or app_id = $app)
                  and (cast($grant as text) is null or grant_id = $grant)
                  and {is_valid}
                  and {has_version}
                group by account_id, app_id
            ",
            [account, app, grant, version, now]
        )
    }

    /// Adds the statements to a change: delete the grants and the unredeemed codes, then revoke the
    /// tokens, returning their expiry.
    ///
    /// Codes are deleted before tokens are revoked: if a code is being redeemed concurrently, either
    /// the code is deleted or its token is revoked. Grants are locked before both, in the same order
    /// as by deletions and sweeps, to avoid deadlocks.
    pub(crate) fn add_to(self, change: Change<'_>) -> Change<'_> {
        let Self { account, app, grant, version, now } = self;
        change
            .and(sql!(
                r"
                    delete from grants
                    where account_id = $account
                      and (cast($app as bigint) is null or app_id = $app)
                      and (cast($grant as text) is null or id = $grant)
                      and {has_version}
                ",
                [account, app, grant, version]
            ))
            .and(sql!(
                r"
                    delete from codes
                    where expires_at > $now
                      and account_id = $account
                      and (cast($app as bigint) is null or app_id = $app)
                      and (cast($grant as text) is null or grant_id = $grant)
                      and used_at is null
                      and {has_version}
                ",
                [account, app, grant, now, version]
            ))
            .and(sql!(
                r"
                    update tokens
                    set revoked_at = $now
                    where account_id = $account
                      and (cast($app as bigint) is null or app_id = $app)
                      and (cast($grant as text) is null or grant_id = $grant)
                      and revoked_at is null
                      and {has_version}
                    returning expires_at
                ",
                [account, app, grant, now, version]
            ))
            .invalidating(Invalidation::Account(account))
    }
}
