//! Applications: what one must say of itself to be registered, and what it may then ask for.

use thiserror::Error;

use super::error::OAuthError;
use super::redirect::{RedirectUri, RedirectUriError};
use super::scope::{Scope, Scopes};
use super::uri;
use super::validation::ValidationErrors;

/// The longest name of an app, in characters.
pub const MAX_NAME_LENGTH: usize = 60;
/// The longest list of redirect URIs and the longest website, in characters.
pub const MAX_URIS_LENGTH: usize = 2000;

/// A registered application, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// The key of its record.
    pub id: i64,
    /// The name by which it is known to the protocol.
    pub client_id: String,
    /// What it said of itself.
    pub details: AppDetails,
}

impl App {
    /// The redirect URI that a request named, if the app registered it.
    #[must_use]
    pub fn find_redirect_uri(&self, sent: &str) -> Option<RedirectUri> {
        self.details.redirect_uris.iter().find_map(|registered| registered.match_requested(sent))
    }

    /// The scopes that are granted when these are asked for: all of them, or none. Nothing asked
    /// for means `read`.
    ///
    /// # Errors
    /// [`OAuthError::InvalidScope`] for a scope that is malformed, unknown, not covered by those that
    /// the app declared, or for admins: no account has that role, so nobody could grant it.
    pub fn resolve_scopes(&self, requested: Option<&str>) -> Result<Scopes, OAuthError> {
        let requested: Scopes =
            requested.unwrap_or_default().parse().map_err(|_| OAuthError::InvalidScope)?;
        let requested = requested.or_read();
        let may_be_granted =
            self.details.scopes.covers_all(&requested) && !requested.iter().any(Scope::is_admin);
        if may_be_granted { Ok(requested) } else { Err(OAuthError::InvalidScope) }
    }

    /// The scopes of a token for who signs up through the app: all that it may be granted.
    #[must_use]
    pub fn sign_up_scopes(&self) -> Scopes {
        self.details.scopes.iter().filter(|scope| !scope.is_admin()).collect()
    }
}

/// What an app says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppDetails {
    /// The name that users see.
    pub name: String,
    /// The page of the app.
    pub website: Option<String>,
    /// Where answers may be sent; at least one.
    pub redirect_uris: Vec<RedirectUri>,
    /// The scopes that it may ask for; at least one.
    pub scopes: Scopes,
}

/// A registration as it was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registration {
    /// The name of the app.
    pub client_name: String,
    /// Redirect URIs, any number of them in each text, separated by white space.
    pub redirect_uris: Vec<String>,
    /// Scopes, any number of them in each text, separated by spaces.
    pub scopes: Vec<String>,
    /// The page of the app, or nothing.
    pub website: String,
}

/// What can be wrong with a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AppError {
    /// No name, or one that nobody could see.
    #[error("Application name can't be blank")]
    NameBlank,
    /// No redirect URI.
    #[error("Redirect URI can't be blank")]
    RedirectUriBlank,
    /// A redirect URI that cannot be registered.
    #[error("Redirect URI {0}")]
    RedirectUri(RedirectUriError),
    /// A scope that is malformed or unknown.
    #[error("Scopes doesn't match those configured on the server.")]
    Scopes,
    /// A control character, or one that turns the direction of writing.
    #[error("Application name is invalid")]
    NameInvalid,
    /// More than [`MAX_NAME_LENGTH`] characters.
    #[error("Application name is too long (maximum is {MAX_NAME_LENGTH} characters)")]
    NameTooLong,
    /// No address of a page.
    #[error("Application website is not a valid URL")]
    WebsiteInvalid,
    /// More than [`MAX_URIS_LENGTH`] characters.
    #[error("Application website is too long (maximum is {MAX_URIS_LENGTH} characters)")]
    WebsiteTooLong,
    /// More than [`MAX_URIS_LENGTH`] characters in all.
    #[error("Redirect URI is too long (maximum is {MAX_URIS_LENGTH} characters)")]
    RedirectUriTooLong,
}

impl AppError {
    /// The key of its text in the caller's language.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::NameBlank => "app-name-blank",
            Self::RedirectUriBlank => "app-redirect-uri-blank",
            Self::RedirectUri(RedirectUriError::Forbidden) => "app-redirect-uri-forbidden",
            Self::RedirectUri(RedirectUriError::Invalid) => "app-redirect-uri-invalid",
            Self::RedirectUri(RedirectUriError::Relative) => "app-redirect-uri-relative",
            Self::RedirectUri(RedirectUriError::Opaque) => "app-redirect-uri-opaque",
            Self::RedirectUri(RedirectUriError::Fragment) => "app-redirect-uri-fragment",
            Self::RedirectUri(RedirectUriError::UserInfo) => "app-redirect-uri-user-info",
            Self::RedirectUri(RedirectUriError::Wildcard) => "app-redirect-uri-wildcard",
            Self::Scopes => "app-scopes",
            Self::NameInvalid => "app-name-invalid",
            Self::NameTooLong => "app-name-too-long",
            Self::WebsiteInvalid => "app-website-invalid",
            Self::WebsiteTooLong => "app-website-too-long",
            Self::RedirectUriTooLong => "app-redirect-uri-too-long",
        }
    }
}

impl Registration {
    /// Takes a registration from decoded pairs, where a list is `redirect_uris[]` again and again.
    #[must_use]
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut registration = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "client_name" => registration.client_name = value,
                "website" => registration.website = value,
                "redirect_uris" | "redirect_uris[]" => registration.redirect_uris.push(value),
                "scopes" | "scopes[]" => registration.scopes.push(value),
                _ => {}
            }
        }
        registration
    }

    /// Checks the whole registration.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order in which Mastodon tells it.
    pub fn validate(self) -> Result<AppDetails, ValidationErrors<AppError>> {
        let mut wrong = Vec::new();
        let is_blank = is_blank(&self.client_name);
        if is_blank {
            wrong.push(AppError::NameBlank);
        }

        let length: usize = self.redirect_uris.iter().map(|text| text.chars().count() + 1).sum();
        let too_long = length > MAX_URIS_LENGTH + 1;
        let mut redirect_uris = Vec::new();
        if !too_long {
            for text in self.redirect_uris.iter().flat_map(|text| text.split_ascii_whitespace()) {
                match RedirectUri::new(text).map_err(AppError::RedirectUri) {
                    Ok(uri) => redirect_uris.push(uri),
                    Err(error) if wrong.contains(&error) => {}
                    Err(error) => wrong.push(error),
                }
            }
            if redirect_uris.is_empty()
                && !wrong.iter().any(|error| matches!(error, AppError::RedirectUri(_)))
            {
                wrong.push(AppError::RedirectUriBlank);
            }
        }

        let scopes = Scopes::from_texts(&self.scopes).map(Scopes::or_read);
        if scopes.is_err() {
            wrong.push(AppError::Scopes);
        }
        if !is_blank && self.client_name.chars().any(is_unprintable) {
            wrong.push(AppError::NameInvalid);
        }
        if self.client_name.chars().count() > MAX_NAME_LENGTH {
            wrong.push(AppError::NameTooLong);
        }

        let website = Some(self.website).filter(|website| !website.trim().is_empty());
        if let Some(website) = &website {
            if !uri::is_web_address(website) {
                wrong.push(AppError::WebsiteInvalid);
            }
            if website.chars().count() > MAX_URIS_LENGTH {
                wrong.push(AppError::WebsiteTooLong);
            }
        }
        if too_long {
            wrong.push(AppError::RedirectUriTooLong);
        }

        let scopes = scopes.unwrap_or_default();
        let details = AppDetails { name: self.client_name, website, redirect_uris, scopes };
        ValidationErrors::into_result(wrong, details)
    }
}

/// Whether nothing of a name would be seen on a page.
#[must_use]
pub fn is_blank(name: &str) -> bool {
    name.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}

/// Unicode's `Default_Ignorable_Code_Point`, which are drawn as nothing, and two more that are: the
/// marks of interlinear annotations, and the empty pattern of Braille.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Control characters, and those with which a name could rewrite the sentence around it.
fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
