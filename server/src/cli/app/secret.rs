//! `belfry app secret`: replaces an app's client secret.

use std::time::Duration;

use belfry_core::audit::AuditKind;
use belfry_core::oauth::client::AuthMethod;
use belfry_core::oauth::token::expiry_after;
use belfry_runtime::{duration, random};
use belfry_store::{Store, WriteOutcome};
use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::{find_app, format_title};
use crate::cli::output::{format_json_line, print};
use crate::cli::{CliError, command_events};

#[derive(Args)]
pub(in crate::cli) struct Secret {
    /// Id, client id or name of the app
    id: String,
    /// Time for which the old secret is still accepted, such as 30m or 7d; 0 rejects it immediately
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = parse_duration)]
    keep_old: Duration,
    /// Print a line of JSON
    #[arg(long)]
    json: bool,
}

impl Secret {
    pub(super) async fn run(self, store: &Store, now: Timestamp) -> Result<(), CliError> {
        let stored_app = find_app(store, &self.id).await?;
        let app = &stored_app.app;
        let title = format_title(&stored_app.app);
        if app.properties.registered_by.is_first_party() {
            return Err(format!("app {title} is part of belfry and has no secret").into());
        }
        if app.properties.auth_method == AuthMethod::None {
            return Err(format!("app {title} is public and has no secret").into());
        }
        let exact_expiry = (!self.keep_old.is_zero()).then(|| expiry_after(now, self.keep_old));
        // Times are stored in whole seconds.
        let old_expiry =
            exact_expiry.and_then(|expiry| Timestamp::from_second(expiry.as_second()).ok());
        let secret = random::split_token(now);
        let events = command_events(now, AuditKind::AppSecretChange);
        let outcome =
            store.rotate_app_secret(&events, app.id, secret.hashed_secret(), old_expiry).await?;
        if outcome == WriteOutcome::NotFound {
            return Err(format!("app {title} was deleted in the meantime").into());
        }
        let secret = secret.reveal();
        if self.json {
            let object = json!({
                "id": app.id.to_string(),
                "client_id": app.client_id,
                "client_secret": secret,
                "previous_secret_until": old_expiry.map(|expiry| expiry.to_string()),
            });
            return Ok(print(&format_json_line(&object))?);
        }
        let old_note = match old_expiry {
            Some(expiry) => format!("the old one is accepted until {expiry}"),
            None => "the old one is rejected from now on".to_owned(),
        };
        // Only the current and the previous secret are stored.
        let older_note = stored_app
            .secrets
            .previous_until(now)
            .map_or("", |_| "\nan older secret, which was still accepted, is rejected from now on");
        let message = format!("app {title} has a new client secret, {old_note}{older_note}\n");
        Ok(print(&format!("{message}client_secret: {secret}\n"))?)
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let zero = (text == "0").then_some(Duration::ZERO);
    zero.or_else(|| duration::parse(text))
        .ok_or_else(|| "expected a duration such as 30m, 24h or 7d, or 0".to_owned())
}
