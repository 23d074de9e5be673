//! `belfry app …`

use std::sync::Arc;

use clap::Subcommand;
use jiff::Timestamp;

use super::Failure;
use crate::store::{App, Store};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List the apps: id, name, when it was registered, whether it is disabled
    List,
    /// Show one app
    Show {
        /// Its id, or its client id
        id: String,
    },
    /// Refuse an app's requests, codes and tokens from now on
    Disable {
        /// Its id, or its client id
        id: String,
    },
    /// Let a disabled app in again
    Enable {
        /// Its id, or its client id
        id: String,
    },
}

pub(super) fn run(command: Command) -> impl AsyncFnOnce(&Store, Timestamp) -> Result<(), Failure> {
    async move |store: &Store, now| match command {
        Command::List => list(store).await,
        Command::Show { id } => {
            show(&find(store, &id).await?);
            Ok(())
        }
        Command::Disable { id } => disable(store, &id, Some(now)).await,
        Command::Enable { id } => disable(store, &id, None).await,
    }
}

async fn list(store: &Store) -> Result<(), Failure> {
    const PAGE: i64 = 500;
    let mut after = 0;
    loop {
        let page = store.apps(after, PAGE).await?;
        for app in &page {
            println!("{}\t{}\t{}\t{}", app.id, app.name, app.created_at, state(app));
        }
        match page.last() {
            Some(last) => after = last.id,
            None => return Ok(()),
        }
    }
}

fn show(app: &App) {
    println!("id             {}", app.id);
    println!("name           {}", app.name);
    println!("website        {}", app.website.as_deref().unwrap_or("-"));
    println!("client id      {}", app.client_id);
    println!("scopes         {}", app.scopes);
    for uri in &app.redirect_uris {
        println!("redirect URI   {uri}");
    }
    println!("registered     {}", app.created_at);
    println!("state          {}", state(app));
}

async fn disable(store: &Store, id: &str, at: Option<Timestamp>) -> Result<(), Failure> {
    let app = find(store, id).await?;
    store.disable_app(app.id, at).await?;
    println!("app {} ({}) {}", app.id, app.name, if at.is_some() { "disabled" } else { "enabled" });
    Ok(())
}

async fn find(store: &Store, id: &str) -> Result<App, Failure> {
    let by_number = match id.parse() {
        Ok(number) => store.app(number).await?,
        Err(_) => None,
    };
    let found = match by_number {
        Some(app) => Some(app),
        None => store.app_by_client_id(id).await?.map(Arc::unwrap_or_clone),
    };
    found.ok_or_else(|| format!("there is no app {id:?}; see belfry app list").into())
}

fn state(app: &App) -> &'static str {
    if app.disabled_at.is_some() { "disabled" } else { "active" }
}
