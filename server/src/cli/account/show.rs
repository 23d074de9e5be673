//! `belfry account list ACCOUNT`, and the form of an account in all output.

use belfry_core::matrix;
use belfry_store::{Account, AuthorizedApp, EnabledState};
use serde_json::{Map, Value, json};

use crate::cli::output::{format_count, format_json_line, print, print_record};
use crate::cli::{CliError, Context, or_never};

/// Prints an account with its sessions, apps and number of push rules.
pub(super) async fn show_account(
    argument: &str,
    as_json: bool,
    context: Context<'_>,
) -> Result<(), CliError> {
    let Context { store, config, now } = context;
    let account = context.find_account(argument).await?;
    let sessions = store.session_summary(account.id, now).await?;
    let mut apps = Vec::new();
    for app in store.authorized_apps(account.id, now).await? {
        let token_count = store.account_app_token_count(account.id, app.app_id, now).await?;
        apps.push((app, token_count));
    }
    let rulesets = store.rulesets(account.id, now).await?;
    let documents = rulesets.documents().filter(|document| !document.is_empty());
    let rule_counts: Vec<_> =
        documents.map(|document| (document.scope().to_string(), document.rule_count())).collect();
    let base_url = config.base_url();
    let user_id = matrix::user_id(&account.name, config.server_name_for(&base_url));
    if as_json {
        let mut object = account_to_json(&account);
        object["user_id"] = user_id.into();
        let last_used_at = sessions.last_used_at.map(|time| time.to_string());
        object["sessions"] = json!({ "count": sessions.count, "last_used_at": last_used_at });
        object["apps"] =
            apps.iter().map(|(app, token_count)| app_to_json(app, *token_count)).collect();
        let counts = rule_counts.into_iter().map(|(scope, count)| (scope, count.into()));
        object["rules"] = counts.collect::<Map<_, _>>().into();
        return Ok(print(&format_json_line(&object))?);
    }
    let session_text = match sessions.last_used_at {
        Some(time) => format!("{}, last used {time}", sessions.count),
        None => "none".to_owned(),
    };
    let mut rows = vec![
        ("id", account.id.to_string()),
        ("name", account.name.clone()),
        ("user id", user_id),
        ("e-mail", format_email(&account)),
        ("role", account.role.to_string()),
        ("created", account.created_at.to_string()),
        ("last sign-in", or_never(account.signed_in_at)),
        ("sessions", session_text),
    ];
    rows.extend(apps.iter().map(|(app, token_count)| {
        let AuthorizedApp { app_id, name, scopes, since, .. } = app;
        let tokens = format_count(*token_count, "tokens");
        let description = format!("{app_id} ({name}) since {since}: {tokens}, scopes {scopes}");
        ("app", description)
    }));
    if apps.is_empty() {
        rows.push(("app", "none".to_owned()));
    }
    if rule_counts.is_empty() {
        rows.push(("rules", "none".to_owned()));
    }
    rows.extend(rule_counts.iter().map(|(scope, count)| ("rules", format!("{scope}: {count}"))));
    rows.push(("state", EnabledState::from_disabled_at(account.disabled_at).as_str().to_owned()));
    if let Some(time) = account.delete_at {
        rows.push(("deletion", format!("requested by its owner, due {time}")));
    }
    Ok(print_record(&rows)?)
}

fn app_to_json(app: &AuthorizedApp, token_count: i64) -> Value {
    json!({
        "id": app.app_id.to_string(),
        "client_id": app.client_id,
        "name": app.name,
        "scopes": app.scopes.names().collect::<Vec<_>>(),
        "tokens": token_count,
        "since": app.since.to_string(),
    })
}

/// Returns the e-mail address, marked if it is unverified, or a dash.
pub(super) fn format_email(account: &Account) -> String {
    let Account { email, unverified_email, .. } = account;
    match (email, unverified_email) {
        (Some(email), _) => email.clone(),
        (None, Some(email)) => format!("{email} (unverified)"),
        (None, None) => "-".to_owned(),
    }
}

/// Returns the account as JSON, without its password.
pub(super) fn account_to_json(account: &Account) -> Value {
    let Account { email, unverified_email, .. } = account;
    json!({
        "id": account.id.to_string(),
        "name": account.name,
        "email": email.as_ref().or(unverified_email.as_ref()),
        "email_verified": email.is_some(),
        "role": account.role.as_str(),
        "state": EnabledState::from_disabled_at(account.disabled_at).as_str(),
        "created_at": account.created_at.to_string(),
        "signed_in_at": account.signed_in_at.map(|time| time.to_string()),
        "disabled_at": account.disabled_at.map(|time| time.to_string()),
        "delete_at": account.delete_at.map(|time| time.to_string()),
    })
}
