//! What a failure says: the only file with the status codes of failures.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use belfry_core::oauth::app::AppError;
use belfry_core::oauth::error::{Code, Refusal};
use belfry_core::oauth::form::FormError;
use belfry_core::oauth::grant::GrantError;
use belfry_core::oauth::sign_up::AccountError;
use belfry_core::oauth::validation::Invalid;
use serde_json::{Map, Value, json};

use super::area::{Area, Codes};
use super::reader::Reader;
use crate::language::Spoken;
use crate::pages::{SignInProblem, Trouble};
use crate::passwords::Busy;
use crate::store::StoreError;

/// A failure that can happen anywhere. Its answer takes the shape of the area that was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// No route has this path.
    NoSuchPath,
    /// The route of this path has other methods.
    WrongMethod,
    /// The body is larger than this many bytes.
    TooLarge(usize),
    /// The body did not arrive in time.
    TooSlow,
    /// The body broke off.
    Broken,
    /// What was sent cannot be read, and why.
    Malformed(String),
    /// The body is no form, multipart form or JSON, or in another charset than UTF-8.
    MediaType,
    /// Something that is needed does not answer, or too many ask for it.
    Unavailable(&'static str),
    /// A mistake of ours; the log says which.
    Internal,
}

impl Problem {
    /// The answer, in the shape of an area.
    pub(super) fn answer(&self, area: Area) -> Response {
        let (status, codes) = match self {
            Self::NoSuchPath => (StatusCode::NOT_FOUND, UNRECOGNIZED),
            Self::WrongMethod => (StatusCode::METHOD_NOT_ALLOWED, UNRECOGNIZED),
            Self::TooLarge(_) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                Codes { rules: "M_TOO_LARGE", oauth: "invalid_request" },
            ),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, UNKNOWN_REQUEST),
            Self::Broken | Self::Malformed(_) => (StatusCode::BAD_REQUEST, UNKNOWN_REQUEST),
            Self::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, UNKNOWN_REQUEST),
            Self::Unavailable(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Codes { rules: "M_UNKNOWN", oauth: "temporarily_unavailable" },
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                Codes { rules: "M_UNKNOWN", oauth: "server_error" },
            ),
        };
        let mut answer = area.error(status, codes, &self.text());
        if matches!(self, Self::Unavailable(_)) {
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        answer
    }

    fn text(&self) -> String {
        match self {
            Self::NoSuchPath => "There is nothing at this path".to_owned(),
            Self::WrongMethod => "This path cannot be called with this method".to_owned(),
            Self::TooLarge(most) => format!("The body may have at most {most} bytes"),
            Self::TooSlow => "The body did not arrive in time".to_owned(),
            Self::Broken => "The body broke off".to_owned(),
            Self::Malformed(why) => why.clone(),
            Self::MediaType => "Send the body as application/x-www-form-urlencoded, \
                multipart/form-data or application/json, in UTF-8, and say so in Content-Type"
                .to_owned(),
            Self::Unavailable(why) => (*why).to_owned(),
            Self::Internal => "Something went wrong here; it has been logged".to_owned(),
        }
    }
}

const UNRECOGNIZED: Codes = Codes { rules: "M_UNRECOGNIZED", oauth: "invalid_request" };
const UNKNOWN_REQUEST: Codes = Codes { rules: "M_UNKNOWN", oauth: "invalid_request" };

/// A problem travels in the answer's extensions until `site.rs`, which knows the area, writes it.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut answer = Response::default();
        answer.extensions_mut().insert(self);
        answer
    }
}

/// The client is told whether another try makes sense, the log what happened.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed");
        match error {
            StoreError::Unavailable(_) => {
                Self::Unavailable("The database cannot be used at the moment; try again soon")
            }
            _ => Self::Internal,
        }
    }
}

impl From<FormError> for Problem {
    fn from(error: FormError) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl From<Busy> for Problem {
    fn from(_: Busy) -> Self {
        Self::Unavailable("Too many people are signing in at this moment; try again soon")
    }
}

/// A failure of an OAuth endpoint: `{"error": "code", "error_description": "…"}`.
#[derive(Debug)]
pub(super) enum OAuthError {
    /// The protocol says no.
    Refused(Refusal),
    /// Something that can happen anywhere.
    Problem(Problem),
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        let refusal = match self {
            Self::Refused(refusal) => refusal,
            Self::Problem(problem) => return problem.into_response(),
        };
        let status = status_of(refusal);
        let body = json!({
            "error": refusal.code().as_str(),
            "error_description": refusal.to_string(),
        });
        let mut answer = (status, Json(body)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            demand(&mut answer, "Basic realm=\"belfry\"");
        }
        answer
    }
}

/// The status of a refusal that is answered, not redirected.
fn status_of(refusal: Refusal) -> StatusCode {
    match refusal.code() {
        Code::InvalidClient => StatusCode::UNAUTHORIZED,
        Code::UnauthorizedClient => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// A failure of the API: `{"error": "…"}`. The texts are Mastodon's; clients compare them.
#[derive(Debug)]
pub(super) enum ApiError {
    /// There is no token.
    MissingToken,
    /// The token is unknown, or no token at all.
    InvalidToken,
    /// The token was revoked.
    RevokedToken,
    /// The token's time is over.
    ExpiredToken,
    /// The token's account is disabled.
    DisabledAccount,
    /// The token may not be used for this.
    OutsideScopes,
    /// The token is an app's own, and this is for people.
    NoUser,
    /// The token is a person's, and this is for apps.
    NotAnApp,
    /// Strangers may not make accounts.
    RegistrationClosed,
    /// What was sent is wrong: the sentence, and what is wrong with each field.
    Invalid(String, Option<Value>),
    /// Something that can happen anywhere.
    Problem(Problem),
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::Problem(problem) => return problem.into_response(),
            Self::Invalid(error, details) => {
                let mut body = json!({ "error": error });
                if let Some(details) = details {
                    body["details"] = details;
                }
                return (StatusCode::UNPROCESSABLE_ENTITY, Json(body)).into_response();
            }
            Self::MissingToken | Self::InvalidToken => {
                (StatusCode::UNAUTHORIZED, "The access token is invalid")
            }
            Self::RevokedToken => (StatusCode::UNAUTHORIZED, "The access token was revoked"),
            Self::ExpiredToken => (StatusCode::UNAUTHORIZED, "The access token expired"),
            Self::DisabledAccount => (StatusCode::FORBIDDEN, "Your login is currently disabled"),
            Self::OutsideScopes => {
                (StatusCode::FORBIDDEN, "This action is outside the authorized scopes")
            }
            Self::NoUser => {
                (StatusCode::UNPROCESSABLE_ENTITY, "This method requires an authenticated user")
            }
            Self::NotAnApp => {
                (StatusCode::FORBIDDEN, "This method requires an client credentials authentication")
            }
            Self::RegistrationClosed => {
                (StatusCode::FORBIDDEN, "Registration is closed on this server")
            }
        };
        let mut answer = (status, Json(json!({ "error": text }))).into_response();
        match self {
            // Who sent no token is told what is needed, not what was wrong (RFC 6750, section 3.1).
            Self::MissingToken => demand(&mut answer, "Bearer realm=\"belfry\""),
            _ if status == StatusCode::UNAUTHORIZED => demand(
                &mut answer,
                &format!(
                    "Bearer realm=\"belfry\", error=\"invalid_token\", error_description=\"{text}\""
                ),
            ),
            _ => {}
        }
        answer
    }
}

/// Says how a caller can prove who they are.
fn demand(answer: &mut Response, challenge: &str) {
    let challenge = HeaderValue::from_str(challenge).expect("the texts are plain ASCII");
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
}

impl From<Refusal> for OAuthError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<GrantError> for OAuthError {
    fn from(error: GrantError) -> Self {
        Self::Refused(error.into())
    }
}

impl ApiError {
    /// What is wrong with a registration, in the reader's language.
    pub(super) fn invalid_app(invalid: &Invalid<AppError>, reader: &Reader) -> Self {
        Self::Invalid(invalid.spoken(reader.0), None)
    }

    /// What is wrong with a sign-up, and with each of its fields.
    pub(super) fn invalid_account(invalid: &Invalid<AccountError>, reader: &Reader) -> Self {
        let mut details = Map::new();
        for AccountError { field, problem } in invalid {
            let description = problem.spoken(reader.0);
            let wrong = json!({ "error": problem.code(), "description": description });
            details.insert(field.as_str().to_owned(), json!([wrong]));
        }
        Self::Invalid(invalid.spoken(reader.0), Some(details.into()))
    }
}

/// A failure that a person sees, as a page.
#[derive(Debug)]
pub(super) enum PageError {
    /// The protocol says no, and there is nowhere to send the answer.
    Refused(Refusal),
    /// The request is not this browser's, or no longer open.
    Expired,
    /// The form may not be one of ours.
    Unchecked,
    /// Something that can happen anywhere.
    Problem(Problem),
}

impl PageError {
    /// The status of the page.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Refused(refusal) => status_of(*refusal),
            Self::Expired => StatusCode::BAD_REQUEST,
            Self::Unchecked => StatusCode::FORBIDDEN,
            Self::Problem(problem) => problem.answer(Area::OAuth).status(),
        }
    }

    /// What the page is about.
    pub(super) fn trouble(&self) -> Trouble {
        match self {
            Self::Refused(refusal) => Trouble::Refused(*refusal),
            Self::Expired => Trouble::Expired,
            Self::Unchecked => Trouble::Unchecked,
            Self::Problem(_) => Trouble::Internal,
        }
    }

    /// The same for a program.
    pub(super) fn answer(self) -> Response {
        let invalid = |text| Area::OAuth.error(self.status(), UNKNOWN_REQUEST, text);
        match self {
            Self::Refused(refusal) => OAuthError::Refused(refusal).into_response(),
            Self::Problem(problem) => problem.into_response(),
            Self::Expired => invalid("The request has been answered or is too old"),
            Self::Unchecked => invalid("The form does not come from a page of this server"),
        }
    }
}

/// The status of the sign-in page when it is shown again.
pub(super) fn status_of_sign_in(problem: SignInProblem) -> StatusCode {
    match problem {
        SignInProblem::Wrong => StatusCode::UNAUTHORIZED,
        SignInProblem::TooMany { .. } => StatusCode::SERVICE_UNAVAILABLE,
    }
}

impl From<Refusal> for PageError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What can happen anywhere can happen to these too.
macro_rules! can_be_a_problem {
    ($($error:ident from $($cause:ident),*;)*) => {$($(
        impl From<$cause> for $error {
            fn from(cause: $cause) -> Self {
                Self::Problem(cause.into())
            }
        }
    )*)*};
}

can_be_a_problem! {
    OAuthError from Problem, StoreError;
    ApiError from Problem, StoreError, Busy;
    PageError from Problem, StoreError;
}
