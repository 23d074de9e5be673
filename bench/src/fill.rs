//! Adds accounts for measurements, each with a token that contains its number.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use belfry_core::account::Role;
use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::client::{ClientProperties, Registrar};
use belfry_core::oauth::issuer_policy::MASTODON;
use belfry_core::oauth::scope::Scope;
use belfry_core::secret::SplitToken;
use belfry_runtime::random;
use belfry_store::{
    Account, AddAccountError, Database, NewToken, Options, SerializedDocument, Store, StoredApp,
};
use clap::Args;
use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::test_data::RulePool;

/// Number of concurrent tasks: enough for large group commits.
const TASKS: i64 = 256;

/// Number of accounts and their rules.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Number of accounts
    pub(crate) accounts: i64,
    /// Give each account ten rules
    #[arg(long)]
    pub(crate) rules: bool,
}

/// Adds the accounts and prints the template of their tokens.
pub(crate) async fn fill(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    add_accounts(arguments).await?;
    // `{padded}` stands for the number with ten digits.
    println!("{}", token_text("{padded}"));
    Ok(())
}

/// Adds the accounts to `data/belfry.db`.
pub(crate) async fn add_accounts(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let now = Timestamp::UNIX_EPOCH;
    let accounts = arguments.accounts;
    let rules = arguments.rules;
    let database = Database::Sqlite("data/belfry.db".into());
    // Longer than the disk may stall under this load.
    let options = Options { timeout: Duration::from_mins(1), ..Options::default() };
    let store = Arc::new(Store::open(&database, &options, now).await?);
    store.add_first_party_app(&app(now)).await?;
    let events: Arc<NewAuditEvents> =
        Arc::new(NewAuditEvent::for_server(now, AuditKind::AccountAdd).into());
    let pool = Arc::new(RulePool::new());
    let mut tasks = JoinSet::new();
    for task in 0..TASKS.min(accounts) {
        let store = Arc::clone(&store);
        let pool = Arc::clone(&pool);
        let events = Arc::clone(&events);
        tasks.spawn(async move {
            for number in (task..accounts).step_by(usize::try_from(TASKS).unwrap_or(1)) {
                store.add_account(&events, &account(number, now)).await?;
                store.add_token(&events, &token(number, now)).await?;
                if rules {
                    let rulesets = store.rulesets_for_update(number + 1, now).await?;
                    let document = pool.document(usize::try_from(number).unwrap_or(0));
                    store
                        .save_documents(&rulesets, vec![SerializedDocument::new(document)])
                        .await?;
                }
            }
            Ok::<_, AddAccountError>(())
        });
    }
    for outcome in tasks.join_all().await {
        outcome?;
    }
    // Deletes the audit events, because sweeps would otherwise do so during a measurement.
    while store.delete_audit_events_before(Timestamp::MAX, 10_000).await? > 0 {}
    Ok(())
}

/// Returns the app that all tokens belong to.
fn app(now: Timestamp) -> StoredApp {
    let details = AppDetails {
        name: "Bench".to_owned(),
        website: None,
        redirect_uris: Vec::new(),
        scopes: [Scope::Read, Scope::Write, Scope::Push].into_iter().collect(),
    };
    let properties = ClientProperties::new(&MASTODON, Registrar::Operator);
    let app = App { id: 1, client_id: "bench".to_owned(), details, properties };
    StoredApp::new(app, random::split_token(now).hashed_secret(), now)
}

fn account(number: i64, now: Timestamp) -> Account {
    Account {
        id: number + 1,
        name: format!("bench{number}"),
        email: None,
        unverified_email: None,
        password_hash: "not a hash, sign-in fails".to_owned(),
        role: Role::User,
        created_at: now,
        signed_in_at: None,
        disabled_at: None,
        delete_at: None,
        credential_version: 0,
    }
}

/// Returns an account's token: `bench`, ten digits, and zeros up to the length of a token.
fn token_text(digits: &str) -> String {
    format!("bench{digits}{}", "0".repeat(49))
}

fn token(number: i64, now: Timestamp) -> NewToken {
    let text = token_text(&format!("{number:010}"));
    NewToken {
        secret: SplitToken::parse(&text).expect("64 characters of base64url").hashed_secret(),
        app_id: 1,
        account_id: Some(number + 1),
        scopes: [Scope::Read, Scope::Write, Scope::Push].into_iter().collect(),
        created_at: now,
        expires_at: None,
        device: None,
    }
}
