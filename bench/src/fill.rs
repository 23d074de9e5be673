//! Accounts for measurements, each with a token that is `bench-` and its number.

use std::error::Error;
use std::sync::Arc;

use belfry::random;
use belfry::store::Database;
use belfry::store::{Account, App, Draft, NewToken, Options, Store};
use belfry_core::secret::Secret;
use clap::Args;
use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::world::World;

/// Enough to fill the store's groups.
const CALLERS: i64 = 256;

/// How many there shall be.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many accounts
    pub(crate) accounts: i64,
    /// Give each ten rules of its own
    #[arg(long)]
    pub(crate) rules: bool,
}

/// Puts them into `data/belfry.db`.
pub(crate) async fn fill(&Arguments { accounts, rules }: &Arguments) -> Result<(), Box<dyn Error>> {
    let now = Timestamp::UNIX_EPOCH;
    let database = Database::Sqlite("data/belfry.db".into());
    let store = Arc::new(Store::open(&database, &Options::default(), now).await?);
    store.add_app(&app(now)).await?;
    let world = Arc::new(World::new());
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS.min(accounts) {
        let (store, world) = (Arc::clone(&store), Arc::clone(&world));
        callers.spawn(async move {
            for number in (caller..accounts).step_by(usize::try_from(CALLERS).unwrap_or(1)) {
                store.add_account(&account(number, now)).await?.map_err(|_| taken())?;
                store.add_token(&token(number, now)).await?;
                if rules {
                    let read = store.rulesets_for_update(number + 1).await?;
                    let document = world.document(usize::try_from(number).unwrap_or(0));
                    store.save_ruleset(&read, Draft::new(document)).await?;
                }
            }
            Ok::<_, belfry::store::StoreError>(())
        });
    }
    for outcome in callers.join_all().await {
        outcome?;
    }
    Ok(())
}

fn taken() -> belfry::store::StoreError {
    belfry::store::StoreError::Failed("there are accounts already".to_owned())
}

/// The app of all tokens.
pub(crate) fn app(now: Timestamp) -> App {
    App {
        id: 1,
        client_id: "bench".to_owned(),
        secret: random::secret(now).digest(),
        name: "Bench".to_owned(),
        website: None,
        redirect_uris: Vec::new(),
        scopes: "read write push".to_owned(),
        created_at: now,
        disabled_at: None,
    }
}

fn account(number: i64, now: Timestamp) -> Account {
    Account {
        id: number + 1,
        name: format!("bench{number}"),
        email: None,
        password: "nobody signs in".to_owned(),
        created_at: now,
        disabled_at: None,
    }
}

fn token(number: i64, now: Timestamp) -> NewToken {
    NewToken {
        digest: Secret::new(format!("bench-{number}")).digest(),
        app: 1,
        account: Some(number + 1),
        scopes: "read write push".to_owned(),
        created_at: now,
        expires_at: None,
    }
}
