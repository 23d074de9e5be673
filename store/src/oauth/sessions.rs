//! Browser sessions of signed-in accounts.

use belfry_core::account::authentication::AuthenticationMethods;
use belfry_core::audit::NewAuditEvents;
use belfry_core::secret::{HashedSecret, LookupKey};
use belfry_core::user_agent::UserAgent;
use jiff::Timestamp;

use crate::engine::{from_row, read_rows, sql};
use crate::error::StoreError;
use crate::oauth::authorized_apps::lock_account_statement;
use crate::store::event_source::{event_source, event_source_for};
use crate::store::new_rows::RowOwner;
use crate::store::{Change, Store, WriteOutcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub account_id: i64,
    pub methods: AuthenticationMethods,
    /// Time when the person authenticated.
    pub authenticated_at: Timestamp,
    pub created_at: Timestamp,
    /// Time of the last use.
    pub seen_at: Timestamp,
    pub expires_at: Timestamp,
    /// The language chosen at sign-in.
    pub lang: Option<String>,
    pub browser: UserAgent,
    /// The network from which the account signed in, such as `192.0.2.x`, if addresses are
    /// recorded.
    pub address: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSummary {
    /// Number of sessions that have not expired.
    pub count: i64,
    /// Time of the last use of any of them.
    pub last_used_at: Option<Timestamp>,
}

from_row!(SessionSummary: count, last_used_at);

from_row!(
    Session: account_id, methods, authenticated_at, created_at, seen_at, expires_at, lang,
    browser, address
);

/// A session of an account, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSession {
    pub lookup_key: LookupKey,
    pub created_at: Timestamp,
    /// Time of the last use, to the minute.
    pub seen_at: Timestamp,
    pub expires_at: Timestamp,
    pub browser: UserAgent,
    /// The network from which the account signed in, such as `192.0.2.x`, if addresses are
    /// recorded.
    pub address: Option<String>,
}

from_row!(AccountSession: lookup_key, created_at, seen_at, expires_at, browser, address);

impl Store {
    /// Adds a session and records the sign-in, if the account still has the credential version that
    /// was verified, and is not disabled.
    pub async fn add_session(
        &self,
        events: &NewAuditEvents,
        secret: HashedSecret,
        session: &Session,
        credential_version: i64,
    ) -> Result<WriteOutcome, StoreError> {
        let insert = sql!(
            r"
                insert into sessions (lookup, digest, account_id, methods, authenticated_at,
                    created_at, seen_at, expires_at, lang, browser, address, credential_version)
                select cast($lookup as text), cast($digest as text), id,
                    cast($methods as text), cast($authenticated_at as bigint),
                    cast($created_at as bigint), cast($seen_at as bigint),
                    cast($expires_at as bigint), cast($lang as text), cast($browser as text),
                    cast($address as text), credential_version
                from accounts
                where id = $account_id
                  and credential_version = $credential_version
                  and disabled_at is null
                returning lookup
            ",
            [
                lookup = secret.lookup_key,
                digest = secret.digest,
                account_id = session.account_id,
                methods = session.methods.clone(),
                authenticated_at = session.authenticated_at,
                created_at = session.created_at,
                seen_at = session.seen_at,
                expires_at = session.expires_at,
                lang = session.lang.as_deref(),
                browser = session.browser,
                address = session.address.as_deref(),
                credential_version
            ]
        );
        let record_sign_in = sql!(
            r"
                update accounts
                set signed_in_at = $created_at
                where id = $account_id
                  and exists (select 1 from sessions where lookup = $lookup)
            ",
            [
                account_id = session.account_id,
                created_at = session.created_at,
                lookup = secret.lookup_key
            ]
        );
        let statements = [lock_account_statement(session.account_id), insert, record_sign_in];
        let event_source =
            event_source_for!(sessions, "lookup = $lookup", [lookup = secret.lookup_key]);
        let change = Change::new(events, statements, event_source);
        let [_, inserted_rows, _] = self.write_rows(change).await?;
        self.new_rows.record(RowOwner::Account(session.account_id));
        Ok(WriteOutcome::from_rows(&inserted_rows))
    }

    /// Finds a cookie's session, unless it has expired or the account has new credentials.
    pub async fn session(
        &self,
        secret: HashedSecret,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let select = sql!(
            r"
                select s.digest, s.account_id, s.methods, s.authenticated_at, s.created_at,
                    s.seen_at, s.expires_at, s.lang, s.browser, s.address
                from sessions s
                join accounts a on a.id = s.account_id
                  and a.credential_version = s.credential_version
                where s.lookup = $lookup
                  and s.expires_at > $now
            ",
            [lookup = secret.lookup_key, now]
        );
        self.read_secret(secret, select).await
    }

    /// Returns the number of an account's sessions and their last use.
    pub async fn session_summary(
        &self,
        account_id: i64,
        now: Timestamp,
    ) -> Result<SessionSummary, StoreError> {
        let select = sql!(
            r"
                select count(*), max(seen_at)
                from sessions
                where account_id = $account
                  and expires_at > $now
            ",
            [account = account_id, now]
        );
        self.read_one(select).await?.ok_or(StoreError::Unreadable("count"))
    }

    /// Updates a session's last use and expiry.
    pub async fn record_session_use(
        &self,
        lookup_key: LookupKey,
        seen_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let update = sql!(
            r"
                update sessions
                set seen_at = $seen_at, expires_at = $expires_at
                where lookup = $lookup
            ",
            [lookup = lookup_key, seen_at, expires_at]
        );
        self.write(Change::unaudited(update)).await.map(drop)
    }

    /// Returns an account's sessions that have not expired, at most `limit` of them, the most
    /// recently used first.
    pub async fn account_sessions(
        &self,
        account_id: i64,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<AccountSession>, StoreError> {
        self.read_all(sql!(
            r"
                select lookup, created_at, seen_at, expires_at, browser, address
                from sessions
                where account_id = $account
                  and expires_at > $now
                order by seen_at desc, lookup
                limit $limit
            ",
            [account = account_id, now, limit]
        ))
        .await
    }

    /// Ends one of the account's sessions. Returns `NotFound` if there is no such session.
    pub async fn end_session(
        &self,
        events: &NewAuditEvents,
        account_id: i64,
        lookup_key: LookupKey,
    ) -> Result<WriteOutcome, StoreError> {
        let event_source = event_source_for!(
            sessions,
            "lookup = $lookup and account_id = $account",
            [lookup = lookup_key, account = account_id]
        );
        let delete = sql!(
            r"
                delete from sessions
                where lookup = $lookup
                  and account_id = $account
                returning lookup
            ",
            [lookup = lookup_key, account = account_id]
        );
        let change = Change::new(events, [], event_source).and(delete);
        self.update(change).await
    }

    /// Ends all of an account's sessions except one. Returns the number of those that had not
    /// expired.
    pub async fn end_other_sessions(
        &self,
        events: &NewAuditEvents,
        account_id: i64,
        kept_session: LookupKey,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let event_source = event_source!(
            r"
                account_id, cast(null as bigint) as app_id, count(*) as number
                from sessions
                where account_id = $account
                  and lookup <> $kept_session
                  and expires_at > $now
                group by account_id
            ",
            [account = account_id, kept_session, now]
        );
        let delete = sql!(
            r"
                delete from sessions
                where account_id = $account
                  and lookup <> $kept_session
                returning expires_at
            ",
            [account = account_id, kept_session]
        );
        let change = Change::new(events, [], event_source).and(delete);
        let [deleted_rows] = self.write_rows(change).await?;
        let expiries: Vec<Timestamp> = read_rows(deleted_rows)?;
        Ok(expiries.into_iter().filter(|expiry| *expiry > now).count())
    }
}
