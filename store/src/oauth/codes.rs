//! Authorization codes, each redeemed at most once.

use belfry_core::account::authentication::AuthenticationMethods;
use belfry_core::audit::NewAuditEvents;
use belfry_core::matrix::Device;
use belfry_core::oauth::grant::{Binding, CodeGrant};
use belfry_core::oauth::token_family::TokenFamily;
use belfry_core::secret::{HashedSecret, LookupKey, Sha256Digest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cache::Invalidation;
use crate::engine::{FromRow, Grouping, Row, sql};
use crate::error::StoreError;
use crate::oauth::authorized_apps::lock_account_statement;
use crate::oauth::grants::NewGrant;
use crate::oauth::tokens::{revoke_device_statement, token_event_source};
use crate::store::event_source::event_source_for;
use crate::store::new_rows::RowOwner;
use crate::store::{Change, Store, WriteOutcome, to_json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCode {
    pub grant: CodeGrant,
    pub methods: AuthenticationMethods,
    /// Time when the user authenticated.
    pub authenticated_at: Timestamp,
    pub token: Option<LookupKey>,
}

/// A user's consent to a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consent {
    pub session: LookupKey,
    pub at: Timestamp,
    /// True if the consent is implied, because the app already has access; otherwise the user
    /// consented on the page.
    pub is_implied: bool,
}

/// The reason why a code was not redeemed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedeemError {
    /// The code was redeemed before, for this token.
    #[error("the code was already redeemed")]
    AlreadyRedeemed(LookupKey),
    /// The code is unknown or expired, or its app or account is disabled or deleted.
    #[error("the code is unknown or expired, or its app or account is disabled")]
    NotRedeemable,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The result of a redemption.
#[derive(Clone, Copy)]
enum Redemption<'a> {
    Token,
    Family,
    /// The family of a device of an account, whose earlier tokens are revoked.
    DeviceFamily {
        account: i64,
        device_id: &'a str,
    },
}

impl Redemption<'_> {
    /// Returns the first generation, if it is a family.
    fn generation(self) -> Option<i64> {
        (!matches!(self, Self::Token)).then_some(0)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BindingJson {
    version: u32,
    redirect_uri: String,
    code_challenge: Option<String>,
}

impl From<&Binding> for BindingJson {
    fn from(binding: &Binding) -> Self {
        let code_challenge = binding.challenge.map(Sha256Digest::to_text);
        Self { version: 1, redirect_uri: binding.redirect_uri.clone(), code_challenge }
    }
}

/// Parses the stored form of a binding; `None` if it is unreadable.
pub(crate) fn binding_from_json(text: &str) -> Option<Binding> {
    let json: BindingJson = serde_json::from_str(text).ok()?;
    let challenge = match json.code_challenge {
        Some(text) => Some(Sha256Digest::from_text(&text)?),
        None => None,
    };
    (json.version == 1).then_some(Binding { redirect_uri: json.redirect_uri, challenge })
}

/// The statement that finds a code, redeemed or not.
const SELECT_CODE: &str = r"
    select digest, app_id, account_id, scopes, binding, expires_at, methods, authenticated_at, token
    from codes
    where lookup = $lookup
";

impl FromRow for StoredCode {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            grant: CodeGrant {
                app_id: row.take()?,
                account_id: row.take()?,
                scopes: row.take()?,
                binding: binding_from_json(&row.take::<String>()?)
                    .ok_or(StoreError::Unreadable("code binding"))?,
                expires_at: row.take()?,
            },
            methods: row.take()?,
            authenticated_at: row.take()?,
            token: row.take()?,
        })
    }
}

impl Store {
    /// Issues a code, and creates the grant unless it exists. Returns `NotFound` if the session has
    /// ended, if the app no longer has the access that implied consent, or if the app or the account
    /// was disabled or deleted.
    pub async fn add_code(
        &self,
        events: &NewAuditEvents,
        secret: HashedSecret,
        grant: &CodeGrant,
        consent: Consent,
    ) -> Result<WriteOutcome, StoreError> {
        let granted_scopes = grant.scopes.clone().without_devices();
        let device = grant.scopes.device_id().map(|device_id| Device::new(device_id, None));
        let new_grant = NewGrant {
            lookup_key: secret.lookup_key,
            app_id: grant.app_id,
            scopes: &granted_scopes,
            redirect_uri: grant.binding.identifying_uri(),
            device: device.as_ref(),
            created_at: consent.at,
            pending_until: grant.expires_at,
        };
        let insert = sql!(
            r"
                insert into codes (lookup, digest, app_id, account_id, scopes, binding,
                    expires_at, methods, authenticated_at, grant_id)
                select cast($lookup as text), cast($digest as text), cast($app_id as bigint),
                    account_id, cast($scopes as text), cast($binding as text),
                    cast($expires_at as bigint), methods, authenticated_at,
                    {existing_or_new_grant_id}
                from sessions
                where lookup = $session
                  and account_id = $account_id
                  and exists (
                      select 1
                      from accounts
                      where id = $account_id
                        and disabled_at is null
                        and credential_version = sessions.credential_version
                  )
                  and exists (select 1 from apps where id = $app_id and disabled_at is null)
                  and (
                      cast($implied_at as bigint) is null
                        or exists (
                            select 1
                            from tokens
                            where account_id = $account_id
                              and app_id = $app_id
                              and revoked_at is null
                              and (expires_at is null or expires_at > $implied_at)
                        )
                  )
                returning lookup
            ",
            [
                lookup = secret.lookup_key,
                digest = secret.digest,
                app_id = grant.app_id,
                account_id = grant.account_id,
                scopes = &grant.scopes,
                binding = to_json(&BindingJson::from(&grant.binding))?,
                expires_at = grant.expires_at,
                granted_scopes = new_grant.sorted_scopes(),
                granted_uri = new_grant.redirect_uri(),
                device_id = new_grant.device_id(),
                session = consent.session,
                implied_at = consent.is_implied.then_some(consent.at)
            ]
        );
        let event_source =
            event_source_for!(codes, "lookup = $lookup", [lookup = secret.lookup_key]);
        let [mark_app_authorized, insert_grant] = new_grant.code_grant_statements();
        let statements =
            [lock_account_statement(grant.account_id), insert, mark_app_authorized, insert_grant];
        let [_, inserted_rows, _, _] =
            self.write_rows(Change::new(events, statements, event_source)).await?;
        Ok(WriteOutcome::from_rows(&inserted_rows))
    }

    /// Finds a code, redeemed or not.
    pub async fn code(&self, secret: HashedSecret) -> Result<Option<StoredCode>, StoreError> {
        self.read_secret(secret, sql!(SELECT_CODE, [lookup = secret.lookup_key])).await
    }

    /// Redeems a code for a token of its grant, with the code's app, account and scopes, unless the
    /// app or the account is disabled or deleted. Only one of several concurrent calls succeeds and
    /// issues its token.
    pub async fn redeem_code(
        &self,
        events: &NewAuditEvents,
        code: LookupKey,
        token: HashedSecret,
        now: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<(), RedeemError> {
        self.redeem(events, code, token, now, expires_at, Redemption::Token).await
    }

    /// Redeems a code for a token family, like [`Store::redeem_code`]. Earlier tokens of the same
    /// device of this account are revoked.
    pub async fn redeem_code_for_family(
        &self,
        events: &NewAuditEvents,
        code: LookupKey,
        family_key: HashedSecret,
        family: TokenFamily,
        grant: &CodeGrant,
    ) -> Result<(), RedeemError> {
        let TokenFamily { issued_at, .. } = family;
        let redemption = match grant.scopes.device_id() {
            None => Redemption::Family,
            Some(device_id) => Redemption::DeviceFamily { account: grant.account_id, device_id },
        };
        let expires_at = Some(family.ends_at());
        self.redeem(events, code, family_key, issued_at, expires_at, redemption).await
    }

    async fn redeem(
        &self,
        events: &NewAuditEvents,
        code: LookupKey,
        token: HashedSecret,
        now: Timestamp,
        expires_at: Option<Timestamp>,
        redemption: Redemption<'_>,
    ) -> Result<(), RedeemError> {
        let redeem = sql!(
            r"
                update codes
                set used_at = $now, token = $lookup
                where lookup = $code
                  and used_at is null
                  and expires_at > $now
                  and exists (
                      select 1
                      from accounts a
                      where a.id = codes.account_id
                        and a.disabled_at is null
                  )
                  and exists (
                      select 1
                      from apps p
                      where p.id = codes.app_id
                        and p.disabled_at is null
                  )
            ",
            [code, now, lookup = token.lookup_key]
        );
        // The token's lookup key is new, so the code's row has it only if this call redeemed the
        // code.
        let insert = sql!(
            r"
                insert into tokens (lookup, digest, app_id, account_id, scopes, created_at,
                    expires_at, grant_id, base, newest, is_used, issued_at)
                select token, cast($digest as text), app_id, account_id, scopes, used_at,
                    cast($expires_at as bigint), grant_id, cast($generation as bigint),
                    cast($generation as bigint), cast($generation as bigint),
                    cast($issued_at as bigint)
                from codes
                where lookup = $code
                  and token = $lookup
            ",
            [
                code,
                lookup = token.lookup_key,
                digest = token.digest,
                expires_at,
                generation = redemption.generation(),
                issued_at = redemption.generation().map(|_| now)
            ]
        );
        let select =
            sql!("select token, account_id, app_id from codes where lookup = $code", [code]);
        let event_source = token_event_source(token.lookup_key);
        let (change, select_index) = match redemption {
            Redemption::Token | Redemption::Family => {
                let change = Change::new(events, [redeem, insert, select], event_source)
                    .with_grouping(Grouping::Code(code));
                (change, 2)
            }
            // In a transaction of its own, because it locks rows of other codes' tokens. The account
            // is locked, because concurrent sign-ins of a device would not find each other's tokens.
            Redemption::DeviceFamily { account, device_id } => {
                let statements = [lock_account_statement(account), redeem, insert, select];
                let revoke =
                    revoke_device_statement(account, None, device_id, token.lookup_key, now);
                let change = Change::new(events, statements, event_source)
                    .and(revoke)
                    .invalidating(Invalidation::Account(account));
                (change, 3)
            }
        };
        let code_rows = self.write(change).await?.into_iter().nth(select_index).unwrap_or_default();
        let Some(code_row) = code_rows.into_iter().next() else {
            return Err(RedeemError::NotRedeemable);
        };
        let (stored_token, account, app): (Option<LookupKey>, _, _) = FromRow::from_row(code_row)?;
        match stored_token {
            Some(lookup) if lookup == token.lookup_key => {
                self.new_rows.record(RowOwner::Access { account, app });
                Ok(())
            }
            Some(lookup) => Err(RedeemError::AlreadyRedeemed(lookup)),
            None => Err(RedeemError::NotRedeemable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    /// Rows of earlier versions must remain readable: extend the list, never change it.
    #[test]
    fn bindings_stored_by_earlier_versions_are_readable() {
        let with_challenge = format!(
            r#"{{"version":1,"redirect_uri":"https://a.example/cb","code_challenge":"{CHALLENGE}"}}"#
        );
        let without_challenge = r#"{"version":1,"redirect_uri":"app://cb","code_challenge":null}"#;
        for (text, redirect_uri, challenge) in [
            (&*with_challenge, "https://a.example/cb", Sha256Digest::from_text(CHALLENGE)),
            (without_challenge, "app://cb", None),
        ] {
            let binding = Binding { redirect_uri: redirect_uri.to_owned(), challenge };
            assert_eq!(binding_from_json(text).unwrap(), binding);
            assert_eq!(to_json(&BindingJson::from(&binding)).unwrap(), text.into());
        }
        for unreadable_text in [
            "",
            "{}",
            r#"{"version":2,"redirect_uri":"app://cb","code_challenge":null}"#,
            r#"{"version":1,"redirect_uri":"app://cb","code_challenge":"short"}"#,
        ] {
            assert_eq!(binding_from_json(unreadable_text), None, "{unreadable_text}");
        }
    }
}
