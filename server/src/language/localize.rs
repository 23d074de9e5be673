//! Localised messages of OAuth errors. The English messages equal those of the API.

use belfry_core::oauth::account::FieldError;
use belfry_core::oauth::app::{self, AppError};
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::parameter::{MAX_STATE_LENGTH, Parameter};
use belfry_core::oauth::sign_up::AccountError;
use belfry_core::oauth::validation::ValidationErrors;

use super::{Argument, Language, messages};

/// An error with a message in every language.
pub trait Localize {
    /// Its message in this language.
    fn localize(&self, language: Language) -> String;
}

impl Localize for OAuthError {
    fn localize(&self, language: Language) -> String {
        let parameter = self.parameter().map(Parameter::as_str);
        let count = matches!(self, Self::StateTooLong).then_some(MAX_STATE_LENGTH);
        let parameter = parameter.map(|name| ("parameter", Argument::Trusted(name)));
        language.text_with_all(
            messages::oauth_error(*self),
            parameter.into_iter().chain(count_argument(count)),
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
        language.text_with_all(messages::app_error(*self), count_argument(count))
    }
}

impl Localize for FieldError {
    fn localize(&self, language: Language) -> String {
        language.text_with_all(messages::field_error(*self), count_argument(self.count()))
    }
}

impl Localize for AccountError {
    fn localize(&self, language: Language) -> String {
        let field = language.text(messages::field(self.field));
        let problem = self.error.localize(language);
        let arguments =
            [("field", Argument::Trusted(&field)), ("problem", Argument::Trusted(&problem))];
        language.text_with_all("account-error", arguments)
    }
}

impl<E: Localize> Localize for ValidationErrors<E> {
    fn localize(&self, language: Language) -> String {
        let join = |all: String, next: String| {
            let arguments =
                [("problems", Argument::Trusted(&all)), ("problem", Argument::Trusted(&next))];
            language.text_with_all("validation-list", arguments)
        };
        let problems = self.0.iter().map(|error| error.localize(language)).reduce(join);
        let problems = problems.unwrap_or_default();
        language.text_with("validation-failed", "problems", Argument::Trusted(&problems))
    }
}

fn count_argument(count: Option<usize>) -> Option<(&'static str, Argument<'static>)> {
    count.map(|count| ("count", Argument::Number(count)))
}
