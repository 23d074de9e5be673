//! `belfry app …`

mod list;
mod secret;

use std::io::{Write, stdout};
use std::sync::Arc;

use belfry_core::audit::AuditKind;
use belfry_core::oauth::app::{App, AppRegistration};
use belfry_core::oauth::client::{AuthMethod, ClientProperties, Registrar};
use belfry_core::oauth::issuer_policy::{ID, MASTODON};
use belfry_store::{AuditFilter, Store, StoredApp};
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use serde_json::json;

use super::output::{format_count, format_json_line, print};
use super::{CliError, Context, DatabaseUse, StoreCommand, command_events};
use crate::escape::escape;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Add an app; its client secret, if it has one, is printed once
    Add(Add),
    /// List apps by id: id, name, registration time, state
    ///
    /// With an app: show it with the state of its secrets and its number of tokens.
    #[command(visible_alias = "show")]
    List(list::List),
    /// Replace an app's client secret; the new one is printed once
    Secret(secret::Secret),
    /// Disable an app: reject its requests, codes and tokens
    Disable(AppArgument),
    /// Enable a disabled app
    Enable(AppArgument),
    /// Delete an app with its codes and tokens
    Delete(AppArgument),
}

#[derive(Args)]
pub(super) struct Add {
    /// The name that users see
    name: String,
    /// Redirect URI; may be repeated. By default users copy the code from a page, which a service
    /// that only uses client credentials does not need
    #[arg(long = "redirect-uri", value_name = "URI", default_value = "urn:ietf:wg:oauth:2.0:oob")]
    redirect_uris: Vec<String>,
    /// Scopes that the app may request, separated by spaces
    #[arg(long, default_value = "read")]
    scopes: String,
    /// URL of the app's website
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    website: String,
    /// Issuer that the app uses: `id` gives it short-lived tokens and refresh tokens
    #[arg(long, value_enum, default_value_t)]
    issuer: IssuerName,
    /// The app cannot keep a secret: a web page, or a program on a user's device. Implies --issuer id
    #[arg(long)]
    public: bool,
    /// Print a line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum IssuerName {
    #[default]
    Oauth,
    Id,
}

#[derive(Args)]
pub(super) struct AppArgument {
    /// Id, client id or name of the app
    id: String,
}

impl StoreCommand for Command {
    fn database_use(&self) -> DatabaseUse {
        match self {
            Self::List(_) => DatabaseUse::Read,
            _ => DatabaseUse::Write,
        }
    }

    async fn run(self, Context { store, now, .. }: Context<'_>) -> Result<(), CliError> {
        match self {
            Self::Add(app) => app.run(store, now).await,
            Self::List(list) => list.run(store, now).await,
            Self::Secret(secret) => secret.run(store, now).await,
            Self::Disable(app) => {
                disable_or_enable(store, &app.id, now, AuditKind::AppDisable).await
            }
            Self::Enable(app) => disable_or_enable(store, &app.id, now, AuditKind::AppEnable).await,
            Self::Delete(app) => {
                let app = find_app(store, &app.id).await?.app;
                let events = command_events(now, AuditKind::AppDelete);
                let deleted_rows = store.delete_app(&events, app.id).await?.unwrap_or_default();
                Ok(writeln!(
                    stdout(),
                    "app {} deleted: {}, {}, {}",
                    format_title(&app),
                    format_count(deleted_rows.tokens, "tokens"),
                    format_count(deleted_rows.codes, "codes"),
                    format_count(deleted_rows.requests, "authorization requests"),
                )?)
            }
        }
    }
}

impl Add {
    /// Validates the app like a registration and adds it. It is never deleted as unused.
    async fn run(self, store: &Store, now: Timestamp) -> Result<(), CliError> {
        let registration = AppRegistration {
            client_name: self.name,
            redirect_uris: self.redirect_uris,
            scopes: vec![self.scopes],
            website: self.website,
            token_endpoint_auth_method: String::new(),
        };
        let uses_id = self.public || self.issuer == IssuerName::Id;
        let policy = if uses_id { &ID } else { &MASTODON };
        let details = registration.validate(policy).map_err(|errors| {
            let errors: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
            errors.join(", ")
        })?;
        let events = command_events(now, AuditKind::AppAdd);
        let auth_method = if self.public { AuthMethod::None } else { AuthMethod::ClientSecret };
        let properties =
            ClientProperties { auth_method, ..ClientProperties::new(policy, Registrar::Operator) };
        let (app, secret) = store.create_app(&events, now, details, properties).await?;
        let client_id = &app.client_id;
        let secret = (!self.public).then(|| secret.reveal());
        let output = if self.json {
            let mut line = json!({ "id": app.id.to_string(), "client_id": client_id });
            if let Some(secret) = secret {
                line["client_secret"] = secret.into();
            }
            format_json_line(&line)
        } else {
            let title = format_title(&app);
            let secret_line =
                secret.map_or(String::new(), |secret| format!("client_secret: {secret}\n"));
            format!("app {title} added\nclient_id: {client_id}\n{secret_line}")
        };
        Ok(print(&output)?)
    }
}

/// Disables or enables an app, depending on the kind of the audit event.
async fn disable_or_enable(
    store: &Store,
    id: &str,
    now: Timestamp,
    kind: AuditKind,
) -> Result<(), CliError> {
    let disabled_at = (kind == AuditKind::AppDisable).then_some(now);
    let app = find_app(store, id).await?.app;
    store.set_app_disabled_at(&command_events(now, kind), app.id, disabled_at).await?;
    let state = if disabled_at.is_some() { "disabled" } else { "enabled" };
    Ok(writeln!(stdout(), "app {} {state}", format_title(&app))?)
}

/// Formats an app's id and name.
fn format_title(app: &App) -> String {
    format!("{} ({})", app.id, escape(&app.details.name))
}

/// Maximum number of ids in the error about a name that several apps have.
const MAX_LISTED_IDS: i64 = 10;

/// Finds an app by its id or client id.
async fn find_app_by_id(store: &Store, selector: &str) -> Result<Option<StoredApp>, CliError> {
    if let Ok(number) = selector.parse()
        && let Some(app) = store.app(number).await?
    {
        return Ok(Some(app));
    }
    Ok(store.app_by_client_id(selector).await?.map(Arc::unwrap_or_clone))
}

/// Resolves an argument to the id of an app or to a name, which several apps may have. Deleted apps
/// are found by their id, or by the name that they had when they were deleted.
pub(super) async fn find_for_audit<'a>(
    store: &Store,
    selector: &'a str,
) -> Result<(Option<i64>, Option<&'a str>), CliError> {
    if let Some(app) = find_app_by_id(store, selector).await? {
        return Ok((Some(app.app.id), None));
    }
    let by_name = AuditFilter { app_name: Some(selector), ..AuditFilter::default() };
    if !store.apps_named(selector, 1).await?.is_empty()
        || !store.audit_events(by_name, 1).await?.is_empty()
    {
        return Ok((None, Some(selector)));
    }
    let id = selector.strip_prefix('#').unwrap_or(selector).parse().ok();
    let by_id = AuditFilter { app: id, ..AuditFilter::default() };
    if id.is_some() && !store.audit_events(by_id, 1).await?.is_empty() {
        return Ok((id, None));
    }
    let advice = "a deleted app is found by its name or id, not by its client id";
    Err(format!("{}; {advice}", not_found_error(selector)).into())
}

fn not_found_error(selector: &str) -> CliError {
    format!("there is no app {selector:?}; run `belfry app list`").into()
}

/// Finds an app by its id, its client id, or its name if that is unique.
async fn find_app(store: &Store, selector: &str) -> Result<StoredApp, CliError> {
    if let Some(app) = find_app_by_id(store, selector).await? {
        return Ok(app);
    }
    let mut apps = store.apps_named(selector, MAX_LISTED_IDS).await?;
    if apps.len() > 1 {
        let ids: Vec<_> = apps.iter().map(|stored_app| stored_app.app.id.to_string()).collect();
        let advice = "use one of these ids; belfry app list ID shows an app";
        let ids = ids.join(", ");
        return Err(format!("several apps are named {selector:?}: {ids}; {advice}").into());
    }
    apps.pop().ok_or_else(|| not_found_error(selector))
}
