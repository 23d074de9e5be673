//! Localised messages for the core's errors and permissions. English error messages are the same as
//! in the API. The keys in the locale files are derived from the variant names.

use belfry_core::account::FieldError;
use belfry_core::account::sign_up::{Field, InvalidField};
use belfry_core::oauth::app::{self, AppRegistrationError};
use belfry_core::oauth::consent::ConsentItem;
use belfry_core::validation::ValidationErrors;

use super::{Argument, Language};

/// A value with a message in every language.
pub trait Localize {
    fn localize(&self, language: Language) -> String;
}

impl Localize for AppRegistrationError {
    fn localize(&self, language: Language) -> String {
        let key = match self {
            Self::RedirectUri(error) => format!("app-redirect-uri-{}", <&str>::from(error)),
            _ => format!("app-{}", <&str>::from(self)),
        };
        match self {
            Self::NameTooLong => language.text_with(&key, "count", app::MAX_NAME_LENGTH),
            Self::WebsiteTooLong | Self::RedirectUriTooLong => {
                language.text_with(&key, "count", app::MAX_URIS_LENGTH)
            }
            // Printable ASCII, so it needs no bidirectional isolation.
            Self::UnknownScope(scope) => {
                language.text_with(&key, "scope", Argument::Trusted(&scope.to_string()))
            }
            _ => language.text(&key).into_owned(),
        }
    }
}

impl Localize for FieldError {
    fn localize(&self, language: Language) -> String {
        let key = format!("account-{}", <&str>::from(self));
        language.text_with_all(&key, self.count().map(|count| ("count", Argument::Number(count))))
    }
}

impl Localize for Field {
    fn localize(&self, language: Language) -> String {
        language.text(&format!("account-field-{self}")).into_owned()
    }
}

impl Localize for InvalidField {
    fn localize(&self, language: Language) -> String {
        let field = self.field.localize(language);
        let error = self.error.localize(language);
        let arguments =
            [("field", Argument::Trusted(&field)), ("error", Argument::Trusted(&error))];
        language.text_with_all("account-error", arguments)
    }
}

impl Localize for ConsentItem {
    fn localize(&self, language: Language) -> String {
        language.text(&consent_key(self)).into_owned()
    }
}

impl<E: Localize> Localize for ValidationErrors<E> {
    fn localize(&self, language: Language) -> String {
        let join = |previous: String, next: String| {
            let arguments =
                [("errors", Argument::Trusted(&previous)), ("error", Argument::Trusted(&next))];
            language.text_with_all("validation-list", arguments)
        };
        let localized_errors = self.0.iter().map(|error| error.localize(language));
        let errors = localized_errors.reduce(join).unwrap_or_default();
        language.text_with("validation-failed", "errors", Argument::Trusted(&errors))
    }
}

fn consent_key(item: &ConsentItem) -> String {
    let admin_prefix = if item.is_admin { "admin-" } else { "" };
    format!("consent-{admin_prefix}{}-{}", item.resource, <&str>::from(item.access))
}

#[cfg(test)]
mod tests {
    use belfry_core::oauth::consent::consent_items;

    use super::*;

    #[test]
    fn a_consent_item_has_one_key_per_resource_and_access_level() {
        for (scopes, expected_keys) in [
            ("read", vec!["consent-all-read"]),
            ("read:accounts write:accounts", vec!["consent-accounts-both"]),
            ("push follow", vec!["consent-follow-both", "consent-push-both"]),
            ("admin:write:ip_blocks", vec!["consent-admin-ip_blocks-write"]),
        ] {
            let consent_keys: Vec<String> =
                consent_items(&scopes.parse().unwrap()).iter().map(consent_key).collect();
            assert_eq!(consent_keys, expected_keys, "{scopes}");
        }
    }
}
