//! Token families: reading and advancing them.

use std::sync::Arc;

use belfry_core::oauth::token_family::{FamilyToken, TokenFamily};
use belfry_core::secret::{LookupKey, PresentedSecret, SplitToken};

use crate::cache::{Invalidation, StoredToken};
use crate::engine::sql;
use crate::error::StoreError;
use crate::store::{Change, Store, WriteOutcome};

/// The two tokens of a generation.
#[derive(Debug)]
pub struct TokenPair {
    pub access: SplitToken,
    pub refresh: SplitToken,
}

/// A presented token of a family, and the family's row.
#[derive(Debug)]
pub struct PresentedFamily {
    pub token: FamilyToken,
    pub row: Arc<StoredToken>,
    pub state: TokenFamily,
}

impl Store {
    /// Returns whether token families can be issued: whether their key is set.
    pub fn has_family_key(&self) -> bool {
        self.family_key.get().is_some()
    }

    /// Returns whether there are families, which depend on the key.
    pub async fn has_families(&self) -> Result<bool, StoreError> {
        let select = sql!("select 1 from tokens where newest is not null limit 1", []);
        Ok(self.read_one::<i64>(select).await?.is_some())
    }

    /// Computes the newest tokens of a family; `None` without the key of families.
    pub fn token_pair(&self, lookup_key: LookupKey, family: TokenFamily) -> Option<TokenPair> {
        let key = self.family_key.get()?;
        let token = |expires_at| {
            key.token(FamilyToken { lookup_key, generation: family.newest, expires_at })
        };
        Some(TokenPair { access: token(Some(family.access_expires_at())), refresh: token(None) })
    }

    /// Finds the family of an access or refresh token, whatever its generation, without the cache.
    pub async fn family(
        &self,
        secret: PresentedSecret,
    ) -> Result<Option<PresentedFamily>, StoreError> {
        let Some(token) = self.family_key.get().and_then(|key| key.verify(secret)) else {
            return Ok(None);
        };
        let row = self.read_token(token.lookup_key).await?;
        Ok(row.and_then(|(_, row)| {
            let state = row.family.as_ref()?.state;
            Some(PresentedFamily { token, row, state })
        }))
    }

    /// Replaces the state of a family, if it still has the one that was read and is not revoked,
    /// and its app and account are not disabled.
    pub async fn advance_family(
        &self,
        lookup_key: LookupKey,
        read: TokenFamily,
        next: TokenFamily,
    ) -> Result<WriteOutcome, StoreError> {
        let update = sql!(
            r"
                update tokens
                set base = $base, newest = $newest, is_used = 0, issued_at = $now,
                    expires_at = $ends_at, last_used_at = $now
                where lookup = $lookup
                  and base = $read_base
                  and newest = $read_newest
                  and is_used = $read_used
                  and revoked_at is null
                  and exists (
                      select 1
                      from accounts a
                      where a.id = tokens.account_id
                        and a.disabled_at is null
                  )
                  and exists (
                      select 1
                      from apps p
                      where p.id = tokens.app_id
                        and p.disabled_at is null
                  )
                returning lookup
            ",
            [
                lookup = lookup_key,
                base = i64::from(next.base),
                newest = i64::from(next.newest),
                now = next.issued_at,
                ends_at = next.ends_at(),
                read_base = i64::from(read.base),
                read_newest = i64::from(read.newest),
                read_used = i64::from(read.is_used)
            ]
        );
        self.update(Change::unaudited(update).invalidating(Invalidation::Token(lookup_key))).await
    }
}
