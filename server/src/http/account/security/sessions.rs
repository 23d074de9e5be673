//! Ending sessions in other browsers.

use axum::response::Response;
use belfry_core::audit::{AuditEntry, AuditKind, Events};
use belfry_core::oauth::form::last_value;
use belfry_core::secret::LookupKey;

use crate::http::extract::form::Form;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect, redirect_to_sign_in, redirect_with_notice, respond};
use crate::pages::{AccountSection, Notice};
use crate::paths::{ACCOUNT_SECURITY, SIGN_OUT, with_language};

/// `POST /oauth/account/security/end_session`: ends the session of the account in the field
/// `session`, if it has not ended yet.
pub(crate) async fn end_session(mut session: BrowserSession, Form(pairs): Form) -> Response {
    let result = async {
        let Some(account) = session.account() else {
            let notice = Some(Notice::NotSaved);
            return redirect_to_sign_in(&session, AccountSection::Security, notice);
        };
        session.check_form(&pairs)?;
        if let Some(lookup) = LookupKey::from_text(last_value(&pairs, "session")) {
            if lookup == session.hashed_cookie().lookup {
                session.sign_out().await?;
                return redirect(&session, &with_language(SIGN_OUT, session.lang));
            }
            let store = &session.state.store;
            store.end_session(&events(&session), account.id, lookup).await?;
        }
        redirect_with_notice(&session, ACCOUNT_SECURITY, Notice::SessionEnded)
    };
    let result = result.await;
    respond(&session, result)
}

/// `POST /oauth/account/security/end_other_sessions`: ends all sessions of the account except the
/// one of this browser.
pub(crate) async fn end_other_sessions(session: BrowserSession, Form(pairs): Form) -> Response {
    let result = async {
        let Some(account) = session.account() else {
            let notice = Some(Notice::NotSaved);
            return redirect_to_sign_in(&session, AccountSection::Security, notice);
        };
        session.check_form(&pairs)?;
        let (this, now) = (session.hashed_cookie().lookup, session.state.clock.now());
        let store = &session.state.store;
        store.end_other_sessions(&events(&session), account.id, this, now).await?;
        redirect_with_notice(&session, ACCOUNT_SECURITY, Notice::SessionsEnded)
    };
    respond(&session, result.await)
}

/// The owner of the account ends a session elsewhere.
fn events(session: &BrowserSession) -> Events {
    let detail = Some("another session".to_owned());
    AuditEntry { detail, ..session.audit.success(AuditKind::SignOut) }.into()
}
