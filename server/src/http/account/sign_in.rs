//! `/oauth/sign_in`: signing in with a password.

use axum::http::{StatusCode, header};
use axum::response::Response;
use belfry_core::audit::AuditKind;
use belfry_core::form::{Pairs, last_value};
use belfry_core::secret::{HashedSecret, Secret, SplitToken};
use belfry_store::{Account, WriteOutcome};
use url::Url;

use crate::auth::authentication::{
    AuthenticationError, AuthenticationProof, GuessGuard, Login, VerifyError,
};
use crate::config::RegistrationPolicy;
use crate::http::error::{PageError, sign_in_status};
use crate::http::extract::cookie::Cookie;
use crate::http::extract::form::PageForm;
use crate::http::extract::session::BrowserSession;
use crate::http::pending_authorization::{PendingAuthorization, resume_path};
use crate::http::respond::{redirect, render_page, respond, sign_in_path, with_retry_after};
use crate::language::Language;
use crate::pages::{self, AccountSection, Notice, SignInPage};
use crate::paths::{SIGN_IN, SIGN_UP, with_language, with_parameters};

/// `GET /oauth/sign_in`: shows the sign-in page, or redirects to the account if the browser is
/// signed in.
pub(crate) async fn get_sign_in_page(session: BrowserSession) -> Response {
    let result = match session.account() {
        None => render_sign_in_page(&session, None, "", None),
        Some(_) => redirect_back(&session, session.lang),
    };
    respond(&session, result)
}

/// Redirects to the account page from which the sign-in page was opened, or to the overview.
fn redirect_back(session: &BrowserSession, lang: Option<Language>) -> Result<Response, PageError> {
    let section = session.return_to.unwrap_or(AccountSection::Overview);
    let notice = session.notice.map(|notice| ("notice", notice.code()));
    redirect(session, &with_parameters(&with_language(section.path(), lang), notice))
}

/// Renders the sign-in page, for a pending authorization if there is one, and with the error of a
/// failed attempt.
pub(crate) fn render_sign_in_page(
    session: &BrowserSession,
    pending: Option<&PendingAuthorization>,
    name: &str,
    failure: Option<AuthenticationError>,
) -> Result<Response, PageError> {
    let (action, notice) = match pending {
        Some(pending) => (with_language(SIGN_IN, pending.chosen_lang), None),
        None => (sign_in_path(session.lang, session.return_to, session.notice), session.notice),
    };
    let notice = notice.or_else(|| session.has_ended().then_some(Notice::SignedOut));
    let csrf = session.csrf_token();
    let instance = &session.state.config.instance;
    let sign_up_path = sign_up_path(session, pending);
    let request = pending.and_then(PendingAuthorization::handle);
    let language_link = match request {
        Some(handle) => resume_path(handle, None),
        None => sign_in_path(None, session.return_to, session.notice),
    };
    let page = SignInPage {
        layout: session
            .layout(pending.map_or(session.lang, PendingAuthorization::lang))
            .with_language_link(&language_link),
        form: pages::Form { action: &action, csrf: &csrf, request },
        app: pending.map(|pending| pending.app.details.name.as_str()),
        name,
        failure,
        notice,
        password_reset_url: instance.password_reset_url.as_ref().map(Url::as_str),
        sign_up_path: sign_up_path.as_deref(),
    };
    let redirect_uri = pending.map(|pending| &pending.request.target.redirect_uri);
    let status = failure.map_or(StatusCode::OK, sign_in_status);
    let mut response = render_page(session, status, &page, redirect_uri)?;
    if session.has_ended() {
        // The end of a session is reported once.
        let removal_header = Cookie::SignedIn.set_cookie_header(&session.state.base_url, "", 0);
        response.headers_mut().append(header::SET_COOKIE, removal_header);
    }
    Ok(with_retry_after(response, failure.and_then(AuthenticationError::retry_after)))
}

/// Returns the path of the sign-up page if registration is open.
pub(crate) fn sign_up_path(
    session: &BrowserSession,
    pending: Option<&PendingAuthorization>,
) -> Option<String> {
    let is_open = session.state.config.registration == RegistrationPolicy::Open;
    is_open.then(|| match pending.and_then(|pending| Some((pending.handle()?, pending))) {
        Some((handle, pending)) => {
            with_language(&format!("{SIGN_UP}?request={handle}"), pending.chosen_lang)
        }
        None => with_language(SIGN_UP, session.lang),
    })
}

/// `POST /oauth/sign_in`: verifies the password and starts a session, which stores the
/// language of the page.
pub(crate) async fn sign_in(mut session: BrowserSession, PageForm(pairs): PageForm) -> Response {
    let result = submit_sign_in(&mut session, &pairs).await;
    respond(&session, result)
}

async fn submit_sign_in(
    session: &mut BrowserSession,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let request_handle = last_value(pairs, "request");
    let name = last_value(pairs, "username").trim();
    if let Err(error) = session.check_form(pairs) {
        // A double submit: the first submission replaced the cookie that the CSRF token is derived
        // from. The redirect changes nothing, so no CSRF token is required.
        return if is_signed_in_as(session, name) {
            redirect_signed_in(session, request_handle).await
        } else {
            Err(error)
        };
    }
    let pending = load_pending_authorization(session, request_handle).await?;
    let password = Secret::new(last_value(pairs, "password"));
    let state = session.state.clone();
    let sign_ins = &state.metrics.authentication.page_sign_ins;
    let login = Login::NameOrEmail(name);
    let result = state.authenticator().sign_in(&session.guard, sign_ins, login, password).await;
    let failure = match result {
        Ok(proof) => {
            let account_id = proof.account.id;
            let response = start_session(session, pending.as_ref(), request_handle, proof).await?;
            if let Some(response) = response {
                return Ok(response);
            }
            session.guard.record_failure(AuditKind::SignIn, Some(account_id));
            sign_ins.rejected.inc();
            AuthenticationError::WrongPassword
        }
        Err(VerifyError::Rejected(failure)) => failure,
        Err(VerifyError::Store(error)) => return Err(error.into()),
    };
    render_sign_in_page(session, pending.as_ref(), name, Some(failure))
}

/// Returns the pending authorization with this handle; `None` if the handle is empty.
pub(super) async fn load_pending_authorization(
    session: &BrowserSession,
    request_handle: &str,
) -> Result<Option<PendingAuthorization>, PageError> {
    match request_handle {
        "" => Ok(None),
        request_handle => PendingAuthorization::load(session, request_handle).await.map(Some),
    }
}

/// Redirects an already signed-in browser to the authorization request with this handle, or to the
/// account page if the handle is empty.
pub(super) async fn redirect_signed_in(
    session: &BrowserSession,
    request_handle: &str,
) -> Result<Response, PageError> {
    if request_handle.is_empty() {
        return redirect_back(session, None);
    }
    PendingAuthorization::load(session, request_handle).await?;
    redirect(session, &resume_path(request_handle, session.lang))
}

/// Signs the account in, and redirects the browser to the pending authorization, or to the account.
/// Returns `None` if the password was changed or the account disabled after the password was
/// verified.
pub(super) async fn start_session(
    session: &mut BrowserSession,
    pending: Option<&PendingAuthorization>,
    request_handle: &str,
    proof: AuthenticationProof,
) -> Result<Option<Response>, PageError> {
    let old_cookie = session.hashed_cookie();
    let account_id = proof.account.id;
    let lang = pending.map_or(session.lang, PendingAuthorization::lang);
    if session.sign_in(proof, lang).await? == WriteOutcome::NotFound {
        return Ok(None);
    }
    session.state.metrics.authentication.page_sign_ins.success.inc();
    let response = match request_handle {
        "" => redirect_back(session, None),
        request_handle => {
            rebind_request(session, request_handle, old_cookie, Some(account_id)).await
        }
    };
    response.map(Some)
}

/// Returns whether the account with this name or e-mail address is already signed in. False for a
/// request from another origin.
pub(super) fn is_signed_in_as(session: &BrowserSession, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_named =
        |account: &Account| account.name == name || account.email.as_ref() == Some(&name);
    session.is_same_origin && session.account().is_some_and(is_named)
}

/// Binds an authorization request to the browser's new cookie, and redirects to the request.
pub(crate) async fn rebind_request(
    session: &BrowserSession,
    request_handle: &str,
    old_cookie: HashedSecret,
    account_id: Option<i64>,
) -> Result<Response, PageError> {
    let store = &session.state.store;
    let request = SplitToken::parse(request_handle).ok_or(PageError::Expired)?.hashed_secret();
    match store.rebind_request(request, old_cookie, session.hashed_cookie(), account_id).await? {
        WriteOutcome::Written => redirect(session, &resume_path(request_handle, session.lang)),
        WriteOutcome::NotFound => Err(PageError::Expired),
    }
}
