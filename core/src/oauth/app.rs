//! Apps (OAuth clients): their registration, redirect URIs and scopes.

use strum::IntoStaticStr;
use thiserror::Error;

use super::client::{AuthMethod, ClientProperties, Issuer};
use super::error::{OAuthError, TruncatedScopeName};
use super::issuer_policy::IssuerPolicy;
use super::redirect::{RedirectUri, RedirectUriError};
use super::scope::{ScopeError, Scopes};
use super::web_address;
use crate::account::Role;
use crate::text::{changes_direction, is_blank};
use crate::validation::ValidationErrors;

/// Maximum length of an app's name, in characters.
pub const MAX_NAME_LENGTH: usize = 60;
/// The maximum length of a website URL, and of all redirect URIs together, in characters.
pub const MAX_URIS_LENGTH: usize = 2000;

/// A registered app, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    pub id: i64,
    /// The public identifier in OAuth requests.
    pub client_id: String,
    pub details: AppDetails,
    /// The authentication method, grant types and origin.
    pub properties: ClientProperties,
}

impl App {
    /// Returns the requested redirect URI, if it matches a registered one.
    pub fn find_redirect_uri(&self, requested_uri: &str) -> Option<RedirectUri> {
        let match_uri = match self.properties.issuer {
            Issuer::Id => RedirectUri::match_requested_with_optional_port,
            Issuer::OAuth | Issuer::Unknown => RedirectUri::match_requested,
        };
        self.details.redirect_uris.iter().find_map(|uri| match_uri(uri, requested_uri))
    }

    /// Returns whether nothing confirms which app gets the code: it has no secret, and any program on
    /// the user's device can receive the response.
    pub fn is_unverified(&self, redirect_uri: &RedirectUri) -> bool {
        self.properties.auth_method == AuthMethod::None && redirect_uri.remote_host().is_none()
    }

    /// Returns the scopes that a `scope` parameter requests; `read` if it is absent or empty. Fails
    /// if the app did not declare one of them. Does not check whether the user's role allows them.
    pub fn resolve_scopes(
        &self,
        policy: &IssuerPolicy,
        requested_scopes: Option<&str>,
    ) -> Result<Scopes, OAuthError> {
        let explicit_scopes = policy.parse_scopes(requested_scopes)?;
        let is_default = explicit_scopes.is_empty();
        let scopes = explicit_scopes.or(policy.default_scope);
        scopes.check_device()?;
        match self.details.scopes.first_not_covered(&scopes) {
            Some(_) if is_default => {
                Err(OAuthError::UnregisteredDefaultScope(policy.default_scope.as_str()))
            }
            Some(name) => Err(OAuthError::UnregisteredScope(name.into())),
            None => Ok(scopes),
        }
    }

    /// Returns the scopes of an app token for a `scope` parameter. Admin scopes are invalid.
    pub fn resolve_app_token_scopes(
        &self,
        policy: &IssuerPolicy,
        requested_scopes: Option<&str>,
    ) -> Result<Scopes, OAuthError> {
        let scopes = self.resolve_scopes(policy, requested_scopes)?;
        scopes.check_role(None)?;
        Ok(scopes)
    }

    /// Returns the scopes of the token for a user who signs up through the app: all registered
    /// scopes except admin scopes.
    pub fn sign_up_scopes(&self) -> Scopes {
        self.details.scopes.clone().effective_for_role(Some(Role::User))
    }
}

/// An app's registered data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppDetails {
    pub name: String,
    pub website: Option<String>,
    /// The registered redirect URIs; none only if the app does not use codes.
    pub redirect_uris: Vec<RedirectUri>,
    /// The scopes that the app may request; at least one.
    pub scopes: Scopes,
}

impl AppDetails {
    /// Returns the website's host, if it is also the host of the redirect URI. The
    /// website is not verified, so an app could otherwise show another app's website.
    pub fn confirmed_website_host(&self, redirect_uri: &RedirectUri) -> Option<String> {
        let host = web_address::web_host(self.website.as_deref()?)?;
        (redirect_uri.remote_host().as_ref() == Some(&host)).then_some(host)
    }
}

/// An app registration request, not yet validated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppRegistration {
    pub client_name: String,
    /// Redirect URIs. Each string may contain several, separated by whitespace.
    pub redirect_uris: Vec<String>,
    /// Scopes. Each string may contain several, separated by spaces.
    pub scopes: Vec<String>,
    /// The URL of the app's website, or empty.
    pub website: String,
    /// The app's authentication method, or empty.
    pub token_endpoint_auth_method: String,
}

/// The reason a registration is invalid, worded as in Mastodon.
#[derive(Debug, Clone, PartialEq, Eq, Error, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum AppRegistrationError {
    #[error("Application name can't be blank")]
    NameBlank,
    #[error("Redirect URI can't be blank")]
    RedirectUriBlank,
    #[error("Redirect URI {0}")]
    RedirectUri(RedirectUriError),
    #[error("Scopes doesn't match those configured on the server.")]
    Scopes,
    #[error(
        "Scopes doesn't match those configured on the server: {0} is unknown (scopes_supported in \
         /.well-known/oauth-authorization-server)."
    )]
    UnknownScope(TruncatedScopeName),
    /// The name contains a control character, or one that changes the text direction.
    #[error("Application name is invalid")]
    NameInvalid,
    #[error("Application name is too long (maximum is {MAX_NAME_LENGTH} characters)")]
    NameTooLong,
    #[error("Application website is not a valid URL")]
    WebsiteInvalid,
    #[error("Application website is too long (maximum is {MAX_URIS_LENGTH} characters)")]
    WebsiteTooLong,
    #[error("Redirect URI is too long (maximum is {MAX_URIS_LENGTH} characters)")]
    RedirectUriTooLong,
    #[error(
        "Token endpoint auth method must be client_secret_basic or client_secret_post (public \
         clients are not supported: register each installation of the app to get its own secret)"
    )]
    AuthMethod,
}

impl AppRegistration {
    /// Collects the fields of a registration and ignores unknown ones. Lists are repeated fields
    /// such as `redirect_uris[]`.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut registration = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "client_name" => registration.client_name = value,
                "website" => registration.website = value,
                "token_endpoint_auth_method" => registration.token_endpoint_auth_method = value,
                "redirect_uris" | "redirect_uris[]" => registration.redirect_uris.push(value),
                "scopes" | "scopes[]" => registration.scopes.push(value),
                _ => {}
            }
        }
        registration
    }

    /// Validates the registration and reports each error once, in Mastodon's order. Redirect URIs
    /// that are too long together are not validated one by one.
    pub fn validate(
        self,
        policy: &IssuerPolicy,
    ) -> Result<AppDetails, ValidationErrors<AppRegistrationError>> {
        let mut errors = Vec::new();
        let has_blank_name = is_blank(&self.client_name);
        if has_blank_name {
            errors.push(AppRegistrationError::NameBlank);
        }
        let uris_length: usize =
            self.redirect_uris.iter().map(|uris| uris.chars().count() + 1).sum();
        let are_uris_too_long = uris_length > MAX_URIS_LENGTH + 1;
        let mut redirect_uris = Vec::new();
        if !are_uris_too_long {
            for text in self.redirect_uris.iter().flat_map(|uris| uris.split_ascii_whitespace()) {
                match RedirectUri::new(text).map_err(AppRegistrationError::RedirectUri) {
                    Ok(uri) => redirect_uris.push(uri),
                    Err(error) if errors.contains(&error) => {}
                    Err(error) => errors.push(error),
                }
            }
            if redirect_uris.is_empty()
                && !errors.iter().any(|error| matches!(error, AppRegistrationError::RedirectUri(_)))
            {
                errors.push(AppRegistrationError::RedirectUriBlank);
            }
        }

        let scopes = policy.parse_scopes(&self.scopes).map(Scopes::or_read);
        match &scopes {
            Err(ScopeError::Malformed) => errors.push(AppRegistrationError::Scopes),
            Err(ScopeError::Unknown(name)) => {
                errors.push(AppRegistrationError::UnknownScope(name.as_str().into()));
            }
            Ok(_) => {}
        }
        let is_forbidden = |c: char| c.is_control() || changes_direction(c);
        if !has_blank_name && self.client_name.contains(is_forbidden) {
            errors.push(AppRegistrationError::NameInvalid);
        }
        if self.client_name.chars().count() > MAX_NAME_LENGTH {
            errors.push(AppRegistrationError::NameTooLong);
        }
        let website = Some(self.website).filter(|website| !website.trim().is_empty());
        if website.as_deref().is_some_and(|website| !web_address::is_web_address(website)) {
            errors.push(AppRegistrationError::WebsiteInvalid);
        }
        if website.as_ref().is_some_and(|website| website.chars().count() > MAX_URIS_LENGTH) {
            errors.push(AppRegistrationError::WebsiteTooLong);
        }
        if are_uris_too_long {
            errors.push(AppRegistrationError::RedirectUriTooLong);
        }
        let auth_method = self.token_endpoint_auth_method.as_str();
        if !auth_method.is_empty() && !policy.auth_method_names().any(|name| name == auth_method) {
            errors.push(AppRegistrationError::AuthMethod);
        }
        let scopes = scopes.unwrap_or_default();
        let details = AppDetails { name: self.client_name, website, redirect_uris, scopes };
        ValidationErrors::ok_if_empty(errors, details)
    }
}

#[cfg(test)]
mod tests;
