//! `belfry app …`

use std::io::{Write, stdout};
use std::sync::Arc;

use belfry_core::audit::AuditKind;
use belfry_core::oauth::app::App;
use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::{CliError, DatabaseUse, LIST_PAGE, audited, state};
use crate::store::{Store, StoredApp};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List apps: id, name, registration time, state
    List,
    /// Show an app
    Show(Selector),
    /// Disable an app: reject its requests, codes and tokens
    Disable(Selector),
    /// Enable a disabled app
    Enable(Selector),
    /// Delete an app with its codes and tokens
    Delete(Selector),
}

#[derive(Args)]
pub(super) struct Selector {
    /// App id or client id
    id: String,
}

impl Command {
    pub(super) fn database_use(&self) -> DatabaseUse {
        match self {
            Self::List | Self::Show(_) => DatabaseUse::Read,
            Self::Disable(_) | Self::Enable(_) | Self::Delete(_) => DatabaseUse::Write,
        }
    }

    pub(super) async fn run(self, store: &Store, now: Timestamp) -> Result<(), CliError> {
        match self {
            Self::List => list(store).await,
            Self::Show(app) => show(&find(store, &app.id).await?),
            Self::Disable(app) => disable(store, &app.id, now, AuditKind::AppDisable).await,
            Self::Enable(app) => disable(store, &app.id, now, AuditKind::AppEnable).await,
            Self::Delete(app) => {
                let App { id, details, .. } = find(store, &app.id).await?.app;
                let store = audited(store, now, AuditKind::AppDelete);
                let deleted = store.delete_app(id).await?.unwrap_or_default();
                writeln!(
                    stdout(),
                    "app {id} ({}) deleted: {} tokens, {} codes, {} authorization requests",
                    details.name,
                    deleted.tokens,
                    deleted.codes,
                    deleted.requests
                )
                .map_err(Into::into)
            }
        }
    }
}

async fn list(store: &Store) -> Result<(), CliError> {
    let mut page = store.apps(0, LIST_PAGE).await?;
    while let Some(last) = page.last().map(|last| last.app.id) {
        for app in page {
            let (id, name, state) = (app.app.id, &app.app.details.name, state(app.disabled_at));
            writeln!(stdout(), "{id}\t{name}\t{}\t{state}", app.created_at)?;
        }
        page = store.apps(last, LIST_PAGE).await?;
    }
    Ok(())
}

fn show(stored: &StoredApp) -> Result<(), CliError> {
    let App { id, client_id, details } = &stored.app;
    let mut out = stdout().lock();
    writeln!(out, "id             {id}")?;
    writeln!(out, "name           {}", details.name)?;
    writeln!(out, "website        {}", details.website.as_deref().unwrap_or("-"))?;
    writeln!(out, "client id      {client_id}")?;
    writeln!(out, "scopes         {}", details.scopes)?;
    for uri in &details.redirect_uris {
        writeln!(out, "redirect URI   {}", uri.as_str())?;
    }
    writeln!(out, "registered     {}", stored.created_at)?;
    Ok(writeln!(out, "state          {}", state(stored.disabled_at))?)
}

/// Disables or enables an app.
async fn disable(store: &Store, id: &str, now: Timestamp, kind: AuditKind) -> Result<(), CliError> {
    let at = (kind == AuditKind::AppDisable).then_some(now);
    let app = find(store, id).await?;
    audited(store, now, kind).set_app_disabled_at(app.app.id, at).await?;
    let state = if at.is_some() { "disabled" } else { "enabled" };
    Ok(writeln!(stdout(), "app {} ({}) {state}", app.app.id, app.app.details.name)?)
}

async fn find(store: &Store, id: &str) -> Result<StoredApp, CliError> {
    if let Ok(number) = id.parse()
        && let Some(app) = store.app(number).await?
    {
        return Ok(app);
    }
    let found = store.app_by_client_id(id).await?.map(Arc::unwrap_or_clone);
    found.ok_or_else(|| format!("there is no app {id:?}; see belfry app list").into())
}
