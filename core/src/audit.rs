//! The audit trail: the kinds of events, the recorded client data, and the counting of events that
//! unauthenticated clients can cause without limit.

mod aggregate;

use std::net::IpAddr;

use jiff::Timestamp;

pub use self::aggregate::{Aggregator, CountedSubject, EventCount};
use crate::request::RequestId;
use crate::wire_enum::wire_enum;

wire_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum AuditKind {
        /// A user signed in, in a browser or a Matrix client.
        SignIn = "sign_in",
        SignOut = "sign_out",
        /// A user created an account.
        SignUp = "sign_up",
        PasswordChange = "password_change",
        /// A user changed or removed the account's e-mail address.
        EmailChange = "email_change",
        /// A user downloaded the account's data.
        DataDownload = "data_download",
        /// A user allowed or denied an app's access.
        Consent = "consent",
        TokenIssue = "token_issue",
        TokenRevoke = "token_revoke",
        /// App tokens were issued; counted per app and hour.
        AppTokenIssue = "app_token_issue",
        ReceiverAdd = "receiver_add",
        /// A subscription or pusher was removed by its owner, the operator or the server.
        ReceiverRemove = "receiver_remove",
        /// A pusher was removed because another account registered its device.
        ReceiverTakeover = "receiver_takeover",
        VapidKeyAdd = "vapid_key_add",
        AppRegister = "app_register",
        AppAdd = "app_add",
        /// An app's client secret was replaced.
        AppSecretChange = "app_secret_change",
        AppDisable = "app_disable",
        AppEnable = "app_enable",
        AppDelete = "app_delete",
        /// The operator or an application service added an account.
        AccountAdd = "account_add",
        AccountDisable = "account_disable",
        AccountEnable = "account_enable",
        AccountDelete = "account_delete",
        /// A user requested the deletion of the account, which follows after a day.
        AccountDeleteRequest = "account_delete_request",
        AccountDeleteCancel = "account_delete_cancel",
        /// An admin recorded a note about an account.
        AccountNote = "account_note",
        RoleChange = "role_change",
        /// The operator wrote a backup of all data.
        Backup = "backup",
        /// The operator restored a backup into this database.
        Restore = "restore",
        /// A client failed to authenticate: unknown, disabled, or with a wrong secret.
        ClientAuthentication = "client_authentication",
        AbuseLimit = "abuse_limit",
        /// An application service acted for a user; counted per service, user and hour.
        ServiceUse = "service_use",
    }
}

impl AuditKind {
    /// Returns whether the account's owner may see the address and the detail of events of this
    /// kind. In other events they may be those of someone else, such as an admin's note.
    pub const fn shows_details_to_owner(self) -> bool {
        matches!(
            self,
            Self::SignIn
                | Self::SignOut
                | Self::SignUp
                | Self::PasswordChange
                | Self::EmailChange
                | Self::DataDownload
                | Self::Consent
                | Self::TokenIssue
                | Self::TokenRevoke
                | Self::ReceiverAdd
                | Self::ReceiverRemove
                | Self::AccountDeleteRequest
                | Self::AccountDeleteCancel
        )
    }
}

wire_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum AuditOutcome {
        Success = "success",
        Failure = "failure",
        /// The user denied an app's request.
        Denied = "denied",
    }
}

/// An event to be stored in the same transaction as the change that it records. The change
/// determines the account and the app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEvent {
    pub at: Timestamp,
    pub kind: AuditKind,
    pub outcome: AuditOutcome,
    pub origin: AuditOrigin,
    /// The client that caused the event; `None` if the operator or the server did.
    pub client: Option<AuditClient>,
    /// Additional details; never a secret.
    pub detail: Option<String>,
}

wire_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum AuditOrigin {
        /// A request from an app or other API client.
        Client = "client",
        /// A browser request from one of this server's pages.
        Page = "page",
        CommandLine = "command-line",
        /// The server itself, at a scheduled time.
        Server = "server",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditClient {
    pub address: Option<String>,
    pub request_id: RequestId,
}

impl NewAuditEvent {
    pub fn for_command(at: Timestamp, kind: AuditKind) -> Self {
        let outcome = AuditOutcome::Success;
        let origin = AuditOrigin::CommandLine;
        Self { at, kind, outcome, origin, client: None, detail: None }
    }

    /// Creates an event for a successful action by the server itself.
    pub fn for_server(at: Timestamp, kind: AuditKind) -> Self {
        Self { origin: AuditOrigin::Server, ..Self::for_command(at, kind) }
    }

    /// Returns the subject per which events of this kind are counted in each hour, next to the
    /// account and the app of the change; `None` if each event is stored. Changes of devices are
    /// counted, because a client can repeat them without limit.
    pub fn counted_subject(&self) -> Option<CountedSubject> {
        let Self { kind, outcome, origin, .. } = *self;
        let address = self.client.as_ref().and_then(|client| client.address.clone());
        let subject = CountedSubject::new(kind, outcome);
        matches!(kind, AuditKind::ReceiverAdd | AuditKind::ReceiverRemove).then(|| CountedSubject {
            origin,
            address,
            detail: self.detail.clone(),
            ..subject
        })
    }
}

/// The events of one change; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEvents(Vec<NewAuditEvent>);

impl NewAuditEvents {
    pub fn with_event(mut self, event: NewAuditEvent) -> Self {
        self.0.push(event);
        self
    }

    /// Derives an event of a different kind, with the time, outcome, origin and client of the first
    /// event.
    pub fn derive_event(&self, kind: AuditKind, detail: &str) -> Self {
        let change_kind = |event: &NewAuditEvent| {
            let detail = Some(detail.to_owned());
            NewAuditEvent { kind, detail, ..event.clone() }
        };
        Self(self.0.iter().take(1).map(change_kind).collect())
    }

    pub fn as_slice(&self) -> &[NewAuditEvent] {
        &self.0
    }
}

impl From<NewAuditEvent> for NewAuditEvents {
    fn from(event: NewAuditEvent) -> Self {
        Self(vec![event])
    }
}

/// Returns the name of a deleted account from the detail of its deletion event: `name alice`,
/// optionally followed by `; ` and more details.
pub fn deleted_account_name(detail: &str) -> Option<&str> {
    detail.strip_prefix("name ")?.split("; ").next()
}

/// Returns the part of an address that helps users recognise their own sessions, `192.0.2.x` or
/// `2001:db8:1:x`: never more than the network, to limit the personal data stored. An IPv4-mapped
/// IPv6 address counts as IPv4.
pub fn session_network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            format!("{a}.{b}.{c}.x")
        }
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:x")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_detail_begins_with_the_name() {
        for (detail, name) in [
            ("name alice", Some("alice")),
            ("name a.b-c; by root: spam; more", Some("a.b-c")),
            ("by root", None),
        ] {
            assert_eq!(deleted_account_name(detail), name);
        }
    }

    #[test]
    fn a_session_shows_its_network() {
        for (address, expected) in [
            ("192.0.2.77", "192.0.2.x"),
            ("::ffff:192.0.2.77", "192.0.2.x"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:x"),
            ("::1", "0:0:0:x"),
        ] {
            assert_eq!(session_network(address.parse().unwrap()), expected);
        }
    }

    #[test]
    fn kinds_outcomes_and_origins_have_distinct_names() {
        for kind in AuditKind::ALL {
            assert_eq!(AuditKind::from_name(kind.as_str()), Some(*kind));
        }
        for outcome in AuditOutcome::ALL {
            assert_eq!(AuditOutcome::from_name(outcome.as_str()), Some(*outcome));
        }
        for origin in AuditOrigin::ALL {
            assert_eq!(AuditOrigin::from_name(origin.as_str()), Some(*origin));
        }
    }
}
