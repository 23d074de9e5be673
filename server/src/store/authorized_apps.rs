//! The apps that an account has let in, and how it shows them the door.

use belfry_core::oauth::scope::Scopes;
use jiff::Timestamp;

use super::accounts::lock_account;
use super::cache::Invalidation;
use super::engine::{Batch, Row, sql};
use super::{Store, StoreError};

/// An app that has a good token of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizedApp {
    /// The number of the app.
    pub app: i64,
    /// The public name that the app gives itself in requests.
    pub client_id: String,
    /// Its name, for people.
    pub name: String,
    /// Its home page.
    pub website: Option<String>,
    /// The scopes of all of its tokens together.
    pub scopes: Scopes,
    /// When the oldest of the tokens was issued.
    pub since: Timestamp,
}

impl AuthorizedApp {
    fn read(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            app: row.take()?,
            client_id: row.take()?,
            name: row.take()?,
            website: row.take()?,
            scopes: Scopes::parse_known(&row.take::<String>()?),
            since: row.take()?,
        })
    }
}

impl Store {
    /// The apps that have a token of this account which is good at this time, by their numbers.
    pub async fn authorized_apps(
        &self,
        account: i64,
        now: Timestamp,
    ) -> Result<Vec<AuthorizedApp>, StoreError> {
        let select = sql(
            "select p.id, p.client_id, p.name, p.website, t.scopes, min(t.created_at) \
             from tokens t join apps p on p.id = t.app_id \
             where t.account_id = $1 and t.revoked_at is null \
             and (t.expires_at is null or t.expires_at > $2) and p.disabled_at is null \
             group by p.id, p.client_id, p.name, p.website, t.scopes order by p.id, t.scopes",
            [account.into(), now.into()],
        );
        let mut all: Vec<AuthorizedApp> = Vec::new();
        for row in self.engine.read(select).await? {
            let next = AuthorizedApp::read(row)?;
            match all.last_mut().filter(|last| last.app == next.app) {
                Some(last) => {
                    last.scopes.extend(next.scopes.iter());
                    last.since = last.since.min(next.since);
                }
                None => all.push(next),
            }
        }
        Ok(all)
    }

    /// Ends what an account has granted an app: its tokens and its codes that are not yet spent.
    /// How many tokens were good until now; none when the account never let the app in.
    pub async fn revoke_access(
        &self,
        account: i64,
        app: i64,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        // To forget tokens takes a look at all that are in memory, so nobody causes it for nothing.
        let something = sql(
            "select 1 from tokens where account_id = $1 and app_id = $2 and revoked_at is null \
             union all select 1 from codes where expires_at > $3 and account_id = $1 \
             and app_id = $2 and used_at is null limit 1",
            [account.into(), app.into(), now.into()],
        );
        if self.engine.read(something).await?.is_empty() {
            return Ok(0);
        }
        let batch =
            revoke_access(Batch::default().and(lock_account(account)), account, Some(app), now);
        let [_, _, ended] = self.write_rows(batch).await?;
        let expiries = ended.into_iter().map(|mut row| row.take::<Option<Timestamp>>());
        let expiries = expiries.collect::<Result<Vec<_>, _>>()?;
        Ok(expiries.into_iter().filter(|end| end.is_none_or(|end| end > now)).count())
    }
}

/// A batch that also ends what an account has granted an app, or all of them: unspent codes, and
/// tokens, of which it returns when they would have ended.
///
/// Codes first: who is spending one at this moment has done so before they are looked for, and the
/// token is found, or comes too late.
pub(super) fn revoke_access(batch: Batch, account: i64, app: Option<i64>, now: Timestamp) -> Batch {
    let ends = [account.into(), app.into(), now.into()];
    batch
        .and(sql(
            "delete from codes where expires_at > $3 and account_id = $1 \
             and (cast($2 as bigint) is null or app_id = $2) and used_at is null",
            ends.clone(),
        ))
        .and(sql(
            "update tokens set revoked_at = $3 where account_id = $1 \
             and (cast($2 as bigint) is null or app_id = $2) and revoked_at is null \
             returning expires_at",
            ends,
        ))
        .invalidating(Invalidation::Access(account, app))
}
