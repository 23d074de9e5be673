//! Revoking a single token of an app.

use axum::response::Response;
use belfry_core::audit::AuditKind;
use belfry_core::oauth::form::last_value;
use belfry_core::secret::LookupKey;

use crate::http::extract::form::Form;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::{redirect_to_sign_in, redirect_with_notice, respond};
use crate::pages::{AccountSection, Notice};
use crate::paths::ACCOUNT;

/// `POST /oauth/account/revoke_token`: revokes the token of the account in the field `token`, if it
/// is valid.
pub(crate) async fn revoke_token(session: BrowserSession, Form(pairs): Form) -> Response {
    let result = async {
        let Some(account) = session.account() else {
            return redirect_to_sign_in(&session, AccountSection::Overview, Some(Notice::NotSaved));
        };
        session.check_form(&pairs)?;
        if let Some(lookup) = LookupKey::from_text(last_value(&pairs, "token")) {
            let events = session.audit.success(AuditKind::TokenRevoke).into();
            let (store, now) = (&session.state.store, session.state.clock.now());
            store.revoke_token_of(&events, account.id, lookup, now).await?;
        }
        redirect_with_notice(&session, ACCOUNT, Notice::TokenRevoked)
    };
    respond(&session, result.await)
}
