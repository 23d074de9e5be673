//! Password changes, which end sessions and can revoke the access of apps.

use belfry_core::audit::{AuditKind, NewAuditEvents};
use belfry_core::secret::LookupKey;
use jiff::Timestamp;

use crate::accounts::{Account, account_event_source};
use crate::engine::sql;
use crate::error::StoreError;
use crate::oauth::authorized_apps::Revocation;
use crate::store::event_source::event_source_for;
use crate::store::{Change, Store, WriteOutcome};

/// The effect of a new password on the apps that the account has authorized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingAccess {
    Keep,
    /// Tokens are revoked, and grants and unredeemed codes are deleted.
    RevokeAt(Timestamp),
}

impl Store {
    /// Replaces a password hash with a stronger one for the same password. Returns `NotFound` if
    /// `old_hash` is no longer the stored hash. The credential version does not change, so sessions
    /// continue.
    pub async fn rehash_password(
        &self,
        id: i64,
        old_hash: &str,
        new_hash: &str,
    ) -> Result<WriteOutcome, StoreError> {
        let update = sql!(
            r"
                update accounts
                set password = $new_hash
                where id = $id
                  and password = $old_hash
                returning id
            ",
            [id, old_hash, new_hash]
        );
        self.update(Change::unaudited(update)).await
    }

    /// Sets a new password hash, ends the account's sessions and, if `access` says so, revokes the
    /// access of all apps.
    pub async fn set_password(
        &self,
        events: &NewAuditEvents,
        id: i64,
        password_hash: &str,
        access: ExistingAccess,
    ) -> Result<WriteOutcome, StoreError> {
        let update = sql!(
            r"
                update accounts
                set password = $password_hash, credential_version = credential_version + 1
                where id = $id
                returning id
            ",
            [id, password_hash]
        );
        let end_sessions = sql!("delete from sessions where account_id = $id", [id]);
        let revocation_events = revocation_events(events);
        let mut change = Change::new(events, [update, end_sessions], account_event_source(id));
        if let ExistingAccess::RevokeAt(now) = access {
            let revocation = Revocation::all(id, now);
            change = change.and_events(&revocation_events, revocation.event_source());
            change = revocation.add_to(change);
        }
        self.update(change).await
    }

    /// Replaces the hash of a password that was just verified, ends the account's sessions except
    /// one, and revokes the access of all apps. `NotFound`, and no change, if the password was
    /// changed after it was verified.
    pub async fn change_password(
        &self,
        events: &NewAuditEvents,
        account: &Account,
        new_hash: &str,
        kept_session: LookupKey,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        let id = account.id;
        let version = account.credential_version;
        // Locks the account. The version is incremented last, because the other statements check
        // it.
        let lock = sql!(
            r"
                update accounts
                set password = password
                where id = $id
                  and credential_version = $version
                returning id
            ",
            [id, version]
        );
        let event_source = event_source_for!(
            accounts,
            "id = $id and credential_version = $version",
            [id, version]
        );
        let revocation_events = revocation_events(events);
        let revocation = Revocation { version: Some(version), ..Revocation::all(id, now) };
        let session_change = Change::new(events, [lock], event_source)
            .and_events(&revocation_events, revocation.event_source())
            .and(sql!(
                r"
                    delete from sessions
                    where account_id = $account
                      and lookup <> $kept_session
                      and {has_version}
                ",
                [account = id, kept_session, version]
            ))
            .and(sql!(
                r"
                    update sessions
                    set credential_version = credential_version + 1
                    where account_id = $account
                      and lookup = $kept_session
                      and {has_version}
                ",
                [account = id, kept_session, version]
            ));
        let change = revocation.add_to(session_change).and(sql!(
            r"
                update accounts
                set password = $new_hash, credential_version = credential_version + 1
                where id = $id
                  and credential_version = $version
            ",
            [id, new_hash, version]
        ));
        self.update(change).await
    }
}

/// Returns the audit events for apps whose access a password change revokes.
fn revocation_events(password_change: &NewAuditEvents) -> NewAuditEvents {
    password_change.derive_event(AuditKind::TokenRevoke, "password change")
}
