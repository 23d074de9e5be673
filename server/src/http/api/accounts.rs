//! `/api/v1/accounts`: sign-up, and the account that a token belongs to.

use axum::extract::State;
use belfry_core::account::Role;
use belfry_core::account::sign_up::SignUp;
use belfry_core::admin::role_id;
use belfry_core::audit::AuditKind;
use belfry_core::oauth::scope::Scope;
use belfry_core::validation::ValidationErrors;
use belfry_store::{Account, Store};
use serde_json::{Value, json};

use crate::app::AppState;
use crate::auth::authentication::SignUpError;
use crate::config::{BaseUrl, RegistrationPolicy};
use crate::http::account::registration::{NAME_TAKEN, create_account, validate_sign_up};
use crate::http::error::{ApiError, CommonError};
use crate::http::extract::audit::RequestAudit;
use crate::http::extract::bearer::Bearer;
use crate::http::extract::form::Form;
use crate::http::json::Json;
use crate::http::oauth::token::TokenResponse;
use crate::language::Language;

/// `POST /api/v1/accounts`: creates an account and returns a token for the app.
pub(crate) async fn sign_up(
    State(state): State<AppState>,
    audit: RequestAudit,
    bearer: Bearer,
    language: Language,
    Form(pairs): Form,
) -> Result<Json<TokenResponse>, ApiError> {
    bearer.require_scope(&[Scope::WriteAccounts])?;
    if bearer.token.account.is_some() {
        return Err(ApiError::AppTokenRequired);
    }
    if state.config.registration == RegistrationPolicy::Closed {
        return Err(ApiError::RegistrationClosed);
    }
    let app = state.store.app(bearer.token.app_id).await?.ok_or(CommonError::Internal)?.app;
    let invalid_account = |errors| ApiError::invalid_account(&errors, language);
    let new_account =
        validate_sign_up(&state, SignUp::from_pairs(&pairs)).map_err(invalid_account)?;
    let proof = create_account(&state, &audit, new_account).await.map_err(|error| match error {
        SignUpError::NameTaken => invalid_account(ValidationErrors(vec![NAME_TAKEN])),
        SignUpError::Busy(error) => error.into(),
        SignUpError::Store(error) => error.into(),
    })?;
    let tokens = state.token_issuer();
    let events = audit.success_event(AuditKind::TokenIssue).into();
    let account_id = proof.account.id;
    let token = tokens.issue(&events, app.id, account_id, app.sign_up_scopes()).await?;
    state.metrics.authentication.tokens.sign_up.inc();
    Ok(Json(token.into()))
}

/// `GET /api/v1/accounts/verify_credentials`
pub(crate) async fn verify_credentials(
    State(store): State<Store>,
    State(base_url): State<BaseUrl>,
    bearer: Bearer,
) -> Result<Json<Value>, ApiError> {
    bearer.require_scope(&[Scope::Profile, Scope::ReadAccounts])?;
    let account = store.account(bearer.require_user()?.id).await?.ok_or(ApiError::InvalidToken)?;
    Ok(Json(credential_account_entity(&base_url, &account)))
}

/// Returns Mastodon's `Account`. Belfry has no profiles, so most fields have the values of a new
/// account.
pub(crate) fn account_entity(base_url: &BaseUrl, account: &Account) -> Value {
    let url = base_url.profile_url(&account.name);
    let image_url = base_url.avatar_url();
    // Mastodon truncates the time to midnight.
    let created_at = format!("{}T00:00:00.000Z", account.created_at.strftime("%Y-%m-%d"));
    // Only public roles are listed.
    let roles = match account.role {
        Role::Admin => {
            json!([{ "id": role_id(account.role).to_string(), "name": ADMIN_ROLE, "color": "" }])
        }
        Role::User => json!([]),
    };
    json!({
        "id": account.id.to_string(),
        "username": account.name,
        "acct": account.name,
        "display_name": account.name,
        "locked": false,
        "bot": false,
        "discoverable": false,
        "indexable": false,
        "group": false,
        "created_at": created_at,
        "note": "",
        "url": url,
        "uri": base_url.account_uri(account.id),
        "avatar": image_url,
        "avatar_static": image_url,
        "header": image_url,
        "header_static": image_url,
        "followers_count": 0,
        "following_count": 0,
        "statuses_count": 0,
        "last_status_at": null,
        "hide_collections": null,
        "noindex": true,
        "emojis": [],
        "roles": roles,
        "fields": [],
    })
}

/// Returns Mastodon's `CredentialAccount`: an `Account` with its preferences and permissions.
fn credential_account_entity(base_url: &BaseUrl, account: &Account) -> Value {
    let mut entity = account_entity(base_url, account);
    entity["source"] = json!({
        "privacy": "public",
        "sensitive": false,
        "language": null,
        "note": "",
        "fields": [],
        "follow_requests_count": 0,
        "hide_collections": null,
        "discoverable": false,
        "indexable": false,
        "attribution_domains": [],
        "quote_policy": "public",
    });
    let is_admin = account.role == Role::Admin;
    entity["role"] = json!({
        "id": role_id(account.role).to_string(),
        "name": role_name(account.role),
        "permissions": if is_admin { ALL_PERMISSIONS } else { 0 }.to_string(),
        "color": "",
        "highlighted": is_admin,
    });
    entity
}

const ADMIN_ROLE: &str = "Admin";

/// Mastodon's 20 permissions, as bits.
const ALL_PERMISSIONS: u32 = (1 << 20) - 1;

/// Returns a role's name. The role that everyone has is unnamed, as in Mastodon.
pub(crate) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Admin => ADMIN_ROLE,
        Role::User => "",
    }
}
