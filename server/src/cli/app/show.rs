//! `belfry app list APP`

use belfry_core::oauth::app::App;
use belfry_store::{AppTokens, EnabledState, Store};
use jiff::Timestamp;

use super::find_app;
use super::list::to_json;
use crate::cli::output::{format_json_line, print, print_record};
use crate::cli::{CliError, or_dash, or_never};

/// Prints an app with the state of its secrets and its number of tokens.
pub(super) async fn show_app(
    argument: &str,
    as_json: bool,
    store: &Store,
    now: Timestamp,
) -> Result<(), CliError> {
    let stored_app = find_app(store, argument).await?;
    let App { id, client_id, details, .. } = &stored_app.app;
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
