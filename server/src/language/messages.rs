//! The message keys of the locale files for errors and permissions of the core.

use belfry_core::oauth::account::FieldError;
use belfry_core::oauth::app::AppError;
use belfry_core::oauth::consent::{AccessLevel, ConsentItem};
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::redirect::RedirectUriError;
use belfry_core::oauth::sign_up::Field;

/// The message for an OAuth error.
pub(super) const fn oauth_error(error: OAuthError) -> &'static str {
    match error {
        OAuthError::Missing(_) => "oauth-error-missing",
        OAuthError::Repeated(_) => "oauth-error-repeated",
        OAuthError::NotOneValue(_) => "oauth-error-not-one-value",
        OAuthError::StateTooLong => "oauth-error-state-too-long",
        OAuthError::InvalidClient => "oauth-error-invalid-client",
        OAuthError::TwoAuthentications => "oauth-error-two-authentications",
        OAuthError::InvalidRedirectUri => "oauth-error-invalid-redirect-uri",
        OAuthError::UnsupportedResponseType => "oauth-error-unsupported-response-type",
        OAuthError::UnsupportedResponseMode => "oauth-error-unsupported-response-mode",
        OAuthError::InvalidScope => "oauth-error-invalid-scope",
        OAuthError::InvalidChallengeMethod => "oauth-error-invalid-challenge-method",
        OAuthError::InvalidChallenge => "oauth-error-invalid-challenge",
        OAuthError::AccessDenied => "oauth-error-access-denied",
        OAuthError::UnsupportedGrantType => "oauth-error-unsupported-grant-type",
        OAuthError::InvalidGrant => "oauth-error-invalid-grant",
        OAuthError::UnauthorizedRevocation => "oauth-error-unauthorized-revocation",
    }
}

/// The message for an error of an app registration.
pub(super) const fn app_error(error: AppError) -> &'static str {
    match error {
        AppError::NameBlank => "app-name-blank",
        AppError::RedirectUriBlank => "app-redirect-uri-blank",
        AppError::RedirectUri(RedirectUriError::Forbidden) => "app-redirect-uri-forbidden",
        AppError::RedirectUri(RedirectUriError::Invalid) => "app-redirect-uri-invalid",
        AppError::RedirectUri(RedirectUriError::Relative) => "app-redirect-uri-relative",
        AppError::RedirectUri(RedirectUriError::Opaque) => "app-redirect-uri-opaque",
        AppError::RedirectUri(RedirectUriError::Fragment) => "app-redirect-uri-fragment",
        AppError::RedirectUri(RedirectUriError::UserInfo) => "app-redirect-uri-user-info",
        AppError::RedirectUri(RedirectUriError::Wildcard) => "app-redirect-uri-wildcard",
        AppError::Scopes => "app-scopes",
        AppError::NameInvalid => "app-name-invalid",
        AppError::NameTooLong => "app-name-too-long",
        AppError::WebsiteInvalid => "app-website-invalid",
        AppError::WebsiteTooLong => "app-website-too-long",
        AppError::RedirectUriTooLong => "app-redirect-uri-too-long",
    }
}

/// The message for an invalid field of an account.
pub(super) const fn field_error(error: FieldError) -> &'static str {
    match error {
        FieldError::Blank => "account-blank",
        FieldError::NameInvalid => "account-name-invalid",
        FieldError::EmailInvalid => "account-email-invalid",
        FieldError::TooLong(_) => "account-too-long",
        FieldError::TooShort(_) => "account-too-short",
        FieldError::PasswordCommon => "account-password-common",
        FieldError::Reserved => "account-reserved",
        FieldError::Taken => "account-taken",
        FieldError::NotAccepted => "account-not-accepted",
    }
}

/// The label of a field of an account.
pub(super) const fn field(field: Field) -> &'static str {
    match field {
        Field::Username => "account-field-username",
        Field::Email => "account-field-email",
        Field::Password => "account-field-password",
        Field::Agreement => "account-field-agreement",
    }
}

/// The message for a permission on the consent page.
pub(crate) fn consent_item(item: &ConsentItem) -> String {
    let admin = if item.admin { "admin-" } else { "" };
    let access = match item.access {
        AccessLevel::Read => "read",
        AccessLevel::Write => "write",
        AccessLevel::Both => "both",
    };
    format!("consent-{admin}{}-{access}", item.resource)
}

#[cfg(test)]
mod tests {
    use belfry_core::oauth::consent::items;

    use super::*;

    #[test]
    fn a_permission_has_one_message_per_resource_and_access() {
        for (scopes, keys) in [
            ("read", vec!["consent-all-read"]),
            ("read:accounts write:accounts", vec!["consent-accounts-both"]),
            ("push follow", vec!["consent-follow-both", "consent-push-both"]),
            ("admin:write:ip_blocks", vec!["consent-admin-ip_blocks-write"]),
        ] {
            let found: Vec<String> =
                items(&scopes.parse().unwrap()).iter().map(consent_item).collect();
            assert_eq!(found, keys, "{scopes}");
        }
    }
}
