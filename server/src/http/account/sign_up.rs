//! `/oauth/sign_up`: creating an account, if registration is open.

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::account::sign_up::{InvalidField, SignUp};
use belfry_core::form::{Pairs, last_value};
use url::Url;

use super::registration::{NAME_TAKEN, create_account, validate_sign_up};
use super::sign_in::{
    is_signed_in_as, load_pending_authorization, redirect_signed_in, start_session,
};
use crate::auth::authentication::{AuthenticationError, AuthenticationProof, SignUpError};
use crate::config::RegistrationPolicy;
use crate::http::error::{LimitExceeded, PageError, SubmitError, sign_in_status};
use crate::http::extract::form::{PageForm, Query};
use crate::http::extract::session::BrowserSession;
use crate::http::pending_authorization::{PendingAuthorization, resume_path};
use crate::http::respond::{render_page, respond, respond_with, with_retry_after};
use crate::pages::{self, SignUpPage};
use crate::paths::{SIGN_IN, SIGN_UP, with_language};

/// `GET /oauth/sign_up`: shows the sign-up page. If the browser is signed in, redirects to the
/// pending authorization or to the account.
pub(crate) async fn get_sign_up_page(session: BrowserSession, Query(query): Query) -> Response {
    respond_with(&session, async {
        let request_handle = last_value(&query, "request");
        if session.account().is_some() {
            return redirect_signed_in(&session, request_handle).await;
        }
        require_open_registration(&session)?;
        let pending = load_pending_authorization(&session, request_handle).await?;
        render_sign_up_page(
            &session,
            pending.as_ref(),
            &SignUp::from_pairs(&Pairs::new()),
            &FormErrors::default(),
        )
    })
    .await
}

/// `POST /oauth/sign_up`: creates an account and signs in to it.
pub(crate) async fn sign_up(mut session: BrowserSession, PageForm(pairs): PageForm) -> Response {
    let result = submit_sign_up(&mut session, &pairs).await;
    respond(&session, result)
}

/// Reasons why a sign-up was rejected.
#[derive(Default)]
struct FormErrors {
    field_errors: Vec<InvalidField>,
    /// True if `password_again` differs from `password`.
    passwords_differ: bool,
    failure: Option<AuthenticationError>,
}

impl FormErrors {
    fn is_empty(&self) -> bool {
        self.field_errors.is_empty() && !self.passwords_differ && self.failure.is_none()
    }

    fn from_failure(failure: AuthenticationError) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }
}

async fn submit_sign_up(
    session: &mut BrowserSession,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    let request_handle = last_value(pairs, "request");
    let sign_up = SignUp::from_pairs(pairs).with_optional_email();
    if let Err(error) = session.check_form(pairs) {
        // A double submit: the first submission replaced the cookie that the CSRF token is derived
        // from.
        return if is_signed_in_as(session, &sign_up.username) {
            redirect_signed_in(session, request_handle).await
        } else {
            Err(error)
        };
    }
    require_open_registration(session)?;
    let pending = load_pending_authorization(session, request_handle).await?;
    let proof = match create_from_form(session, pairs, sign_up.clone()).await {
        Ok(proof) => proof,
        Err(error) => {
            return render_sign_up_page(session, pending.as_ref(), &sign_up, &error.into_reason()?);
        }
    };
    if let Some(response) = start_session(session, pending.as_ref(), request_handle, proof).await? {
        return Ok(response);
    }
    // Someone else has just changed the password of the new account.
    let errors = FormErrors::from_failure(AuthenticationError::WrongPassword);
    render_sign_up_page(session, pending.as_ref(), &sign_up, &errors)
}

/// Creates the account. Whether the name is taken is checked after the sign-up has counted towards
/// the limits, so that names cannot be enumerated faster than with the API.
async fn create_from_form(
    session: &BrowserSession,
    pairs: &Pairs,
    sign_up: SignUp,
) -> Result<AuthenticationProof, SubmitError<FormErrors>> {
    let has_rules = session.state.config.instance.rules_url.is_some();
    let sign_up = if has_rules { sign_up } else { sign_up.with_rules_accepted() };
    let passwords_differ = last_value(pairs, "password_again") != sign_up.password.reveal();
    let reject = |field_errors: Vec<InvalidField>, passwords_differ| {
        SubmitError::Rejected(FormErrors { field_errors, passwords_differ, failure: None })
    };
    let new_account = match validate_sign_up(&session.state, sign_up) {
        Ok(new_account) if !passwords_differ => new_account,
        Ok(_) => return Err(reject(Vec::new(), true)),
        Err(errors) => return Err(reject(errors.0, passwords_differ)),
    };
    let fail = |error| SubmitError::Rejected(FormErrors::from_failure(error));
    let limit_exceeded =
        |LimitExceeded { retry_after }| fail(AuthenticationError::TooManyAttempts(retry_after));
    session.guard.count_sign_up().await.map_err(limit_exceeded)?;
    create_account(&session.state, &session.guard.audit, new_account).await.map_err(|error| {
        match error {
            SignUpError::NameTaken => reject(vec![NAME_TAKEN], false),
            SignUpError::Busy(_) => fail(AuthenticationError::Busy),
            SignUpError::Store(error) => error.into(),
        }
    })
}

fn require_open_registration(session: &BrowserSession) -> Result<(), PageError> {
    match session.state.config.registration {
        RegistrationPolicy::Open => Ok(()),
        RegistrationPolicy::Closed => Err(PageError::RegistrationClosed),
    }
}

fn render_sign_up_page(
    session: &BrowserSession,
    pending: Option<&PendingAuthorization>,
    sign_up: &SignUp,
    errors: &FormErrors,
) -> Result<Response, PageError> {
    let lang = pending.map_or(session.lang, PendingAuthorization::lang);
    let action = with_language(SIGN_UP, session.lang);
    let (sign_in_path, language_link) = match pending.and_then(PendingAuthorization::handle) {
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
        username: &sign_up.username,
        email: sign_up.email.as_deref().unwrap_or_default(),
        rules_url: session.state.config.instance.rules_url.as_ref().map(Url::as_str),
        has_agreed: !sign_up.agreement.is_empty(),
        errors: &errors.field_errors,
        passwords_differ: errors.passwords_differ,
        failure: errors.failure,
        sign_in_path: &sign_in_path,
    };
    let status = match errors.failure {
        Some(failure) => sign_in_status(failure),
        None if errors.is_empty() => StatusCode::OK,
        None => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let redirect_uri = pending.map(|pending| &pending.request.target.redirect_uri);
    let response = render_page(session, status, &page, redirect_uri)?;
    Ok(with_retry_after(response, errors.failure.and_then(AuthenticationError::retry_after)))
}
