//! `/oauth/sign_up`: creating an account, if registration is open.

use std::future::ready;

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::oauth::sign_up::{InvalidField, SignUp};
use belfry_store::{Account, StoreError};
use jiff::SignedDuration;
use url::Url;

use super::registration::{NAME_TAKEN, register, validate};
use super::sign_in::{is_signed_in_as, load_pending, resume_signed_in, start_session};
use crate::auth::authentication::{
    Authenticated, AuthenticationError, Guess, SignUpError, VerifyError,
};
use crate::config::RegistrationPolicy;
use crate::http::error::{LimitExceeded, PageError, SubmitError, sign_in_status};
use crate::http::extract::abuse_guard::{AbuseGuard, PageGuard};
use crate::http::extract::form::{PageForm, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::pending_authorization::{PendingAuthorization, resume_path};
use crate::http::respond::{respond, show_page, with_retry_after};
use crate::pages::{self, SignUpPage};
use crate::paths::{SIGN_IN, SIGN_UP, with_language};

/// Time after a sign-up during which submitting the same form again signs in to the new account.
const DOUBLE_SUBMIT_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// `GET /oauth/sign_up`: shows the sign-up page. If the browser is signed in, redirects to the
/// pending authorization or to the account.
pub(crate) async fn sign_up_page(session: BrowserSession, Query(query): Query) -> Response {
    let result = async {
        let handle = last_value(&query, "request");
        if session.account().is_some() {
            return resume_signed_in(&session, handle).await;
        }
        check_open(&session)?;
        let pending = load_pending(&session, handle).await?;
        show(&session, pending.as_ref(), &SignUp::from_pairs(&Pairs::new()), &Errors::default())
    };
    respond(&session, result.await)
}

/// `POST /oauth/sign_up`: creates an account and signs in to it, in the language of the page.
pub(crate) async fn sign_up(
    mut session: BrowserSession,
    PageGuard(guard): PageGuard,
    PageForm(pairs): PageForm,
) -> Response {
    let result = handle_sign_up(&mut session, &guard, &pairs).await;
    respond(&session, result)
}

/// Reasons why a sign-up was rejected.
#[derive(Default)]
struct Errors {
    fields: Vec<InvalidField>,
    /// True if `password_again` differs from `password`.
    passwords_differ: bool,
    failure: Option<AuthenticationError>,
}

impl Errors {
    fn is_empty(&self) -> bool {
        self.fields.is_empty() && !self.passwords_differ && self.failure.is_none()
    }

    fn from_failure(failure: AuthenticationError) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }
}

async fn handle_sign_up(
    session: &mut BrowserSession,
    guard: &AbuseGuard,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let handle = last_value(pairs, "request");
    let entered = SignUp::from_pairs(pairs).with_optional_email();
    if let Err(error) = session.check_form(pairs) {
        // A double submit: the first one replaced the cookie that the CSRF token is derived from.
        return if is_signed_in_as(session, &entered.username) {
            resume_signed_in(session, handle).await
        } else {
            Err(error)
        };
    }
    check_open(session)?;
    let pending = load_pending(session, handle).await?;
    let authenticated = match create(session, guard, pairs, entered.clone()).await {
        Ok(authenticated) => authenticated,
        Err(error) => {
            let errors = error.into_reason()?;
            match find_double_submit(session, guard, &entered, &errors).await? {
                Some(authenticated) => authenticated,
                None => return show(session, pending.as_ref(), &entered, &errors),
            }
        }
    };
    if let Some(response) = start_session(session, pending.as_ref(), handle, authenticated).await? {
        return Ok(response);
    }
    // Someone else has just changed the password of the new account.
    let errors = Errors::from_failure(AuthenticationError::WrongPassword);
    show(session, pending.as_ref(), &entered, &errors)
}

/// Creates the account. Whether the name is taken is checked after the sign-up has counted towards
/// the limits, so that names cannot be tried out faster than with the API.
async fn create(
    session: &BrowserSession,
    guard: &AbuseGuard,
    pairs: &Pairs,
    entered: SignUp,
) -> Result<Authenticated, SubmitError<Errors>> {
    let has_rules = session.state.config.instance.rules_url.is_some();
    let entered = if has_rules { entered } else { entered.with_rules_accepted() };
    let passwords_differ = last_value(pairs, "password_again") != entered.password.reveal();
    let rejected = |fields: Vec<InvalidField>, passwords_differ| {
        SubmitError::Rejected(Errors { fields, passwords_differ, failure: None })
    };
    let valid = match validate(&session.state, entered) {
        Ok(valid) if !passwords_differ => valid,
        Ok(_) => return Err(rejected(Vec::new(), true)),
        Err(invalid) => return Err(rejected(invalid.0, passwords_differ)),
    };
    let failure = |error| SubmitError::Rejected(Errors::from_failure(error));
    let too_many =
        |LimitExceeded { retry_after }| failure(AuthenticationError::TooMany(retry_after));
    guard.count_sign_up().await.map_err(too_many)?;
    register(&session.state, &session.audit, valid).await.map_err(|error| match error {
        SignUpError::NameTaken => rejected(vec![NAME_TAKEN], false),
        SignUpError::Busy(_) => failure(AuthenticationError::Busy),
        SignUpError::Store(error) => error.into(),
    })
}

/// Returns the account that the first of two identical forms has just created. The password must be
/// right, and the attempt counts as a sign-in.
async fn find_double_submit(
    session: &BrowserSession,
    guard: &AbuseGuard,
    entered: &SignUp,
    errors: &Errors,
) -> Result<Option<Authenticated>, StoreError> {
    if errors.fields != [NAME_TAKEN] {
        return Ok(None);
    }
    let (state, name) = (&session.state, &*entered.username);
    let is_new = |account: &Account| {
        let age = state.clock.now().duration_since(account.created_at);
        age < DOUBLE_SUBMIT_WINDOW && account.disabled_at.is_none()
    };
    let Some(account) = state.store.account_by_name(name).await?.filter(is_new) else {
        return Ok(None);
    };
    let (guess, lookup) = (Guess::SignIn(name), ready(Ok(Some(account))));
    let password = entered.password.clone();
    match state.authenticator().verify(guard, guess, None, lookup, password).await {
        Ok(verified) => Ok(Some(verified)),
        Err(VerifyError::Rejected(_)) => Ok(None),
        Err(VerifyError::Store(error)) => Err(error),
    }
}

fn check_open(session: &BrowserSession) -> Result<(), PageError> {
    match session.state.config.registration {
        RegistrationPolicy::Open => Ok(()),
        RegistrationPolicy::Closed => Err(PageError::RegistrationClosed),
    }
}

fn show(
    session: &BrowserSession,
    pending: Option<&PendingAuthorization>,
    entered: &SignUp,
    errors: &Errors,
) -> Result<Response, PageError> {
    let lang = pending.map_or(session.lang, PendingAuthorization::lang);
    let action = with_language(SIGN_UP, session.lang);
    let (sign_in, language_link) = match pending.and_then(PendingAuthorization::handle) {
        Some(handle) => (resume_path(handle, session.lang), format!("{SIGN_UP}?request={handle}")),
        None => (with_language(SIGN_IN, session.lang), SIGN_UP.to_owned()),
    };
    let csrf = session.csrf_token();
    let page = SignUpPage {
        layout: session.layout(lang).with_language_link(&language_link),
        form: pages::Form {
            action: &action,
            csrf: &csrf,
            request: pending.and_then(PendingAuthorization::handle),
        },
        app: pending.map(|pending| pending.app.details.name.as_str()),
        username: &entered.username,
        email: entered.email.as_deref().unwrap_or_default(),
        rules: session.state.config.instance.rules_url.as_ref().map(Url::as_str),
        has_agreed: !entered.agreement.is_empty(),
        errors: &errors.fields,
        passwords_differ: errors.passwords_differ,
        failure: errors.failure,
        sign_in: &sign_in,
    };
    let status = match errors.failure {
        Some(failure) => sign_in_status(failure),
        None if errors.is_empty() => StatusCode::OK,
        None => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let app = pending.map(|pending| &pending.request.target.redirect_uri);
    let response = show_page(session, status, &page, app)?;
    Ok(with_retry_after(response, errors.failure.and_then(AuthenticationError::retry_after)))
}
