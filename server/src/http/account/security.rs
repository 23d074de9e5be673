//! `/oauth/account/security`: password, sessions, data and deletion of the account.

mod change_password;
mod data;
mod deletion;
mod sessions;

use std::future::ready;

use axum::response::Response;
use belfry_core::audit::AuditKind;
use belfry_core::secret::Secret;
use belfry_store::{Account, StoreError};

pub(crate) use self::change_password::change_password;
pub(crate) use self::data::download_data;
pub(crate) use self::deletion::{keep_account, request_deletion};
pub(crate) use self::sessions::{end_other_sessions, end_session};
use crate::auth::authentication::{Authenticated, AuthenticationError, Guess};
use crate::http::error::{PageError, security_status};
use crate::http::extract::abuse_guard::AbuseGuard;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect_to_sign_in, respond, show_page, with_retry_after};
use crate::pages::{self, AccountSection, MAX_SESSIONS, SecurityError, SecurityPage};
use crate::paths::{END_SESSION, with_language};

/// `GET /oauth/account/security`: redirects to the sign-in page unless the browser is signed in.
pub(crate) async fn security_page(session: BrowserSession) -> Response {
    respond(&session, show(&session, None).await)
}

/// Shows the page, also after a form with an error.
async fn show(
    session: &BrowserSession,
    failed: Option<SecurityError>,
) -> Result<Response, PageError> {
    let Some(account) = session.account() else {
        return redirect_to_sign_in(session, AccountSection::Security, None);
    };
    let now = session.state.clock.now();
    let more_than_shown = i64::try_from(MAX_SESSIONS + 1).unwrap_or(i64::MAX);
    let sessions = session.state.store.sessions_of(account.id, now, more_than_shown).await?;
    let csrf = session.csrf_token();
    let end_session = with_language(END_SESSION, session.lang);
    let page = SecurityPage {
        layout: session.layout(session.lang),
        nav: session.nav(AccountSection::Security),
        account: &account.name,
        form: pages::Form { action: &end_session, csrf: &csrf, request: None },
        sessions: &sessions,
        current: session.hashed_cookie().lookup,
        now,
        failed,
    };
    let response = show_page(session, security_status(failed), &page, None)?;
    Ok(with_retry_after(response, failed.and_then(SecurityError::retry_after)))
}

/// Verifies the password that a signed-in user enters again. A wrong password is an audit event of
/// this kind, if there is one.
async fn confirm_password(
    session: &BrowserSession,
    guard: &AbuseGuard,
    account: &Account,
    password: Secret,
    kind: Option<AuditKind>,
) -> Result<Result<Authenticated, AuthenticationError>, StoreError> {
    let (guess, found) = (Guess::Confirmation(account), ready(Ok(Some(account.clone()))));
    session.state.authenticator().verify(guard, guess, kind, found, password).await
}
