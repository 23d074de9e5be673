//! Persistence of accounts, apps, authorization requests, codes, tokens, sessions, rulesets,
//! receivers and deliveries, with two engines: SQLite and PostgreSQL.
//!
//! The changes of a method are durable when it returns. They are atomic, unless it works in
//! batches, like a sweep. The interface has no transactions.

mod accounts;
mod audit;
mod backup;
mod cache;
mod engine;
mod error;
pub mod metrics;
mod oauth;
mod push;
mod retention;
mod rules;
mod signing_keys;
mod store;
#[cfg(feature = "test-support")]
pub mod test;

pub use self::accounts::admins::AccountUpdateOutcome;
pub use self::accounts::deletion::{AccountDeletionOutcome, DeletedAccount, DeletedRows};
pub use self::accounts::passwords::ExistingAccess;
pub use self::accounts::{Account, AccountListFilter, AddAccountError, Email, NO_PASSWORD};
pub use self::audit::{AuditEvent, AuditFilter};
pub use self::backup::{
    Backup, BackupError, ExistingFile, Manifest, RestoredTokens, TableSummary, create_backup,
    restore_backup,
};
pub use self::cache::{PresentedToken, ReadEpoch, StoredApp, StoredRulesets, StoredToken};
pub use self::engine::database::{Database, SecretUrl};
pub use self::engine::migrations::SchemaPolicy;
pub use self::engine::sqlite::create_private_directory;
pub use self::oauth::account_tokens::AccountToken;
pub use self::oauth::apps::{AppListFilter, AppTokens};
pub use self::oauth::authorized_apps::AuthorizedApp;
pub use self::oauth::codes::{Consent, RedeemError, StoredCode};
pub use self::oauth::devices::AccountDevice;
pub use self::oauth::families::{PresentedFamily, TokenPair};
pub use self::oauth::requests::StoredRequest;
pub use self::oauth::sessions::{AccountSession, Session, SessionSummary};
pub use self::oauth::sign_ins::PendingSignIn;
pub use self::oauth::tokens::NewToken;
pub use self::push::deliveries::{
    Admission, AttemptRecord, ClaimedDelivery, DeliveryKey, LoggedDelivery,
    MAX_WAITING_PER_RECEIVER, NewDelivery, NewMessage, QueueStatus, ReceiverResult,
    StoredDeliveries,
};
pub use self::push::lanes::DueLane;
pub use self::push::receiver_list::ListedReceiver;
pub use self::push::receivers::{MAX_RECEIVERS, Receiver, SetReceiverOutcome};
pub use self::retention::{RetentionSettings, SweepOutcome};
pub use self::rules::writes::{RuleWriteError, RuleWriter};
pub use self::rules::{RulesetsForUpdate, RulesetsSnapshot, SaveOutcome, SerializedDocument};
pub use self::signing_keys::{AddKeyError, KeyPurpose, SigningKeyRow, SigningKeys, VapidKeyUse};

pub use self::engine::options::{Access, Options};
pub use self::error::StoreError;
pub use self::store::{EnabledState, Store, WriteOutcome};
