//! The access that users have granted to apps.

use belfry_core::oauth::grant::ActiveGrant;
use jiff::Timestamp;

use super::codes::binding_from_json;
use super::engine::{FromRow, Row, sql};
use super::{Store, StoreError};

impl FromRow for ActiveGrant {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let scopes = row.take()?;
        let binding = row.take::<Option<String>>()?.and_then(|text| binding_from_json(&text));
        Ok(Self { scopes, redirect_uri: binding.map(|binding| binding.redirect_uri) })
    }
}

impl Store {
    /// The grants of an account to an app, from its valid tokens.
    pub async fn active_grants(
        &self,
        account_id: i64,
        app_id: i64,
        now: Timestamp,
    ) -> Result<Vec<ActiveGrant>, StoreError> {
        let select = sql!(
            "select distinct scopes, binding from tokens where account_id = $account_id \
             and app_id = $app_id and revoked_at is null and (expires_at is null \
             or expires_at > $now)",
            [account_id, app_id, now]
        );
        self.read_all(select).await
    }
}
