//! The overview of the account: its name and its authorized apps.

use askama::Template;
use belfry_core::oauth::client::Registrar;
use belfry_core::oauth::web_address::web_host;
use belfry_core::rules::preferences::Pause;
use jiff::Timestamp;

use super::last_use::describe_last_use;
use super::notifications::describe_pause;
use super::pager::{PageNumber, Pager};
use super::timed_text::TimedText;
use super::{AccountNav, AccountToken, AuthorizedApp, Form, Layout};
use crate::auth::tokens::COMMAND_LINE_APP;
use crate::language::{Argument, isolate};
use crate::paths::{
    ACCOUNT, ACCOUNT_NOTIFICATIONS, ACCOUNT_SECURITY, with_language, with_parameters,
};

/// `templates/account.html`. Posts `app`, the id of the app to remove, or `token`, the lookup key
/// of the token to revoke.
#[derive(Template)]
#[template(path = "account.html")]
pub struct AccountPage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    pub account: &'a str,
    pub email: Option<&'a str>,
    pub pause: Option<Pause>,
    pub sign_out_form: Form<'a>,
    pub remove_app_form: Form<'a>,
    pub revoke_token_form: Form<'a>,
    pub apps: &'a [ListedApp],
    pub app_count: usize,
    pub page: PageNumber,
    pub now: Timestamp,
}

/// An app with its tokens, the most recently used first.
pub struct ListedApp {
    pub app: AuthorizedApp,
    pub tokens: Vec<AccountToken>,
}

/// Maximum number of tokens on the page per app.
const MAX_SHOWN_TOKENS: usize = 10;

/// Maximum number of tokens that are counted per app.
const MAX_COUNTED_TOKENS: usize = 100;

impl ListedApp {
    fn shown_tokens(&self) -> &[AccountToken] {
        self.tokens.get(..MAX_SHOWN_TOKENS).unwrap_or(&self.tokens)
    }

    /// Returns whether the tokens are listed one by one: only if there are several.
    fn lists_tokens(&self) -> bool {
        self.tokens.len() > 1
    }

    /// Returns the device name of the app's token, if it has only one.
    fn only_device(&self) -> Option<&str> {
        match &*self.tokens {
            [token] => token.device_name.as_deref(),
            _ => None,
        }
    }

    /// Returns whether any token has a device name, which helps users recognise it.
    fn names_devices(&self) -> bool {
        self.tokens.iter().any(|token| token.device_name.is_some())
    }
}

impl AccountPage<'_> {
    fn pager(&self) -> Option<Pager> {
        let link = |page: PageNumber| {
            with_language(&with_parameters(ACCOUNT, page.parameter()), self.nav.lang)
        };
        Pager::new(&self.page.entry_range(self.app_count), self.app_count, &self.layout, link)
    }

    /// Returns the name of an app; for Matrix clients on a single device, the name of the device.
    fn app_title(&self, listed_app: &ListedApp) -> String {
        match (listed_app.app.registered_by, listed_app.only_device()) {
            (Registrar::Matrix, Some(device)) => isolate(device),
            (Registrar::Matrix, None) => self.layout.text("apps-matrix").into_owned(),
            (Registrar::CommandLine, _) if listed_app.app.name == COMMAND_LINE_APP => {
                self.layout.text("apps-command-line").into_owned()
            }
            (Registrar::Api | Registrar::Operator | Registrar::CommandLine, _) => {
                isolate(&listed_app.app.name)
            }
        }
    }

    fn pause_state(&self) -> Option<TimedText> {
        self.pause.map(|pause| describe_pause(&self.layout, pause, self.now))
    }

    fn notifications_path(&self) -> String {
        with_language(ACCOUNT_NOTIFICATIONS, self.nav.lang)
    }

    /// Returns the path of the form that changes the e-mail address.
    fn change_email_path(&self) -> String {
        with_language(ACCOUNT_SECURITY, self.nav.lang) + "#email"
    }

    fn change_email_key(&self) -> &'static str {
        if self.email.is_some() { "email-change" } else { "email-add" }
    }

    /// Returns the host of an app's website, or a note about a first-party app.
    fn app_origin(&self, listed_app: &ListedApp) -> Option<String> {
        let app = &listed_app.app;
        match app.registered_by {
            Registrar::Matrix if listed_app.only_device().is_some() => {
                Some(self.layout.text("apps-matrix-device-note").into_owned())
            }
            Registrar::Matrix => Some(self.layout.text("apps-matrix-note").into_owned()),
            Registrar::CommandLine => Some(self.layout.text("apps-issued-note").into_owned()),
            Registrar::Api | Registrar::Operator => {
                web_host(app.website.as_deref()?).map(|host| isolate(&host))
            }
        }
    }

    fn device_name(token: &AccountToken) -> Option<String> {
        token.device_name.as_deref().map(isolate)
    }

    fn token_count(&self, listed_app: &ListedApp) -> String {
        match listed_app.tokens.len() {
            count @ ..=MAX_COUNTED_TOKENS => {
                self.layout.language.text_with("tokens-count", "count", count)
            }
            _ => self.layout.language.text_with("tokens-count", "count", Argument::Trusted("100+")),
        }
    }

    /// Returns a sentence about an app's tokens that are not shown.
    fn more_tokens_note(&self, listed_app: &ListedApp) -> Option<String> {
        let has_more = listed_app.tokens.len() > MAX_SHOWN_TOKENS;
        has_more
            .then(|| self.layout.language.text_with("only-last-used", "count", MAX_SHOWN_TOKENS))
    }

    /// Returns the text about the last use of an app, with any of its tokens.
    fn app_last_use(&self, listed_app: &ListedApp) -> String {
        let last_used_at = listed_app.tokens.iter().filter_map(|token| token.last_used_at).max();
        describe_last_use(&self.layout, last_used_at, self.now)
    }

    fn token_last_use(&self, token: &AccountToken) -> String {
        describe_last_use(&self.layout, token.last_used_at, self.now)
    }
}
