//! Errors of the Mastodon-compatible API.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use belfry_core::account::sign_up::InvalidField;
use belfry_core::oauth::app::AppRegistrationError;
use belfry_core::oauth::scope::Scope;
use belfry_core::oauth::token::TokenError;
use belfry_core::validation::ValidationErrors;
use belfry_store::StoreError;
use serde_json::{Map, Value, json};

use super::{CommonError, LimitExceeded, describe_missing_scopes, from_common, with_challenge};
use crate::auth::passwords::HashQueueFull;
use crate::auth::tokens::IssueError;
use crate::http::json::Json;
use crate::language::{Language, Localize};

/// An error of the API: `{"error": "…"}`. Errors that Mastodon also has use its messages, because
/// clients compare them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("The access token is invalid")]
    MissingToken,
    #[error("The access token is invalid")]
    InvalidToken,
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The token has none of these scopes, any of which would suffice.
    #[error("This action is outside the authorized scopes")]
    OutsideScopes(Vec<Scope>),
    #[error("This method requires an authenticated user")]
    UserRequired,
    #[error("This method requires an client credentials authentication")]
    AppTokenRequired,
    #[error("Registration is closed on this server")]
    RegistrationClosed,
    /// The user is not an admin, or the account's state does not permit the action.
    #[error("This action is not allowed")]
    NotAllowed,
    #[error("Record not found")]
    RecordNotFound,
    #[error("Validation failed: The last admin cannot be disabled or deleted")]
    LastAdmin,
    #[error("App registration is closed on this server; only its operator can add apps")]
    AppRegistrationClosed,
    #[error(
        "Push notifications are not configured on this server; its operator can enable them by \
         setting push.contact"
    )]
    DeliveryOff,
    /// Validation failed: a sentence with all errors, and the errors by field.
    #[error("{0}")]
    Invalid(String, Option<Value>),
    #[error(transparent)]
    Common(#[from] CommonError),
}

impl IntoResponse for ApiError {
    fn into_response(mut self) -> Response {
        let message = self.to_string();
        let mut body = json!({ "error": message });
        let status = match &mut self {
            Self::Common(error) => return error.clone().into_response(),
            Self::Token(TokenError::AccountDisabled)
            | Self::AppTokenRequired
            | Self::RegistrationClosed
            | Self::AppRegistrationClosed
            | Self::NotAllowed => StatusCode::FORBIDDEN,
            Self::OutsideScopes(scopes) => {
                body["error_description"] = describe_missing_scopes(&*scopes, "or").into();
                StatusCode::FORBIDDEN
            }
            Self::RecordNotFound => StatusCode::NOT_FOUND,
            Self::DeliveryOff => StatusCode::SERVICE_UNAVAILABLE,
            Self::MissingToken | Self::InvalidToken | Self::Token(_) => StatusCode::UNAUTHORIZED,
            Self::UserRequired | Self::LastAdmin | Self::Invalid(_, None) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Self::Invalid(_, Some(details)) => {
                body["details"] = details.take();
                StatusCode::UNPROCESSABLE_ENTITY
            }
        };
        let realm = "Bearer realm=\"belfry\"";
        let challenge = match &self {
            // Without a token, the challenge has no error code (RFC 6750, section 3.1).
            Self::MissingToken => Some(realm.to_owned()),
            Self::OutsideScopes(scopes) => {
                let scope = scopes.first().map_or("", |scope| scope.as_str());
                let description = describe_missing_scopes(scopes, "or");
                let error = "error=\"insufficient_scope\"";
                Some(format!(
                    "{realm}, {error}, error_description=\"{description}\", scope=\"{scope}\""
                ))
            }
            _ if status == StatusCode::UNAUTHORIZED => {
                Some(format!("{realm}, error=\"invalid_token\", error_description=\"{message}\""))
            }
            _ => None,
        };
        with_challenge((status, Json(body)).into_response(), challenge.as_deref())
    }
}

impl ApiError {
    pub(crate) fn invalid_app(
        errors: &ValidationErrors<AppRegistrationError>,
        language: Language,
    ) -> Self {
        Self::Invalid(errors.localize(language), None)
    }

    pub(crate) fn unknown_action() -> Self {
        Self::Invalid("Validation failed: Type is not included in the list".to_owned(), None)
    }

    pub(crate) fn comment_is_list() -> Self {
        Self::Invalid("Validation failed: Text must be one value, not a list".to_owned(), None)
    }

    /// Returns the error for an invalid sign-up, localised, as a sentence and by field.
    pub(crate) fn invalid_account(
        errors: &ValidationErrors<InvalidField>,
        language: Language,
    ) -> Self {
        let mut details = Map::new();
        for InvalidField { field, error } in &errors.0 {
            let description = error.localize(language);
            let detail = json!({ "error": error.code(), "description": description });
            details.insert(field.as_str().to_owned(), json!([detail]));
        }
        Self::Invalid(errors.localize(language), Some(details.into()))
    }
}

/// Errors other than those of the store become [`ApiError::InvalidToken`]: the token was valid when
/// the request was authorized, so its app or the new account has been disabled or deleted since.
impl From<IssueError> for ApiError {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::Store(error) => error.into(),
            _ => Self::InvalidToken,
        }
    }
}

from_common!(ApiError from StoreError, HashQueueFull, LimitExceeded);
