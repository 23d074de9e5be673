//! Gives an account as many grants, tokens and sessions as it may have.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::client::{ClientProperties, Registrar};
use belfry_core::oauth::scope::Scope;
use belfry_core::user_agent::UserAgent;
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::random;
use belfry_store::{
    AddAppOutcome, Database, NewToken, Options, Session, SignInOutcome, Store, StoredApp,
};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;

// The maximum numbers in `store/src/retention/excess.rs`.
const GRANTS: i64 = 500;
const TOKENS_PER_GRANT: i64 = 100;
/// One fewer than the maximum, because the account has a session already.
const SESSIONS: i64 = 49;

/// The account that gets the grants, tokens and sessions.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of an account in data/belfry.db
    name: String,
}

/// Adds the grants, each for a new app, with their tokens, and the sessions.
pub(crate) async fn fill_account(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let now = SystemClock.now();
    let options = Options { timeout: Duration::from_mins(1), ..Options::default() };
    let database = Database::Sqlite("data/belfry.db".into());
    let store = Arc::new(Store::open(&database, &options, now).await?);
    let account = store.account_by_name(&arguments.name).await?.ok_or("unknown account")?;
    let account_id = account.id;
    let credential_version = account.credential_version;
    let events: Arc<NewAuditEvents> =
        Arc::new(NewAuditEvent::for_server(now, AuditKind::TokenIssue).into());
    let mut tasks = JoinSet::new();
    for app_id in 1..=GRANTS {
        let store = Arc::clone(&store);
        let events = Arc::clone(&events);
        tasks.spawn(async move {
            let outcome = store.add_app(&events, &app(app_id, now)).await?;
            assert_eq!(outcome, AddAppOutcome::Added);
            for _ in 0..TOKENS_PER_GRANT {
                let token = NewToken {
                    secret: random::split_token(now).hashed_secret(),
                    app_id,
                    account_id: Some(account_id),
                    scopes: [Scope::Read, Scope::Write].into_iter().collect(),
                    created_at: now,
                    expires_at: None,
                    device: None,
                };
                store.add_token(&events, &token).await?;
            }
            Ok::<_, belfry_store::StoreError>(())
        });
    }
    for outcome in tasks.join_all().await {
        outcome?;
    }
    for _ in 0..SESSIONS {
        let session = Session {
            account_id,
            created_at: now,
            seen_at: now,
            expires_at: now + SignedDuration::from_hours(24),
            lang: None,
            browser: UserAgent::default(),
            address: None,
        };
        let cookie = random::split_token(now).hashed_secret();
        let outcome = store.add_session(&events, cookie, &session, credential_version).await?;
        assert_eq!(outcome, SignInOutcome::SignedIn);
    }
    Ok(())
}

/// Returns an app with a long name full of characters that are escaped in HTML.
fn app(id: i64, now: Timestamp) -> StoredApp {
    let details = AppDetails {
        name: format!("{}{id:03}", "&".repeat(57)),
        website: None,
        redirect_uris: Vec::new(),
        scopes: [Scope::Read, Scope::Write].into_iter().collect(),
    };
    let properties = ClientProperties::new(Registrar::Api);
    let app = App { id, client_id: format!("filled{id}"), details, properties };
    StoredApp::new(app, random::split_token(now).hashed_secret(), now)
}
