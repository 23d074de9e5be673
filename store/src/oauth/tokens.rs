//! Access tokens.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use belfry_core::account::Role;
use belfry_core::audit::NewAuditEvents;
use belfry_core::matrix::Device;
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::token::{Token, TokenAccount};
use belfry_core::oauth::token_family::{FamilyToken, TokenFamily};
use belfry_core::secret::{HashedSecret, LookupKey, PresentedSecret, Sha256Digest};
use jiff::Timestamp;

use crate::cache::{Invalidation, PresentedToken, StoredToken};
use crate::engine::{FromRow, Grouping, Row, Statement, sql};
use crate::error::StoreError;
use crate::oauth::authorized_apps::lock_account_statement;
use crate::oauth::grants::NewGrant;
use crate::store::event_source::{EventSource, event_source_for};
use crate::store::new_rows::RowOwner;
use crate::store::{Change, Store, WriteOutcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    pub secret: HashedSecret,
    pub app_id: i64,
    /// The account for which it is issued; `None` for an app token.
    pub account_id: Option<i64>,
    pub scopes: Scopes,
    pub created_at: Timestamp,
    /// The expiry time, if it has one.
    pub expires_at: Option<Timestamp>,
    /// The device of a Matrix client to which it is issued.
    pub device: Option<Device>,
}

impl NewToken {
    /// Returns the grant that is inserted with this token, or updated if it exists.
    fn grant(&self) -> NewGrant<'_> {
        NewGrant {
            lookup_key: self.secret.lookup_key,
            app_id: self.app_id,
            scopes: &self.scopes,
            redirect_uri: None,
            device: self.device.as_ref(),
            created_at: self.created_at,
            pending_until: self.created_at,
        }
    }
}

/// The statement that finds a token with its app and its account. There is at most one. PostgreSQL
/// cannot infer that, so without `limit` it would read the whole accounts table until it has
/// statistics.
pub(crate) const SELECT_TOKEN: &str = r"
    select t.digest, t.app_id, a.id, a.name, a.role, a.disabled_at, t.scopes, t.created_at,
        t.expires_at, t.revoked_at, p.disabled_at, t.last_used_at, t.base, t.newest, t.is_used,
        t.issued_at
    from tokens t
    join apps p on p.id = t.app_id
    left join accounts a on a.id = t.account_id
    where t.lookup = $lookup
      and (t.account_id is null or a.id is not null)
    limit 1
";

impl FromRow for StoredToken {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let app_id = row.take()?;
        let id = row.take()?;
        let name = row.take()?;
        let (role, disabled_at): (Option<Role>, _) = (row.take()?, row.take()?);
        let granted_scopes: Scopes = row.take()?;
        let account = Option::zip(id, name).map(|(id, name)| {
            let role = role.unwrap_or_default();
            TokenAccount { id, name, role, disabled_at }
        });
        let token = Token {
            app_id,
            account,
            scopes: granted_scopes.effective_for_role(role),
            created_at: row.take()?,
            expires_at: row.take()?,
            revoked_at: row.take()?,
            app_disabled_at: row.take()?,
        };
        let last_used_at = row.take()?;
        let (base, newest, is_used): (Option<i64>, Option<i64>, Option<i64>) =
            (row.take()?, row.take()?, row.take()?);
        let issued_at: Option<Timestamp> = row.take()?;
        let family = match (base, newest, issued_at) {
            (Some(base), Some(newest), Some(issued_at)) => {
                let generation = |number| {
                    u32::try_from(number).map_err(|_| StoreError::Unreadable("generation"))
                };
                let (base, newest) = (generation(base)?, generation(newest)?);
                Some(TokenFamily { base, newest, is_used: is_used == Some(1), issued_at })
            }
            _ => None,
        };
        Ok(Self::new(token, last_used_at, family))
    }
}

impl Store {
    /// Issues a token and, if it is for an account, creates the grant unless it exists. Returns
    /// `NotFound` if the app or the account does not exist or is disabled.
    pub async fn add_token(
        &self,
        events: &NewAuditEvents,
        token: &NewToken,
    ) -> Result<WriteOutcome, StoreError> {
        let event_source = token_event_source(token.secret.lookup_key);
        let Some(account_id) = token.account_id else {
            return self
                .update(Change::new(events, insert_token_statement(token, None), event_source))
                .await;
        };
        let [mark_app_authorized, insert_grant] = token.grant().token_grant_statements();
        let statements = [
            lock_account_statement(account_id),
            insert_token_statement(token, None),
            mark_app_authorized,
            insert_grant,
        ];
        let [_, inserted_rows, _, _] =
            self.write_rows(Change::new(events, statements, event_source)).await?;
        self.new_rows.record(RowOwner::Access { account: account_id, app: token.app_id });
        Ok(WriteOutcome::from_rows(&inserted_rows))
    }

    /// Issues an app token, without an audit event: app tokens are counted instead. Returns
    /// `NotFound` if the app does not exist or is disabled.
    pub async fn add_app_token(&self, token: &NewToken) -> Result<WriteOutcome, StoreError> {
        let change = Change::unaudited(insert_token_statement(token, None));
        let outcome = self.update(change.with_grouping(Grouping::NewRows)).await?;
        if outcome == WriteOutcome::Written {
            self.uses.record_app(token.app_id, token.created_at);
            self.new_rows.record(RowOwner::App(token.app_id));
        }
        Ok(outcome)
    }

    /// Issues a token, creates the grant unless it exists, and records the sign-in, if the account
    /// still has the credential version that was verified, and the app and the account exist and
    /// are not disabled. Earlier tokens of the same device are revoked.
    pub async fn add_token_for_password(
        &self,
        events: &NewAuditEvents,
        token: &NewToken,
        credential_version: i64,
    ) -> Result<WriteOutcome, StoreError> {
        let Some(account_id) = token.account_id else {
            return Ok(WriteOutcome::NotFound);
        };
        let record_sign_in = sql!(
            r"
                update accounts
                set signed_in_at = $created_at
                where id = $account_id
                  and exists (select 1 from tokens where lookup = $lookup)
            ",
            [account_id, created_at = token.created_at, lookup = token.secret.lookup_key]
        );
        let [mark_app_authorized, insert_grant] = token.grant().token_grant_statements();
        let statements = [
            lock_account_statement(account_id),
            insert_token_statement(token, Some(credential_version)),
            mark_app_authorized,
            insert_grant,
            record_sign_in,
        ];
        let mut change =
            Change::new(events, statements, token_event_source(token.secret.lookup_key));
        if let Some(device) = &token.device {
            let revoke_earlier = revoke_device_statement(
                account_id,
                Some(token.app_id),
                device.id(),
                token.secret.lookup_key,
                token.created_at,
            );
            change = change.and(revoke_earlier).invalidating(Invalidation::Account(account_id));
        }
        let inserted_rows = self.write(change).await?.into_iter().nth(1).unwrap_or_default();
        self.new_rows.record(RowOwner::Access { account: account_id, app: token.app_id });
        Ok(WriteOutcome::from_rows(&inserted_rows))
    }

    /// Finds an access token, even if it is revoked or expired or its account is disabled. An
    /// unknown lookup key and a wrong secret take the same path: both read the database and find
    /// nothing.
    pub async fn token(
        &self,
        secret: impl Into<PresentedSecret>,
    ) -> Result<Option<PresentedToken>, StoreError> {
        let secret = secret.into();
        if let Some(token) = self.cached_token(secret) {
            return Ok(Some(token));
        }
        let lookup_key = secret.hashed.lookup_key;
        let epoch = self.cache.tokens.epoch(&lookup_key);
        let Some((digest, token)) = self.read_token(lookup_key).await? else { return Ok(None) };
        let accepted_token = self.accept_access(secret, digest, &token, u32::MAX);
        if accepted_token.is_some() {
            self.cache.tokens.insert(lookup_key, (digest, token), epoch);
        }
        Ok(accepted_token)
    }

    pub fn cached_token(&self, secret: impl Into<PresentedSecret>) -> Option<PresentedToken> {
        let secret = secret.into();
        let (digest, token) = self.cache.tokens.get(&secret.hashed.lookup_key)?;
        // A token that is newer than the cached row may have been issued by another node.
        let newest = token.family.as_ref().map_or(0, |family| family.state.newest);
        self.accept_access(secret, digest, &token, newest)
    }

    /// Reads the row of a token or a family, with its digest.
    pub(crate) async fn read_token(
        &self,
        lookup_key: LookupKey,
    ) -> Result<Option<(Sha256Digest, Arc<StoredToken>)>, StoreError> {
        let select = sql!(SELECT_TOKEN, [lookup = lookup_key]);
        let Some(mut row) = self.engine.read(select).await?.into_iter().next() else {
            return Ok(None);
        };
        Ok(Some((row.take()?, Arc::new(StoredToken::from_row(row)?))))
    }

    /// Returns the access token that was presented, if it is the one of this row, or one of its
    /// family, up to the generation `max_generation`.
    fn accept_access(
        &self,
        secret: PresentedSecret,
        digest: Sha256Digest,
        token: &Arc<StoredToken>,
        max_generation: u32,
    ) -> Option<PresentedToken> {
        let expires_at = match &token.family {
            None if digest == secret.hashed.digest => token.expires_at,
            None => return None,
            Some(family) => {
                let FamilyToken { generation, expires_at, .. } =
                    self.family_key.get()?.verify(secret)?;
                if generation > max_generation || expires_at.is_none() {
                    return None;
                }
                if generation == family.state.newest
                    && !family.is_use_recorded.swap(true, Ordering::Relaxed)
                {
                    self.uses.record_family(secret.hashed.lookup_key, generation);
                }
                expires_at
            }
        };
        Some(PresentedToken::new(Arc::clone(token), expires_at))
    }

    /// Records the use of a valid token. [`Store::flush_uses`] stores it, at most once an hour.
    pub fn record_use(&self, lookup_key: LookupKey, token: &StoredToken, now: Timestamp) {
        if token.last_use.is_outdated(now) {
            self.uses.record_token(lookup_key, token.app_id, &token.last_use, now);
        }
    }

    /// Revokes a token. If it is already revoked, it keeps the time of the first revocation.
    /// Returns `NotFound` if there is no such token.
    pub async fn revoke_token(
        &self,
        events: &NewAuditEvents,
        lookup_key: LookupKey,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        let event_source = event_source_for!(
            tokens,
            "lookup = $lookup and account_id is not null and revoked_at is null",
            [lookup = lookup_key]
        );
        let update = sql!(
            r"
                update tokens
                set revoked_at = coalesce(revoked_at, $now)
                where lookup = $lookup
                returning lookup
            ",
            [lookup = lookup_key, now]
        );
        let change = Change::new(events, [], event_source)
            .and(update)
            .invalidating(Invalidation::Token(lookup_key));
        self.update(change).await
    }
}

/// The statement that inserts a token of a grant, if its app exists and is not disabled, and
/// `$condition` holds.
macro_rules! insert_token_if {
    ($token:ident, $grant_id:expr, $condition:literal $(, $name:ident $(= $value:expr)?)*) => {
        sql!(
            r"
                insert into tokens (
                    lookup, digest, app_id, account_id, scopes, created_at, expires_at, grant_id
                )
                select
                    cast($lookup as text), cast($digest as text), cast($app_id as bigint),
                    cast($account_id as bigint), cast($scopes as text), cast($created_at as bigint),
                    cast($expires_at as bigint), {grant_id}
                where exists (select 1 from apps where id = $app_id and disabled_at is null)
                  and {condition}
            ",
            [
                lookup = $token.secret.lookup_key,
                digest = $token.secret.digest,
                app_id = $token.app_id,
                account_id = $token.account_id,
                scopes = &$token.scopes,
                created_at = $token.created_at,
                expires_at = $token.expires_at
                $(, $name $(= $value)?)*
            ],
            {grant_id = $grant_id, condition = $condition}
        )
    };
}

/// Returns the statement that inserts a token, if its app and account exist and are not disabled:
/// otherwise the token would become valid when they are enabled. If a credential version is given,
/// it must still be the account's.
///
/// Each case has a separate statement. PostgreSQL would plan a common statement for each execution,
/// because it estimates that a plan for known values saves more than planning costs. In fact,
/// planning takes longer than the insert.
fn insert_token_statement(token: &NewToken, credential_version: Option<i64>) -> Statement {
    let grant = token.grant();
    let insert = match (token.account_id, credential_version) {
        (None, None) => insert_token_if!(token, "null", "true"),
        (Some(_), None) => insert_token_if!(
            token,
            "{existing_or_new_grant_id}",
            r"
                exists (
                    select 1
                    from accounts
                    where id = $account_id
                      and disabled_at is null
                )
            ",
            granted_scopes = grant.sorted_scopes(),
            granted_uri = grant.redirect_uri(),
            device_id = grant.device_id()
        ),
        (_, Some(credential_version)) => insert_token_if!(
            token,
            "{existing_or_new_grant_id}",
            r"
                exists (
                    select 1
                    from accounts
                    where id = $account_id
                      and credential_version = $credential_version
                      and disabled_at is null
                )
            ",
            granted_scopes = grant.sorted_scopes(),
            granted_uri = grant.redirect_uri(),
            device_id = grant.device_id(),
            credential_version
        ),
    };
    insert.counting_changes()
}

/// Returns the statement that revokes the tokens of a device of an account, of one app or of all
/// apps, except a new one. It has an effect only if the new token was inserted.
pub(crate) fn revoke_device_statement(
    account_id: i64,
    app_id: Option<i64>,
    device_id: &str,
    new_token: LookupKey,
    now: Timestamp,
) -> Statement {
    sql!(
        r"
            update tokens
            set revoked_at = $now
            where account_id = $account_id
              and (cast($app_id as bigint) is null or app_id = $app_id)
              and revoked_at is null
              and lookup <> $lookup
              and grant_id in (
                  select id
                  from grants
                  where account_id = $account_id
                    and (cast($app_id as bigint) is null or app_id = $app_id)
                    and device_id = $device_id
              )
              and exists (select 1 from tokens where lookup = $lookup)
        ",
        [lookup = new_token, account_id, app_id, device_id, now]
    )
}

/// Returns a token's event source, which is empty if there is no token with this key, or if it is
/// an app token.
pub(crate) fn token_event_source(lookup_key: LookupKey) -> EventSource {
    event_source_for!(tokens, "lookup = $lookup and account_id is not null", [lookup = lookup_key])
}
