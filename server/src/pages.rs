//! The HTML pages, each a struct with its template.

mod account;
mod account_nav;
pub mod assets;
mod devices;
mod error;
mod last_use;
mod notifications;
mod pager;
mod rule_title;
mod security;
mod sign_in;
mod timed_text;

use std::borrow::Cow;
use std::time::Duration;

use askama::Template;
use belfry_core::account::MIN_PASSWORD_LENGTH;
use belfry_core::account::sign_up::InvalidField;
use belfry_core::oauth::app::AppDetails;
use belfry_core::oauth::consent::{ConsentItem, consent_items};
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::oauth::scope::Scopes;
use belfry_core::secret::Secret;
use belfry_core::text::escape_invisible;
pub use belfry_store::{AccountSession, AccountToken, AuthorizedApp};
use jiff::Timestamp;

pub use self::account::{AccountPage, ListedApp};
pub use self::account_nav::{AccountNav, AccountSection, Notice, PendingDeletion};
pub use self::assets::StaticFile;
pub use self::devices::{DevicesPage, ListedDelivery, device_test_text};
pub use self::error::{ErrorCause, ErrorPage};
pub use self::notifications::{
    NotificationsPage, NotificationsPart, NotificationsView, RejectedForm, RejectionReason, Trial,
};
pub use self::pager::PageNumber;
pub use self::security::{MAX_SESSIONS, SecurityFormError, SecurityPage};
pub use self::sign_in::{SignInPage, SignUpPage};
use self::timed_text::{TimeFormat, TimedText};
pub use crate::auth::authentication::AuthenticationError;
use crate::language::{Language, Localize, isolate};
use crate::paths::{REMEMBER_LANGUAGE, with_parameters};

#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub language: Language,
    /// The server name: the part of a user id after the colon.
    pub server: &'a str,
    pub title: &'a str,
    pub style: &'a str,
    /// True if key presses and clicks just after loading are ignored, because the site that opened
    /// this page may have timed a click to land here (clickjacking).
    pub ignores_early_input: bool,
    /// The beginning of the language links in the footer: a path, or a query of this page.
    pub language_link: &'a str,
}

struct LanguageLink {
    href: String,
    language: Language,
}

impl<'a> Layout<'a> {
    /// Returns a copy with links that open `link` in each language.
    pub(crate) fn with_language_link(self, link: &'a str) -> Self {
        Self { language_link: link, ..self }
    }

    fn language_links(&self) -> Vec<LanguageLink> {
        let link = |language: &Language| {
            let choice = [("lang", language.code()), (REMEMBER_LANGUAGE, "1")];
            LanguageLink { href: with_parameters(self.language_link, choice), language: *language }
        };
        Language::ALL.iter().map(link).collect()
    }

    fn text(&self, key: &str) -> Cow<'static, str> {
        self.language.text(key)
    }

    /// Returns the message for this key with an app's name.
    fn text_for_app(&self, key: &str, app: &str) -> String {
        self.language.text_with(key, "app", app)
    }

    /// Returns the message for this key with a time in minutes, at least one.
    fn text_with_minutes(&self, key: &str, time: Duration) -> String {
        let minutes = usize::try_from(time.as_secs().div_ceil(60)).unwrap_or(usize::MAX);
        self.language.text_with(key, "minutes", minutes.max(1))
    }

    /// Returns a sentence about an invalid field of an account. The API has different messages: those
    /// of Mastodon.
    fn field_error(&self, InvalidField { field, error }: InvalidField) -> String {
        let key = format!("field-{field}-{}", <&str>::from(error));
        match error.count() {
            Some(count) => self.language.text_with(&key, "count", count),
            None => self.text(&key).into_owned(),
        }
    }

    /// Returns the text about the time at which an app or a device got access.
    fn access_start(&self, time: &Timestamp) -> TimedText {
        TimedText::new(self, "apps-since", *time, TimeFormat::Day)
    }

    /// Returns the requirements for a new password.
    fn password_hint(&self) -> String {
        self.language.text_with("password-hint", "count", MIN_PASSWORD_LENGTH)
    }

    /// Returns the descriptions of the scopes, either only the administrative ones (`is_admin`) or
    /// only the others.
    fn consent_items(&self, scopes: &Scopes, is_admin: bool) -> Vec<DescribedScope> {
        let items = consent_items(scopes).into_iter().filter(|item| item.is_admin == is_admin);
        let describe = |item: ConsentItem| DescribedScope {
            text: item.localize(self.language),
            allows_changes: item.allows_changes(),
        };
        items.map(describe).collect()
    }
}

struct DescribedScope {
    text: String,
    /// True if the app may act on the user's behalf.
    allows_changes: bool,
}

/// The target and the hidden fields of a form.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    pub action: &'a str,
    /// The field `csrf`: proves that the form comes from a page of this server.
    pub csrf: &'a str,
    /// The field `request`: the handle of the stored authorization request.
    pub request: Option<&'a str>,
}

/// `templates/consent.html`. Posts `decision`, which is `allow` or `deny`.
#[derive(Template)]
#[template(path = "consent.html")]
pub struct ConsentPage<'a> {
    pub layout: Layout<'a>,
    pub form: Form<'a>,
    /// The form that signs out, to continue with another account.
    pub switch_account_form: Form<'a>,
    pub app: &'a AppDetails,
    /// True if the operator registered the app.
    pub is_operator_app: bool,
    /// True if nothing confirms which app it is: it has no secret and gets the code on the device.
    pub is_unverified: bool,
    pub account: &'a str,
    pub scopes: &'a Scopes,
    /// The redirect URI of the request, which may be the out-of-band URI.
    pub redirect_uri: &'a RedirectUri,
}

impl ConsentPage<'_> {
    /// Returns the sentence that says what happens next.
    fn next_step(&self) -> String {
        if self.redirect_uri.is_oob() {
            return self.layout.text_for_app("consent-then-code", &self.app.name);
        }
        match self.redirect_uri.remote_host() {
            Some(host) => {
                self.layout.language.text_with("consent-then-host", "host", host.as_str())
            }
            None => self.layout.text("consent-then-device").into_owned(),
        }
    }
}

/// `templates/front.html`.
#[derive(Template)]
#[template(path = "front.html")]
pub struct FrontPage<'a> {
    pub layout: Layout<'a>,
    /// The configured description of the service; may be empty.
    pub description: &'a str,
    pub account: Option<&'a str>,
    pub account_path: &'a str,
    pub sign_in_path: &'a str,
    /// The path of the sign-up page if registration is open.
    pub sign_up_path: Option<&'a str>,
    pub api_path: &'a str,
    /// Link to the configured documentation for app developers.
    pub documentation_url: Option<&'a str>,
}

impl<'a> FrontPage<'a> {
    /// Returns a sentence with the name of the signed-in account.
    fn account_sentence(&self) -> Option<String> {
        let account = self.account?;
        Some(self.layout.language.text_with("front-signed-in", "account", account))
    }

    /// Returns the paragraphs of the description, which are separated by blank lines.
    fn paragraphs(&self) -> impl Iterator<Item = &'a str> {
        self.description.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty())
    }
}

/// `templates/code.html`: shows an authorization code, for apps without a redirect URI.
#[derive(Template)]
#[template(path = "code.html")]
pub struct CodePage<'a> {
    pub layout: Layout<'a>,
    pub app: &'a str,
    pub code: &'a Secret,
}

/// `templates/form_post.html`: posts the authorization response to the app
/// (`response_mode=form_post`), automatically or, without JavaScript, with a button.
#[derive(Template)]
#[template(path = "form_post.html")]
pub struct FormPostPage<'a> {
    pub layout: Layout<'a>,
    pub app: &'a str,
    /// The app's redirect URI.
    pub action: &'a str,
    /// The parameters of the response, not yet escaped.
    pub fields: &'a [(&'static str, String)],
}

/// `templates/rejected.html`: an invalid request from an app that the user has not approved before.
/// The user decides whether to return to the app.
#[derive(Template)]
#[template(path = "rejected.html")]
pub struct RejectedPage<'a> {
    pub layout: Layout<'a>,
    pub app: &'a str,
    /// The host of the redirect URI, unless it is on the user's device.
    pub host: Option<String>,
    pub error: OAuthError,
    /// Address to which the error is sent: a link, or the target of a form if there are fields.
    pub url: &'a str,
    /// The parameters of the response for `response_mode=form_post`, not yet escaped.
    pub fields: &'a [(&'static str, String)],
}

impl RejectedPage<'_> {
    fn sentence(&self) -> Cow<'static, str> {
        self.layout.text(error::app_error_key(&self.error))
    }
}

/// `templates/signed_out.html`.
#[derive(Template)]
#[template(path = "signed_out.html")]
pub struct SignedOutPage<'a> {
    pub layout: Layout<'a>,
    pub sign_in_path: &'a str,
}

/// The maximum number of characters shown of a name, because an account may have megabytes of
/// rules.
const MAX_NAME_CHARS: usize = 200;

/// Returns a word, an id or another name as pages show it: truncated, with invisible characters
/// escaped, and isolated.
fn format_name(name: &str) -> String {
    let shown_name = match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    };
    isolate(&escape_invisible(&shown_name))
}

#[cfg(test)]
pub(crate) mod tests;
