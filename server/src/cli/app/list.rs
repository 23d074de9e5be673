//! `belfry app list`, for all apps or one.

use belfry_core::oauth::app::App;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_store::{AppListFilter, AppTokens, EnabledState, Store, StoredApp};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::find_app;
use crate::cli::output::{ListOptions, format_json_line, one_of, print, print_record};
use crate::cli::{CliError, or_dash, or_never};

#[derive(Args)]
pub(in crate::cli) struct List {
    /// App to show in detail: its id, client id or name
    #[arg(value_name = "APP", conflicts_with_all = ["state", "name", "unused", "after", "limit"])]
    app: Option<String>,
    /// Only active or disabled apps
    #[arg(long, value_parser = one_of(&EnabledState::ALL, EnabledState::as_str))]
    state: Option<EnabledState>,
    /// Only apps whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only registered apps without a code or token, which are deleted after some time
    #[arg(long)]
    unused: bool,
    /// Only apps after the one with this id, in the order of the list
    #[arg(long, value_name = "ID", default_value_t = 0, hide_default_value = true)]
    after: i64,
    #[command(flatten)]
    options: ListOptions,
}

impl List {
    pub(super) async fn run(self, store: &Store, now: Timestamp) -> Result<(), CliError> {
        let Self { app, state, name, unused, after, options } = self;
        if let Some(app) = app {
            return show_app(&app, options.json, store, now).await;
        }
        let filter = AppListFilter { state, name, only_unused: unused };
        let read_page = async |last_app: Option<&StoredApp>, limit| {
            let after = last_app.map_or(after, |stored_app| stored_app.app.id);
            store.apps(&filter, after, limit).await
        };
        options.print(&HEADERS, read_page, to_columns, to_json).await
    }
}

const HEADERS: [&str; 4] = ["id", "name", "registered", "state"];

fn to_columns(stored_app: &StoredApp) -> Vec<String> {
    vec![
        stored_app.app.id.to_string(),
        stored_app.app.details.name.clone(),
        stored_app.created_at.to_string(),
        EnabledState::from_disabled_at(stored_app.disabled_at).as_str().to_owned(),
    ]
}

/// Returns the app as JSON, without its secrets.
fn to_json(stored_app: &StoredApp) -> Value {
    let App { id, client_id, details, properties } = &stored_app.app;
    json!({
        "id": id.to_string(),
        "client_id": client_id,
        "name": details.name,
        "website": details.website,
        "scopes": details.scopes.names().collect::<Vec<_>>(),
        "redirect_uris": details.redirect_uris.iter().map(RedirectUri::as_str).collect::<Vec<_>>(),
        "issuer": properties.issuer.as_str(),
        "auth_method": properties.auth_method.as_str(),
        "registered_by": properties.registered_by.as_str(),
        "state": EnabledState::from_disabled_at(stored_app.disabled_at).as_str(),
        "created_at": stored_app.created_at.to_string(),
        "disabled_at": stored_app.disabled_at.map(|time| time.to_string()),
    })
}

/// Prints an app with the state of its secrets and its number of tokens.
async fn show_app(
    argument: &str,
    as_json: bool,
    store: &Store,
    now: Timestamp,
) -> Result<(), CliError> {
    let stored_app = find_app(store, argument).await?;
    let App { id, client_id, details, properties } = &stored_app.app;
    let AppTokens { valid_count: valid_tokens, last_issued_at } =
        store.app_tokens(*id, now).await?;
    let previous_until = stored_app.secrets.previous_until(now);
    if as_json {
        let mut object = to_json(&stored_app);
        object["previous_secret_until"] = previous_until.map(|time| time.to_string()).into();
        object["last_used_at"] = stored_app.last_used_at.map(|time| time.to_string()).into();
        object["tokens"] = valid_tokens.into();
        object["last_token_at"] = last_issued_at.map(|time| time.to_string()).into();
        return Ok(print(&format_json_line(&object))?);
    }
    let mut rows = vec![
        ("id", id.to_string()),
        ("name", details.name.clone()),
        ("website", or_dash(details.website.as_ref())),
        ("client id", client_id.clone()),
        ("issuer", properties.issuer.to_string()),
        ("authentication", properties.auth_method.to_string()),
        ("registered by", properties.registered_by.to_string()),
        ("scopes", details.scopes.to_string()),
    ];
    let uris = details.redirect_uris.iter();
    rows.extend(uris.map(|uri| ("redirect URI", uri.as_str().to_owned())));
    rows.extend([
        ("registered", stored_app.created_at.to_string()),
        (
            "last used",
            or_never(stored_app.last_used_at.map(|time| format!("within the hour of {time}"))),
        ),
        ("old secret", or_dash(previous_until.map(|until| format!("accepted until {until}")))),
        ("tokens", format!("{valid_tokens} valid, last issued {}", or_never(last_issued_at))),
        ("state", EnabledState::from_disabled_at(stored_app.disabled_at).as_str().to_owned()),
    ]);
    Ok(print_record(&rows)?)
}
