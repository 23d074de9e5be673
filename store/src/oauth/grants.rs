//! Grants: records that an account granted some scopes to an app.
//!
//! A grant is created with a code, or with a token that is issued without one, in the transaction
//! that inserts the code or token and locks the account. It is identified by the account, the app,
//! the scopes, the redirect URI unless it is `https`, and the device. It is active while it has a
//! valid token, so no write is needed when a token expires. Its row is deleted when the access is
//! revoked, or by the sweep that deletes its last code or token.

use belfry_core::matrix::Device;
use belfry_core::oauth::grant::Grant;
use belfry_core::oauth::scope::Scopes;
use belfry_core::secret::LookupKey;
use jiff::Timestamp;

use crate::engine::{FromRow, Row, Statement, sql};
use crate::error::StoreError;
use crate::store::Store;

/// The grant of a code or token that is being inserted.
pub(crate) struct NewGrant<'a> {
    pub(crate) lookup_key: LookupKey,
    pub(crate) app_id: i64,
    pub(crate) scopes: &'a Scopes,
    /// The redirect URI, if it is part of the grant's identity.
    pub(crate) redirect_uri: Option<&'a str>,
    pub(crate) device: Option<&'a Device>,
    pub(crate) created_at: Timestamp,
    /// Until this time, the sweep keeps the grant even without a token: the expiry time of the
    /// code, or the creation time of a token that is issued without one.
    pub(crate) pending_until: Timestamp,
}

/// Two statements that follow the insertion of a code or token, and have an effect only if it was
/// inserted: the first sets [`StoredApp::retained_at`](crate::cache::StoredApp::retained_at), so that
/// retention never deletes the app, and the second inserts the grant.
///
/// An existing grant is updated, so that a concurrent sweep does not delete it. If it is no longer
/// active, it gets the new creation time and device name. The app is locked before the grant, as in
/// [`Store::delete_app`], to avoid a deadlock.
macro_rules! retain_app_and_insert_grant {
    ($grant:ident, $table:literal) => {
        [
            sql!(
                r"
                    update apps
                    set used_at = $now
                    where id = $app_id
                      and used_at is null
                      and exists (select 1 from {table} where lookup = $lookup)
                ",
                [app_id = $grant.app_id, lookup = $grant.lookup_key, now = $grant.created_at],
                { table = $table }
            ),
            sql!(
                r"
                    insert into grants (
                        account_id, app_id, id, scopes, redirect_uri, device_id, device_name,
                        created_at, pending_until
                    )
                    select
                        account_id, app_id, grant_id, cast($granted_scopes as text),
                        cast($granted_uri as text), cast($device_id as text),
                        cast($device_name as text), cast($now as bigint),
                        cast($pending_until as bigint)
                    from {table}
                    where lookup = $lookup
                    on conflict (account_id, app_id, id) do update
                    set created_at = case
                            when {has_other_valid_token} then grants.created_at
                            else excluded.created_at
                        end,
                        device_name = case
                            when {has_other_valid_token} then grants.device_name
                            else excluded.device_name
                        end,
                        pending_until = case
                            when grants.pending_until > excluded.pending_until
                            then grants.pending_until
                            else excluded.pending_until
                        end
                ",
                [
                    lookup = $grant.lookup_key,
                    granted_scopes = $grant.sorted_scopes(),
                    granted_uri = $grant.redirect_uri(),
                    device_id = $grant.device_id(),
                    device_name = $grant.device.and_then(Device::name),
                    now = $grant.created_at,
                    pending_until = $grant.pending_until
                ],
                { table = $table }
            ),
        ]
    };
}

impl NewGrant<'_> {
    /// Returns the scopes in the form that is part of the grant's identity: sorted, because their
    /// order does not matter.
    pub(crate) fn sorted_scopes(&self) -> String {
        let stored_scopes = self.scopes.to_stored();
        let mut scopes: Vec<&str> = stored_scopes.split(' ').collect();
        scopes.sort_unstable();
        scopes.join(" ")
    }

    /// Returns the redirect URI that is part of the grant's identity; empty if none is.
    pub(crate) fn redirect_uri(&self) -> &str {
        self.redirect_uri.unwrap_or_default()
    }

    /// Returns the device id that is part of the grant's identity; empty without a device.
    pub(crate) fn device_id(&self) -> &str {
        self.device.map(Device::id).unwrap_or_default()
    }

    /// Returns the statements that retain the app and insert the grant, after the code was
    /// inserted.
    pub(crate) fn code_grant_statements(&self) -> [Statement; 2] {
        retain_app_and_insert_grant!(self, "codes")
    }

    /// Returns the statements that retain the app and insert the grant, after the token was
    /// inserted.
    pub(crate) fn token_grant_statements(&self) -> [Statement; 2] {
        retain_app_and_insert_grant!(self, "tokens")
    }
}

impl FromRow for Grant {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let (scopes, redirect_uri) = (row.take()?, row.take::<String>()?);
        Ok(Self { scopes, redirect_uri: Some(redirect_uri).filter(|uri| !uri.is_empty()) })
    }
}

impl Store {
    pub async fn active_grants(
        &self,
        account_id: i64,
        app_id: i64,
        now: Timestamp,
    ) -> Result<Vec<Grant>, StoreError> {
        let select = sql!(
            r"
                select scopes, redirect_uri
                from grants
                where account_id = $account_id
                  and app_id = $app_id
                  and {has_valid_token}
            ",
            [account_id, app_id, now]
        );
        self.read_all(select).await
    }

    /// Returns the id of the device to which a token was issued, if any.
    pub async fn token_device_id(
        &self,
        lookup_key: LookupKey,
    ) -> Result<Option<String>, StoreError> {
        let select = sql!(
            r"
                select g.device_id
                from tokens t
                join grants g on g.account_id = t.account_id
                  and g.app_id = t.app_id
                  and g.id = t.grant_id
                where t.lookup = $lookup
                  and g.device_id <> ''
            ",
            [lookup = lookup_key]
        );
        self.read_one(select).await
    }
}
