//! The errors of the OAuth interface in the reader's language. In English they are the texts that
//! the errors have themselves.

use belfry_core::oauth::account::FieldError;
use belfry_core::oauth::app::{self, AppError};
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::parameter::{MAX_STATE_LENGTH, Parameter};
use belfry_core::oauth::sign_up::AccountError;
use belfry_core::oauth::validation::ValidationErrors;

use super::{Language, Value, messages};

/// What can be told to a reader in their language.
pub trait Localize {
    /// Its text in this language.
    fn localize(&self, language: Language) -> String;
}

impl Localize for OAuthError {
    fn localize(&self, language: Language) -> String {
        let parameter = self.parameter().map(Parameter::as_str);
        let count = matches!(self, Self::StateTooLong).then_some(MAX_STATE_LENGTH);
        let parameter = parameter.map(|name| ("parameter", Value::Own(name)));
        language.text_with_all(
            messages::oauth_error(*self),
            parameter.into_iter().chain(counted(count)),
        )
    }
}

impl Localize for AppError {
    fn localize(&self, language: Language) -> String {
        let count = match self {
            Self::NameTooLong => Some(app::MAX_NAME_LENGTH),
            Self::WebsiteTooLong | Self::RedirectUriTooLong => Some(app::MAX_URIS_LENGTH),
            _ => None,
        };
        language.text_with_all(messages::app_error(*self), counted(count))
    }
}

impl Localize for FieldError {
    fn localize(&self, language: Language) -> String {
        language.text_with_all(messages::field_error(*self), counted(self.count()))
    }
}

impl Localize for AccountError {
    fn localize(&self, language: Language) -> String {
        let field = language.text(messages::field(self.field));
        let problem = self.error.localize(language);
        let gaps = [("field", Value::Own(&field)), ("problem", Value::Own(&problem))];
        language.text_with_all("account-error", gaps)
    }
}

impl<E: Localize> Localize for ValidationErrors<E> {
    fn localize(&self, language: Language) -> String {
        let join = |all: String, next: String| {
            let gaps = [("problems", Value::Own(&all)), ("problem", Value::Own(&next))];
            language.text_with_all("validation-list", gaps)
        };
        let problems = self.iter().map(|error| error.localize(language)).reduce(join);
        let problems = problems.unwrap_or_default();
        language.text_with("validation-failed", "problems", Value::Own(&problems))
    }
}

fn counted(count: Option<usize>) -> Option<(&'static str, Value<'static>)> {
    count.map(|count| ("count", Value::Number(count)))
}
