//! `/oauth/account`: the account and its authorized apps.

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::audit::AuditKind;
use belfry_core::form::{Pairs, last_value};
use belfry_core::rules::RuleScope;
use belfry_core::rules::preferences::Pause;
use belfry_core::secret::LookupKey;

use super::notifications::load_rulesets;
use crate::http::error::PageError;
use crate::http::extract::form::{PageForm, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, redirect_with_notice, render_large_page, respond_with};
use crate::pages::{self, AccountPage, AccountSection, ListedApp, Notice, PageNumber};
use crate::paths::{ACCOUNT, ACCOUNT_SECURITY, REMOVE_APP, REVOKE_TOKEN, SIGN_OUT, with_language};

/// The actions for which a client may open the account page (`account_management_actions_supported`,
/// MSC4191). This page shows the profile and the devices. The page "Security" deletes the account.
pub(crate) const ACCOUNT_ACTIONS: [&str; 5] = [
    "org.matrix.profile",
    "org.matrix.devices_list",
    "org.matrix.device_view",
    "org.matrix.device_delete",
    DEACTIVATE,
];

const DEACTIVATE: &str = "org.matrix.account_deactivate";

/// `GET /oauth/account`: redirects to the sign-in page unless the browser is signed in.
pub(crate) async fn get_account_page(session: BrowserSession, Query(query): Query) -> Response {
    respond_with(&session, async {
        if last_value(&query, "action") == DEACTIVATE {
            return redirect(&session, &with_language(ACCOUNT_SECURITY, session.lang));
        }
        render_account_page(&session, &query).await
    })
    .await
}

async fn render_account_page(
    session: &BrowserSession,
    query: &Pairs,
) -> Result<Response, PageError> {
    let lang = session.lang;
    let account = session.require_account(AccountSection::Overview)?;
    let store = &session.state.store;
    let mut apps = store.authorized_apps(account.id, session.now).await?;
    apps.sort_by_cached_key(|app| (app.name.to_lowercase(), app.app_id));
    let page = PageNumber::from_query(query);
    let app_count = apps.len();
    let mut listed_apps = Vec::new();
    for mut app in apps.drain(page.entry_range(app_count)) {
        app.scopes = std::mem::take(&mut app.scopes).effective_for_role(Some(account.role));
        let tokens = store.account_app_tokens(account.id, app.app_id, session.now).await?;
        listed_apps.push(ListedApp { app, tokens });
    }
    let rulesets = load_rulesets(session, account).await?;
    let csrf = session.csrf_token();
    let [sign_out_path, remove_app_path, revoke_token_path] =
        [SIGN_OUT, REMOVE_APP, REVOKE_TOKEN].map(|action| with_language(action, lang));
    let page = AccountPage {
        layout: session.layout(lang),
        nav: session.nav(AccountSection::Overview),
        account: &account.name,
        email: account.email.as_deref().or(account.unverified_email.as_deref()),
        pause: rulesets.document(&RuleScope::Global).and_then(Pause::from_document),
        sign_out_form: pages::Form { action: &sign_out_path, csrf: &csrf, request: None },
        remove_app_form: pages::Form { action: &remove_app_path, csrf: &csrf, request: None },
        revoke_token_form: pages::Form { action: &revoke_token_path, csrf: &csrf, request: None },
        apps: &listed_apps,
        app_count,
        page,
        now: session.now,
    };
    render_large_page(session, StatusCode::OK, &page, account.id)
}

/// `POST /oauth/account/remove_app`: revokes the access of the app with the id in the field `app`.
pub(crate) async fn remove_app(session: BrowserSession, PageForm(pairs): PageForm) -> Response {
    respond_with(&session, async {
        let account = session.require_account_for_form(AccountSection::Overview, &pairs)?;
        if let Ok(app) = last_value(&pairs, "app").parse::<i64>() {
            let events = session.success_event(AuditKind::TokenRevoke).into();
            let tokens =
                session.state.store.revoke_access(&events, account.id, app, session.now).await?;
            if tokens > 0 {
                tracing::info!(account = %account.id, %app, tokens, "app access revoked");
            }
        }
        redirect_with_notice(&session, ACCOUNT, Notice::AppRemoved)
    })
    .await
}

/// `POST /oauth/account/revoke_token`: revokes the account's token with the lookup key in the field
/// `token`.
pub(crate) async fn revoke_token(session: BrowserSession, PageForm(pairs): PageForm) -> Response {
    respond_with(&session, async {
        let account = session.require_account_for_form(AccountSection::Overview, &pairs)?;
        if let Some(lookup_key) = LookupKey::from_text(last_value(&pairs, "token")) {
            let events = session.success_event(AuditKind::TokenRevoke).into();
            let store = &session.state.store;
            store.revoke_account_token(&events, account.id, lookup_key, session.now).await?;
        }
        redirect_with_notice(&session, ACCOUNT, Notice::TokenRevoked)
    })
    .await
}
